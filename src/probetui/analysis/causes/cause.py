"""Causes, outlooks and remedies as values; `presentation.cause` makes text of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.probe_failure import ProbeFailure
from probetui.analysis.container_history import ContainerInstance
from probetui.analysis.next_failure import Outlook
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    HookType,
    StateEntry,
    TickEntry,
    UnfinishedTickEntry,
)


class CauseSubject(Struct, frozen=True):
    """What a cause is about.

    Attributes:
        container: the container, empty for the pod as a whole.
        probe: its probe, None if it is about none.
        hook: its hook, None if it is about none.
        name: an image, a volume, an object or a condition that it is about.
    """

    container: str = ""
    probe: ProbeType | None = None
    hook: HookType | None = None
    name: str = ""


class Evidence(Struct, frozen=True):
    """The facts that a cause is read from; each kind has those that it needs.

    Attributes:
        instance: the instance of the container.
        tick: the last tick of the probe.
        count: how often it happened, such as the failures in a row.
        needed: how often it must happen, or for how many seconds it is delayed.
        reason: the kubelet's word for it, as a status or an event has it.
        message: what the kubelet, the runtime or the program said.
        failure: why the probe failed.
        backoff: the wait of the next instance.
        until: when what goes on is over at the latest.
        ended_at: when an instance ended, None if only when that was seen is known.
        lines: sentences about what is known beside the chain.
        unfinished: the tick that has not ended.
        undecided: what may have happened, or not.
    """

    instance: ContainerInstance | None = None
    tick: TickEntry | None = None
    count: int = 0
    needed: int = 0
    reason: str = ""
    message: str = ""
    failure: ProbeFailure | None = None
    backoff: BackoffEntry | None = None
    until: datetime | None = None
    ended_at: datetime | None = None
    lines: tuple[str, ...] = ()
    unfinished: UnfinishedTickEntry | None = None
    undecided: ContainerEntry | StateEntry | None = None


NO_EVIDENCE = Evidence()


class Cause(Struct, frozen=True):
    """Why something is as it is.

    Attributes:
        kind: the kind of cause.
        subject: what it is about.
        since: when it began, None if that is not known.
        evidence: the facts that it is read from.
        because: the cause of this cause, None if it is the last one known.
        quirk: something odd that took part, as the startup window.
    """

    kind: CauseKind
    subject: CauseSubject
    since: datetime | None = None
    evidence: Evidence = NO_EVIDENCE
    because: Cause | None = None
    quirk: CauseKind | None = None

    @property
    def chain(self) -> Iterator[Cause]:
        """The cause, then that of it, and so on."""
        cause: Cause | None = self
        while cause is not None:
            yield cause
            cause = cause.because

    @property
    def root(self) -> Cause:
        """The last cause of the chain."""
        *_, last = self.chain
        return last


class Remedy(Struct, frozen=True):
    """What to look at: a field of the manifest, and the page of the catalogue."""

    path: str
    page: CauseKind


class RestartTiming(StrEnum):
    """Why an instance came after another one when it did; the names never change."""

    WITH_ALL = "with-all"
    """All containers of the pod were restarted, without back-off."""
    UNKNOWN = "unknown"
    """The decision about back-off is not known."""
    AFTER_WAIT = "after-wait"
    """The first sync of the pod after the wait restarted it."""
    WAIT_CLEARED = "wait-cleared"
    """The wait was cleared before it was over."""
    NOTHING_EXITED = "nothing-exited"
    """No instance had exited by what the kubelet knew."""
    WINDOW_RESET = "window-reset"
    """The window had been reset, as an instance had run for long."""
    NO_WINDOW = "no-window"
    """There was no window yet; the restart opens the first one."""
    WINDOW_OVER = "window-over"
    """The window, which counts from an earlier exit, was over."""


class Restart(Struct, frozen=True):
    """How the instance after one that ended came about.

    Attributes:
        timing: why it came when it did.
        has_started: it was started, not only created.
        decision: what the kubelet decided on, None if that is not known.
        waited: the wait before it, None if there was none.
        counts_from_before: the window counts from the exit of an instance before the
            one that ended.
        follows_probe_kill: a probe ended the instance before.
    """

    timing: RestartTiming
    has_started: bool = True
    decision: BackoffEntry | None = None
    waited: BackoffEntry | None = None
    counts_from_before: bool = False
    follows_probe_kill: bool = False


class Ending(Struct, frozen=True):
    """An instance that has ended or is being stopped.

    Attributes:
        instance: the instance.
        cause: who ended it or asked for its end.
        restart: how the next instance came about, None if there is none.
    """

    instance: ContainerInstance
    cause: Cause
    restart: Restart | None = None


class WhyAnswer(Struct, frozen=True):
    """Why a container is as it is at an instant.

    Attributes:
        now: why it is as it is.
        before: why it was as it was when its end began, if its pod is deleted or being
            deleted and it was not well.
        last_end: how its last instance ended, if `now` does not say so.
        outlook: what comes next, None for what has ended.
        remedy: what to look at, None where nothing is wrong.
    """

    now: Cause
    before: Cause | None = None
    last_end: Cause | None = None
    outlook: Outlook | None = None
    remedy: Remedy | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes to be told, the most telling one first."""
        causes = self.before, self.now, self.last_end
        if self.leads_with_last_end:
            causes = self.last_end, self.now, None
        return tuple(filter(None, causes))

    @property
    def leads_with_last_end(self) -> bool:
        """Whether the end before the last one tells more.

        A session ends by deleting its pods, which is rarely the end in question.
        """
        is_deleted = self.now.kind is CauseKind.POD_DELETED
        return is_deleted and self.before is None and self.last_end is not None
