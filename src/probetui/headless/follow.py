"""Following a session: every entry goes to whoever wants it, and something ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self

from probetui.drive.session import Session
from probetui.errors import ProbetuiError
from probetui.headless.condition import ConditionWatch
from probetui.headless.verdict import (
    ANSWER_IS_NO,
    BUG,
    DONE,
    PIPE_CLOSED,
    PODS_ENDED,
    TIME_IS_UP,
    Verdict,
)
from probetui.k8s.status import PodPhase
from probetui.kubelet.journal import Entry, PodGoneEntry


class Sink(Protocol):
    """Takes a journal somewhere, each entry once."""

    def take(self, entries: Sequence[Entry]) -> None:
        """Take what has been added to the journal since the last time."""


class Follower:
    """Passes a session's journal on and decides when the session is over.

    It works while it is entered as a context manager, and takes what is left when it
    is left. One of it belongs to one session, on the session's event loop.

    Args:
        session: what is followed.
        sinks: where entries go, in this order.
        watch: the condition to wait for, None for no condition.
        ends_with_pods: the session is over when all its pods have ended for good.

    Attributes:
        errors: the bugs that have ended it; whoever owns it raises them in the end.
    """

    def __init__(
        self,
        session: Session,
        sinks: Sequence[Sink] = (),
        watch: ConditionWatch | None = None,
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
        self.errors: list[Exception] = []

    def __enter__(self) -> Self:
        """Begin to follow."""
        self._unsubscribe = self._session.subscribe(self.drain)
        self.drain()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Pass on what is left and follow no more."""
        self._unsubscribe()
        self.drain()

    @property
    def is_over(self) -> bool:
        """Whether something has ended the session."""
        return self._verdict.done()

    def fail(self, error: Exception) -> None:
        """End the session because of a bug, in good order: its pods are stopped."""
        self.errors.append(error)
        self.end(Verdict("bug", BUG))

    def end(self, verdict: Verdict) -> None:
        """End the session for a reason of the caller's; the first reason counts."""
        if not self._verdict.done():
            self._verdict.set_result(verdict)

    def rewind(self, length: int) -> None:
        """Take note that the journal was cut short to so many entries."""
        self._seen = min(self._seen, length)

    async def verdict(self, time_limit: timedelta | None = None) -> Verdict:
        """Return why the session is over, as soon as it is."""
        seconds = None if time_limit is None else time_limit.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self._verdict)
        except TimeoutError:
            waited = f" before {self._watch.condition}" if self._watch else ""
            self.end(Verdict("timeout", TIME_IS_UP, f"the time limit came{waited}"))
            return await self._verdict

    def drain(self) -> None:
        """Pass on what has been added to the journal."""
        fresh = self._session.journal[self._seen :]
        self._seen += len(fresh)
        for each in fresh:
            if isinstance(each, PodGoneEntry):
                self._gone.add(each.pod_uid)
            if self._watch is not None:
                self._watch.see(each)
        for sink in tuple(self._sinks):
            try:
                sink.take(fresh)
            except BrokenPipeError:
                self._sinks.remove(sink)
                self.end(Verdict("pipe closed", PIPE_CLOSED))
            except ProbetuiError as error:
                self._sinks.remove(sink)
                self.end(Verdict("output failed", error.exit_status, str(error)))
            except Exception as error:  # noqa: BLE001  # the session's pods come first
                self._sinks.remove(sink)
                self.fail(error)
        self._judge()

    def _judge(self) -> None:
        if self._watch is not None and self._watch.is_met:
            self.end(Verdict("until", DONE))
        elif self._watch is not None and self._watch.impossible:
            message = f"{self._watch.condition} can never be: {self._watch.impossible}"
            self.end(Verdict("impossible", ANSWER_IS_NO, message))
        elif self._ends_with_pods:
            self._judge_pods()

    def _judge_pods(self) -> None:
        pods = self._session.snapshot.pods if self._gone else ()
        if not pods or any(each.pod.uid not in self._gone for each in pods):
            return
        failed = [
            each.pod.name for each in pods if each.status.phase is PodPhase.FAILED
        ]
        if failed:
            message = f"ended as Failed: {', '.join(failed)}"
            self.end(Verdict(PODS_ENDED, ANSWER_IS_NO, message))
        else:
            self.end(Verdict(PODS_ENDED, DONE))
