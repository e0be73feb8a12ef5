"""Pass the journal of a session to sinks, and decide when the session is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Protocol, Self

from probetui.drive.session import Session
from probetui.durations import format_duration
from probetui.errors import ProbetuiError
from probetui.headless.verdict import (
    EXIT_BUG,
    EXIT_NO,
    EXIT_OK,
    EXIT_PIPE_CLOSED,
    EXIT_TIME_LIMIT,
    PODS_ENDED,
    CreationFailures,
    Verdict,
)
from probetui.k8s.status import PodPhase
from probetui.kubelet.journal import JournalEntry, PodGoneEntry


class Sink(Protocol):
    """A consumer of journal entries, each once."""

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Consume the entries added since the last call."""


class EndCondition(Protocol):
    """A condition that ends a session; it reads the journal and the clock."""

    @property
    def due_at(self) -> datetime | None:
        """When `advance` has to be called, None for never."""

    @property
    def verdict(self) -> Verdict | None:
        """Why the session is over; None while it is not."""

    @property
    def condition(self) -> object:
        """The awaited condition; `str` gives its text in messages."""

    def observe(self, entry: JournalEntry) -> None:
        """Evaluate the next journal entry; they come in order, each once."""

    def advance(self, now: datetime) -> None:
        """Advance the clock to `now`; no entry came."""


class Follower:
    """Passes a session's journal to sinks and decides when the session is over.

    It is a context manager; on exit it passes on the remaining entries. It belongs to
    one session, on the session's event loop.

    Args:
        session: the session to follow.
        sinks: the consumers of entries, called in this order.
        watch: the condition to wait for, None for none.
        ends_with_pods: whether the session is over when all its pods have ended.

    Attributes:
        errors: the bugs that ended the session, for the owner to raise at the end.
        creation_failures: why pods have no containers.
    """

    def __init__(
        self,
        session: Session,
        sinks: Sequence[Sink] = (),
        watch: EndCondition | None = None,
        *,
        ends_with_pods: bool,
    ) -> None:
        self._session = session
        self._sinks = list(sinks)
        self._watch = watch
        self._ends_with_pods = ends_with_pods
        self._seen = 0
        self._gone: set[str] = set()
        self._verdict: asyncio.Future[Verdict] = asyncio.Future()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._timer: asyncio.TimerHandle | None = None
        self.errors: list[Exception] = []
        self.creation_failures = CreationFailures()

    def __enter__(self) -> Self:
        """Start following."""
        self._unsubscribe = self._session.subscribe(self.drain)
        self.drain()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Pass on the last entries and stop following."""
        self._unsubscribe()
        self.drain()
        self._set_timer(None)

    def add_sinks(self, sinks: Sequence[Sink]) -> None:
        """Add sinks, which get the entries from the next one on."""
        self.drain()
        self._sinks += sinks

    @property
    def is_over(self) -> bool:
        """Whether the session has ended."""
        return self._verdict.done()

    def fail(self, error: Exception) -> None:
        """End the session because of a bug; its pods are stopped first."""
        self.errors.append(error)
        self.end(Verdict("bug", EXIT_BUG))

    def end(self, verdict: Verdict) -> None:
        """End the session with a verdict; the first one counts."""
        if not self._verdict.done():
            self._verdict.set_result(verdict)

    def rewind(self, length: int) -> None:
        """Adapt to a journal that was cut to `length` entries."""
        self._seen = min(self._seen, length)

    async def verdict(self, time_limit: timedelta | None = None) -> Verdict:
        """Wait until the session is over, and return why."""
        if time_limit is None:
            return await asyncio.shield(self._verdict)
        try:
            async with asyncio.timeout(time_limit.total_seconds()):
                return await asyncio.shield(self._verdict)
        except TimeoutError:
            message = format_timeout(time_limit, self._watch)
            self.end(Verdict("timeout", EXIT_TIME_LIMIT, message))
            return await self._verdict

    def drain(self) -> None:
        """Pass on the entries added to the journal."""
        fresh = self._session.journal[self._seen :]
        self._seen += len(fresh)
        for entry in fresh:
            if isinstance(entry, PodGoneEntry):
                self._gone.add(entry.pod_uid)
            self.creation_failures.observe(entry)
            if self._watch is not None:
                self._watch.observe(entry)
        for sink in tuple(self._sinks):
            try:
                sink.consume(fresh)
            except BrokenPipeError:
                self._sinks.remove(sink)
                self.end(Verdict("pipe closed", EXIT_PIPE_CLOSED))
            except ProbetuiError as error:
                self._sinks.remove(sink)
                self.end(Verdict("output failed", error.exit_status, str(error)))
            except Exception as error:  # noqa: BLE001  # the session's pods come first
                self._sinks.remove(sink)
                self.fail(error)
        self.check_end()

    def check_end(self) -> None:
        """End the session if its condition is met, or its pods have ended."""
        watch = self._watch
        if watch is not None and watch.due_at is not None:
            watch.advance(now := self._session.snapshot.taken_at)
            self._set_timer(_time_until_due(watch, now))
        verdict = None if watch is None else watch.verdict
        if verdict is not None:
            self.end(verdict)
        elif self._ends_with_pods:
            self._check_pods_ended()

    def _set_timer(self, delay: timedelta | None) -> None:
        """Check again after a delay, as no entry may come while a state holds."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # A replay has its own clock; the player checks at its end.
        if delay is not None and self._session.playback is None and not self.is_over:
            seconds = max(delay.total_seconds(), 0)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds, self.check_end)

    def _check_pods_ended(self) -> None:
        pods = self._session.snapshot.pods if self._gone else ()
        if not pods or any(pod.pod.uid not in self._gone for pod in pods):
            return
        failed = [pod.pod.name for pod in pods if pod.status.phase is PodPhase.FAILED]
        if failed:
            message = f"ended as Failed: {', '.join(failed)}"
            self.end(Verdict(PODS_ENDED, EXIT_NO, message))
        else:
            self.end(Verdict(PODS_ENDED, EXIT_OK))


def _time_until_due(watch: EndCondition, now: datetime) -> timedelta | None:
    """Return the time until `advance` must be called again, None for never."""
    due_at = watch.due_at
    return None if due_at is None else due_at - now


def format_timeout(limit: timedelta, watch: EndCondition | None) -> str:
    """Format the message of a reached time limit: `--timeout 12s reached`."""
    waited = f" before {watch.condition}" if watch else ""
    length = format_duration(limit).replace(".0s", "s")
    return f"--timeout {length} reached{waited}"
