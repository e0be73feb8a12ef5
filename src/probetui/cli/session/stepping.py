"""`--step`: a session that lines of standard input drive."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import timedelta

from msgspec.structs import replace

from probetui.cli.printing import print_line, print_text
from probetui.cli.session.plan import Plan, Stdout
from probetui.debugger.commands import RunToChange, StepProbe
from probetui.drive.session import Session
from probetui.engine.inputs import Command
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.errors import OutputError, UsageError
from probetui.headless.cases.commands import action_command
from probetui.headless.cases.step_lines import (
    HELP,
    LONGEST_LINE,
    StepLine,
    StepWord,
    Ticks,
    parse_step_line,
)
from probetui.headless.follow import Follower
from probetui.headless.verdict import (
    EXIT_NO,
    EXIT_OK,
    EXIT_PIPE_CLOSED,
    LEFT,
    Verdict,
)
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import Running, Waiting
from probetui.kubelet.journal import JournalEntry, TickEntry, UserEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.plain.steps import format_queue, format_trace, step_view
from probetui.presentation.step_queue import find_probe
from probetui.record.masking import Mask

_STDIN = 0
_PROMPT = "step> "
_BEING_CREATED = frozenset({"ContainerCreating", "PodInitializing"})
"""Waiting reasons that pass by themselves."""

INPUT_ENDED = "input ended"
"""The reason of a session whose lines have all been read."""


async def step_by_lines(
    plan: Plan,
    session: Session,
    follower: Follower,
    mask: Mask,
    time_limit: timedelta | None = None,
) -> Verdict:
    """Step a session by the lines of standard input until it ends; return why it did.

    Args:
        plan: what was asked for.
        session: the session, paused.
        follower: follows it, and decides when it is over.
        mask: what is not to be shown.
        time_limit: how long to wait for its end, None for ever.
    """
    stepper = _LineStepper(plan, session, follower, mask)
    follower.add_sinks([stepper])
    stepping = asyncio.ensure_future(stepper.run())
    try:
        return stepper.judge(await follower.verdict(time_limit))
    finally:
        stepping.cancel()
        with suppress(asyncio.CancelledError):
            await stepping


class _LineStepper:
    """Carries out one line after the other; it is a sink of the journal, too."""

    def __init__(
        self, plan: Plan, session: Session, follower: Follower, mask: Mask
    ) -> None:
        self._plan = plan
        self._session = session
        self._follower = follower
        self._mask = mask
        self._fresh: list[JournalEntry] = []
        self._has_news = asyncio.Event()
        self._number = 0
        self._refused = 0

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Keep the entries that a line leads to."""
        self._fresh += entries
        self._has_news.set()

    async def run(self) -> None:
        """Carry out lines until there are no more, then end the session."""
        try:
            await self._run_lines()
        except BrokenPipeError:
            self._follower.end(Verdict("pipe closed", EXIT_PIPE_CLOSED))
        except OutputError as error:
            verdict = Verdict("output failed", error.exit_status, str(error))
            self._follower.end(verdict)
        except Exception as error:  # noqa: BLE001  # the pods are stopped first
            self._follower.fail(error)

    def judge(self, verdict: Verdict) -> Verdict:
        """Return a verdict, changed where lines of a script could not be carried out.

        Whether a condition has held then says nothing of the script that was meant. On
        a terminal the user has seen the refusal. Signals, limits and faults keep their
        status.
        """
        is_answer = verdict.exit_status in {EXIT_OK, EXIT_NO}
        if not (is_answer and self._refused) or sys.stdin.isatty():
            return verdict
        count = f"{self._refused} line{'' if self._refused == 1 else 's'}"
        refusal = f"{count} could not be carried out"
        message = "\n".join(filter(None, (verdict.message, refusal)))
        return replace(verdict, exit_status=UsageError.exit_status, message=message)

    async def _run_lines(self) -> None:
        lines = _StandardInput(prompts=sys.stdin.isatty())
        while (text := await lines.next_line()) is not None:
            self._number += 1
            try:
                asked = parse_step_line(text, self._pods)
            except UsageError as error:
                self._refuse(str(error))
                continue
            if asked is StepWord.QUIT:
                self._end(LEFT)
                return
            if asked is not None:
                await self._carry_out(asked)
        self._end(INPUT_ENDED)

    def _end(self, reason: str) -> None:
        watch = self._plan.watch
        if watch is not None:
            message = f"the lines ended before {watch.condition}"
            self._follower.end(Verdict(reason, EXIT_NO, message))
        else:
            self._follower.end(Verdict(reason, EXIT_OK))

    def _refuse(self, why: str) -> None:
        self._refused += 1
        self._plan.notes.error(f"line {self._number}: {why}; help lists the lines")

    async def _carry_out(self, asked: StepLine) -> None:
        snapshot = self._session.snapshot
        match asked:
            case Ticks(count=count):
                for _ in range(count):
                    if not await self._step():
                        return
            case StepWord.CHANGE:
                await self._run_to_change()
            case StepWord.QUEUE:
                self._print(format_queue(snapshot, step_view(snapshot, self._mask)))
            case StepWord.WAIT:
                await self._wait_until(self._is_settled)
            case StepWord.HELP:
                self._print(HELP)
            case StepWord.QUIT:
                raise AssertionError("unreachable: it ends the lines")
            case action:
                uid = next(pod.uid for pod in self._pods if pod.name == action.pod)
                self._send(action_command(action, uid))

    @property
    def _pods(self) -> Sequence[Pod]:
        """Those that the session has; before it has begun, those that it will have."""
        shown = [pod.pod for pod in self._session.snapshot.pods]
        return shown or self._plan.pods

    async def _step(self) -> bool:
        """Run one tick and print its trace; return whether there was one."""
        self._send(StepProbe())
        asked = await self._own_entry("step")
        step = self._session.snapshot.last_step
        key = None if step is None or step.sequence < asked.sequence else step.key
        if key is None:
            self._plan.notes.note("no tick is due: no probe has a worker")
            return False

        def has_ended() -> bool:
            pods = self._session.snapshot.pods
            return bool(self._ticks(asked)) or find_probe(pods, key) is None

        await self._wait_until(has_ended)
        self._print_last_trace(asked)
        return True

    async def _run_to_change(self) -> None:
        """Run ticks until something changes, and print the trace of the last."""
        self._send(RunToChange())
        asked = await self._own_entry("run to change")

        def has_stopped() -> bool:
            snapshot = self._session.snapshot
            return snapshot.is_paused and not snapshot.is_running_to_change

        await self._wait_until(has_stopped)
        self._print_last_trace(asked)

    def _ticks(self, asked: UserEntry) -> list[TickEntry]:
        """Return the ticks since a line was carried out."""
        return [
            entry
            for entry in self._fresh
            if isinstance(entry, TickEntry) and entry.sequence > asked.sequence
        ]

    def _is_settled(self) -> bool:
        """Return whether no container is being started or stopped.

        Virtual time stands still meanwhile: there a step passes it.
        """
        if self._session.playback is not None:
            return True
        snapshot = self._session.snapshot
        if not snapshot.acts:
            return True
        return bool(snapshot.pods) and all(map(_is_settled, snapshot.pods))

    def _send(self, command: Command) -> None:
        self._follower.drain()
        self._fresh.clear()
        self._session.send(command)
        self._follower.drain()

    async def _own_entry(self, command: str) -> UserEntry:
        """Wait for the entry that says that a command was carried out."""

        def found() -> UserEntry | None:
            for entry in self._fresh:
                if isinstance(entry, UserEntry) and entry.command == command:
                    return entry
            return None

        await self._wait_until(lambda: found() is not None)
        entry = found()
        assert entry is not None, "it was waited for"  # noqa: S101  # for the type
        return entry

    async def _wait_until(self, is_done: Callable[[], bool]) -> None:
        while not is_done():
            self._has_news.clear()
            await self._has_news.wait()

    def _print_last_trace(self, asked: UserEntry) -> None:
        snapshot = self._session.snapshot
        for tick in self._ticks(asked)[-1:]:
            view = step_view(snapshot, self._mask)
            self._print(format_trace(tick, snapshot, view))

    def _print(self, lines: Iterable[str]) -> None:
        """Print lines among those of the journal, where those are printed."""
        if self._plan.stdout is Stdout.LINES:
            for text in lines:
                print_line(text)


def _is_settled(pod: PodSnapshot) -> bool:
    return not any(_changes_by_itself(pod, container) for container in pod.containers)


def _changes_by_itself(pod: PodSnapshot, container: ContainerSnapshot) -> bool:
    """Return whether a container is being started or stopped, or is about to be."""
    if container.status is None or container.stopping is not None:
        return True
    match container.status.state:
        case Waiting(reason=reason):
            return reason in _BEING_CREATED
        case Running():
            return any(
                probe.stored_result is Result.FAILURE
                and probe.key.probe_type is not ProbeType.READINESS
                and not probe.is_hold_ending
                for probe in container.probes
            )
        case _:
            restarts = pod.pod.restart_policy is RestartPolicy.ALWAYS
            return restarts and container.container in pod.pod.containers


class _StandardInput:
    """Standard input, line by line, read in a thread: it may be of any kind.

    The thread does not keep the program from ending, and reads no line that nobody
    has asked for.

    Args:
        prompts: ask for each line on standard error.
    """

    def __init__(self, *, prompts: bool) -> None:
        self._prompts = prompts
        self._held = b""
        self._has_ended = False

    async def next_line(self) -> str | None:
        """Return the next line without its end, None after the last one."""
        if self._prompts:
            print_text(_PROMPT, err=True)
        loop = asyncio.get_running_loop()
        line: asyncio.Future[bytes | None] = loop.create_future()

        def read() -> None:
            data = self._read_line()
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(deliver, data)

        def deliver(data: bytes | None) -> None:
            if not line.done():
                line.set_result(data)

        threading.Thread(target=read, name="lines", daemon=True).start()
        data = await line
        return None if data is None else data.decode(errors="replace")

    def _read_line(self) -> bytes | None:
        """Read up to the end of a line, or as much of it as may be kept."""
        while b"\n" not in self._held and not self._has_ended:
            data = b""
            with suppress(OSError):  # it has been closed, or its terminal has
                data = os.read(_STDIN, LONGEST_LINE)
            self._has_ended = not data
            # What is beyond any line is told as one that is too long.
            self._held = self._held[: LONGEST_LINE + 1] + data
        if not self._held:
            return None
        line, _, self._held = self._held.partition(b"\n")
        return line
