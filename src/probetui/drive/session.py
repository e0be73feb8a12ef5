"""Session: what front ends use, whichever driver is behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from probetui.drive.logs import LogTail
from probetui.engine.inputs import Command
from probetui.engine.snapshot import Snapshot
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Fault
from probetui.kubelet.journal import JournalEntry


class Playback(Protocol):
    """The controls of a playback session's clock."""

    @property
    def rewinds(self) -> int:
        """The number of times the journal was truncated; followers start again then."""

    def step_back(self) -> bool:
        """Go back to before the last tick and stop; return False without one."""

    def seek(self, instant: datetime) -> None:
        """Seek to an instant and stop the clock there."""

    def change_pace(self, steps: int) -> None:
        """Change the pace by a number of steps; negative is slower."""


class Session(Protocol):
    """A running engine as front ends see it."""

    @property
    def runtime_name(self) -> str:
        """The runtime and its version, for display."""

    @property
    def snapshot(self) -> Snapshot:
        """The current state; a new object only after a change."""

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry of the session, oldest first; it only grows.

        An entry keeps its index. A long session evicts its oldest entries: a slice
        omits them, and an index of one raises `IndexError`. The newest 100,000 ticks
        are always kept.
        """

    @property
    def playback(self) -> Playback | None:
        """The controls of its clock; None in real time."""

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback that runs on the event loop after a change.

        It runs at most 20 times a second. Returns the function that ends the
        subscription.
        """

    def send(self, command: Command) -> None:
        """Submit a command to the engine, which carries it out as soon as it can."""


@runtime_checkable
class SupportsLogs(Protocol):
    """A session that can read the logs of containers; a replay cannot."""

    def follow_logs(
        self, container_id: ContainerID, callback: Callable[[], None]
    ) -> LogTail:
        """Read the log of a container instance until the tail is closed.

        The callback is called on the event loop after something changed, at most 20
        times a second.
        """


@runtime_checkable
class FaultTarget(Protocol):
    """A session that may refuse to inject faults."""

    def fault_refusal(self, pod: Pod, disruption: Fault) -> str:
        """Return why a fault cannot be injected into a pod, empty if it can."""


class Subscribers:
    """The callbacks of a session."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        """Return whether there is a subscriber."""
        return bool(self._callbacks)

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Add a callback; return the idempotent function that removes it."""
        self._callbacks.append(callback)
        has_ended = False

        def end() -> None:
            nonlocal has_ended
            if not has_ended:
                has_ended = True
                self._callbacks.remove(callback)

        return end

    def notify(self) -> None:
        """Call each callback; callbacks may be added and removed meanwhile."""
        for callback in tuple(self._callbacks):
            callback()


class KeptTasks:
    """Background tasks whose exceptions are reported to their owner.

    The event loop would only log them, once the task is garbage-collected.

    Args:
        on_bug: called with what a task raised.
    """

    def __init__(self, on_bug: Callable[[Exception], None]) -> None:
        self._on_bug = on_bug
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    async def end(self) -> None:
        """Cancel all tasks and wait for their end."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, Exception):
            self._on_bug(error)
