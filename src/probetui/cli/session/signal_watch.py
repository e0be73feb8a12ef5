"""Signal handling in a thread: ^C ends the program even if the event loop hangs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import termios
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Protocol, Self

from probetui.safe_text import safe_line
from probetui.suggestions import removal_command

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that end a session."""

INSISTING = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
"""Those that a user repeats to end sooner; SIGHUP comes of a closed terminal."""

STUCK_SECONDS = 3.0
"""Seconds for which the loop may leave a signal unhandled.

Then there is a warning, and a second signal ends the program.
"""

LEAVE_SECONDS = 10.0
"""Seconds for the program to end once it no longer waits for pods."""

INSISTED_SECONDS = 1.0
"""Seconds for the program to end after one more signal."""

_TICK_SECONDS = 0.25
_STDIN, _STDERR = 0, 2
_EXIT_STATUS = 128
_LOCAL_MODES = 3
"""Index of the local modes in what `termios.tcgetattr` returns."""

_SCREEN_OFF = (
    b"\x1b[?1000l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2004l"
    b"\x1b[<u\x1b[?25h\x1b[?1049l\x1b[23;2t\x1b[m\r\n"
)
"""Mouse, focus and paste reports off, usual keys, cursor, main screen, title."""

_USUAL_KEYS, _DISTINCT_KEYS = b"\x1b[<u", b"\x1b[>25u"
"""Kitty's keyboard protocol left, and entered again with Textual's flags."""

_READ = Callable[[signal.Signals], None]


class Signals(Protocol):
    """What delivers signals to a session."""

    def deliver(self, on_signal: _READ, left: Callable[[], str]) -> None:
        """Call back with signals on the running loop from now on.

        Args:
            on_signal: handles one.
            left: names the pods that stay if the program ends now, empty for none.
        """

    def leave(self, number: signal.Signals) -> None:
        """End the program in a while, unless it ends by itself."""


class SharedSignals:
    """Signals of one program that many sessions receive.

    Args:
        watch: receives them; from now on they are delivered on the running loop.

    Attributes:
        watch: the same.
        received: the first that came, None before.
    """

    def __init__(self, watch: Signals) -> None:
        self.watch = watch
        self._members: list[_Member] = []
        self.received: signal.Signals | None = None
        watch.deliver(self._receive, self._left)

    @contextlib.contextmanager
    def member(self, interrupt: Callable[[], bool]) -> Iterator[Signals]:
        """Deliver signals to a session, too, for as long as it runs.

        Args:
            interrupt: called at the first signal; returns whether that ends the
                session. One that is ending by itself is not to hear of it: it would
                take it for impatience, and leave its pods.
        """
        member = _Member(self, interrupt)
        self._members.append(member)
        try:
            yield member
        finally:
            self._members.remove(member)

    def _receive(self, number: signal.Signals) -> None:
        is_first = self.received is None
        self.received = self.received or number
        for member in tuple(self._members):
            if not is_first or member.interrupt():
                member.on_signal(number)

    def _left(self) -> str:
        return ", ".join(filter(None, (member.left() for member in self._members)))


class _Member:
    """The `Signals` of one of many sessions."""

    def __init__(self, shared: SharedSignals, interrupt: Callable[[], bool]) -> None:
        self._shared = shared
        self.interrupt = interrupt
        self.on_signal: _READ = _nobody
        self.left: Callable[[], str] = str

    def deliver(self, on_signal: _READ, left: Callable[[], str]) -> None:
        """Call back with signals, with one that came before, too."""
        self.on_signal, self.left = on_signal, left
        if self._shared.received is not None:
            on_signal(self._shared.received)

    def leave(self, number: signal.Signals) -> None:
        """End the program in a while, unless it ends by itself."""
        self._shared.watch.leave(number)


class SignalWatch:
    """Receives signals outside of the event loop; a context manager.

    Before `deliver` signals do what they do anyway. From there on each is handed to a
    callback on the loop, and

    - if the loop does not handle one, a warning says so, and what a second signal
      does;
    - the second SIGINT or SIGTERM that such a loop does not handle ends the program,
      with the terminal as it was;
    - so does `leave` some seconds later, or soon after one more signal, and the first
      signal where `ends_within` says so.

    While the loop is stuck, ^C is a signal on a screen too, where it is a key.

    Args:
        ends_within: seconds after the first signal at which the program is ended, if
            there is nothing that it would leave behind; None for as long as it takes.
        end: ends the process with a status; for tests.
    """

    def __init__(
        self,
        *,
        ends_within: float | None = None,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self._ends_within = ends_within
        self._end = end
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_signal: _READ = _nobody
        self._left: Callable[[], str] = str
        self._handlers: dict[signal.Signals, Any] = {}
        self._terminal: list[Any] | None = None
        self._pipe: tuple[int, int] | None = None
        self._wakeup_before = -1
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()
        self._unheard: list[tuple[signal.Signals, float]] = []
        self._leaves_at: float | None = None
        self._leaving_status = _EXIT_STATUS + signal.SIGINT
        self._has_warned = False
        self._beat_at = 0.0
        self._has_beaten = True
        self._keys_are_signals = False

    def __enter__(self) -> Self:
        """Save the terminal's modes and the signal handlers."""
        with contextlib.suppress(termios.error):
            self._terminal = termios.tcgetattr(_STDIN)
        self._handlers = {number: signal.getsignal(number) for number in ENDING}
        return self

    def __exit__(self, *_: object) -> None:
        """Restore them."""
        if self._pipe is None or self._thread is None:
            return
        self._is_over.set()
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.write(self._pipe[1], b"\0")
        self._thread.join()
        for descriptor in self._pipe:
            os.close(descriptor)
        self._pipe = None

    def deliver(self, on_signal: _READ, left: Callable[[], str]) -> None:
        """Call back with signals on the running loop from now on.

        Args:
            on_signal: handles one.
            left: names the pods that stay if the program ends now, empty for none.
        """
        self._on_signal, self._left = on_signal, left
        if self._pipe is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._beat_at = _seconds()
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[1], False)  # its only argument
        # The interpreter writes signals there at once, whatever it is doing.
        self._wakeup_before = signal.set_wakeup_fd(
            self._pipe[1], warn_on_full_buffer=False
        )
        for number in ENDING:
            signal.signal(number, _nothing)
        self._thread = threading.Thread(
            target=self._watch, args=(self._pipe[0],), name="signals", daemon=True
        )
        self._thread.start()

    def leave(self, number: signal.Signals) -> None:
        """End the program in a while, unless it ends by itself."""
        with self._lock:
            self._leaving_status = _EXIT_STATUS + number
            self._leaves_at = _seconds() + LEAVE_SECONDS

    # -- in the thread

    def _watch(self, descriptor: int) -> None:
        while not self._is_over.is_set():
            if select.select([descriptor], [], [], _TICK_SECONDS)[0]:
                for byte in os.read(descriptor, 64):
                    if byte in ENDING:
                        self._received(signal.Signals(byte))
            self._check()

    def _received(self, number: signal.Signals) -> None:
        now = _seconds()
        with self._lock:
            if number in INSISTING:
                self._unheard.append((number, now))
                if self._leaves_at is not None:
                    self._leaves_at = min(self._leaves_at, now + INSISTED_SECONDS)
            if self._ends_within is not None and self._leaves_at is None:
                self._leaving_status = _EXIT_STATUS + number
                self._leaves_at = now + self._ends_within
        self._call(self._deliver, number)

    def _check(self) -> None:
        """End a stuck program, or warn that it is stuck."""
        now = _seconds()
        with self._lock:
            unheard, leaves_at = list(self._unheard), self._leaves_at
        if leaves_at is not None and now > leaves_at:
            self._end_now(self._leaving_status)
        if not unheard:
            self._has_warned = False
        else:
            number, at = unheard[-1]
            is_stuck = now - at > STUCK_SECONDS
            if len(unheard) > 1 and is_stuck:
                self._end_now(_EXIT_STATUS + number)
            if is_stuck and not self._has_warned and self._ends_within is None:
                self._has_warned = True
                _print_line(
                    "warning: probetui is busy and has not handled the signal yet; a "
                    f"second one ends it at once{self._remaining_text()}"
                )
        if self._has_beaten:
            self._has_beaten = False
            self._call(self._beat)
        self._turn_keys_into_signals(is_stuck=now - self._beat_at > STUCK_SECONDS)

    def _turn_keys_into_signals(self, *, is_stuck: bool) -> None:
        """Make ^C send a signal while the screen does not read keys."""
        if is_stuck == self._keys_are_signals or self._terminal is None:
            return
        with contextlib.suppress(OSError, termios.error):
            # To change a terminal from the background would stop us.
            if os.tcgetpgrp(_STDIN) != os.getpgrp():
                return
            modes = termios.tcgetattr(_STDIN)
            # On a screen keys come one by one, and none is a signal.
            if not modes[_LOCAL_MODES] & termios.ICANON:
                modes[_LOCAL_MODES] &= ~termios.ISIG
                modes[_LOCAL_MODES] |= termios.ISIG if is_stuck else 0
                # Keys that come as sequences of their own would be none of the signals.
                _write(_USUAL_KEYS if is_stuck else _DISTINCT_KEYS)
                termios.tcsetattr(_STDIN, termios.TCSANOW, modes)
            self._keys_are_signals = is_stuck

    def _end_now(self, status: int) -> None:
        """End the process at once, with the terminal as it was."""
        if self._terminal is not None:
            with contextlib.suppress(OSError, termios.error):
                if termios.tcgetattr(_STDIN) != self._terminal:
                    _write(_SCREEN_OFF)
                    termios.tcsetattr(_STDIN, termios.TCSANOW, self._terminal)
        _print_line(
            f"error: ended at once: it did not end by itself{self._remaining_text()}"
        )
        self._is_over.set()
        self._end(status)

    def _remaining_text(self) -> str:
        names = self._left()
        if not names:
            return ""
        return f", and leaves {names} running; later: {removal_command(names)}"

    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        # The loop may be closed already.
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(callback, *arguments)

    # -- on the loop

    def _deliver(self, number: signal.Signals) -> None:
        with self._lock:
            self._unheard.clear()
        self._on_signal(number)

    def _beat(self) -> None:
        self._beat_at = _seconds()
        self._has_beaten = True


def _seconds() -> float:
    return time.monotonic()  # noqa: TID251  # differences of it, in a thread


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Handle a signal; without a handler the interpreter does not report it."""


def _nobody(_number: signal.Signals) -> None:
    """Ignore a signal, until `deliver` is called."""


def _print_line(text: str) -> None:
    """Print a line on standard error without the loop, also under a screen."""
    _write(f"probetui: {safe_line(text)}\r\n".encode())


def _write(data: bytes) -> None:
    """Write to standard error unless that would block."""
    with contextlib.suppress(OSError, ValueError):
        if select.select([], [_STDERR], [], _TICK_SECONDS)[1]:
            os.write(_STDERR, data)
