"""The answer to "why?": from one container at an instant to causes and an outlook.

A container is in one of four states, each of which has a table of rows: it was never
created, its newest instance runs, is being stopped, or has ended. The first row that
finds a cause gives the head of the chain; what that waits for, or what brought it
about, follows as `because`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec.structs import replace

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause, Ending, WhyAnswer
from probetui.analysis.causes.creation import NEVER_CREATED, not_synced
from probetui.analysis.causes.deletion import BEING_STOPPED
from probetui.analysis.causes.endings import END_KINDS, end_cause
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.outlook import outlook_of
from probetui.analysis.causes.remedies import remedy_of
from probetui.analysis.causes.restarts import ENDED, between_samples, ending_of
from probetui.analysis.causes.rows import first_of
from probetui.analysis.causes.running import RUNNING
from probetui.analysis.container_history import ContainerInstance, SessionHistory
from probetui.k8s.pod import Container, Pod
from probetui.kubelet_rules import KubeletRules

WELL = frozenset(
    {
        CauseKind.READY,
        CauseKind.RUNNING,
        CauseKind.INIT_CONTAINER_COMPLETED,
        CauseKind.OTHER_CONTAINER_NOT_READY,
    }
)
"""The kinds of a container with which nothing is wrong itself."""

_OF_DELETION = frozenset(
    {
        CauseKind.POD_DELETED,
        CauseKind.POD_ENDED_FIRST,
        CauseKind.POD_BEING_DELETED,
        CauseKind.KILLED_BY_DELETION,
    }
)

_BY_DELETION = frozenset({CauseKind.POD_DELETED, CauseKind.KILLED_BY_DELETION})


def is_well(answer: WhyAnswer) -> bool:
    """Return whether nothing is wrong, or nothing was until its pod was deleted."""
    head = answer.causes[0]
    is_deleted = any(cause.kind in _OF_DELETION for cause in head.chain)
    return head.kind in WELL or (is_deleted and answer.before is None)


def cause_of(case: WhyCase) -> Cause:
    """Return why a container is as it is."""
    if (undecided := between_samples(case)) is not None:
        return undecided
    last = case.last
    if last is None:
        rows = NEVER_CREATED
    elif last.exited is not None:
        rows = ENDED
    elif last.stopping is not None:
        rows = BEING_STOPPED
    else:
        rows = RUNNING
    return first_of(rows, case) or not_synced(case)


def explain(
    pod: Pod,
    container: Container,
    past: SessionHistory,
    now: datetime,
    rules: KubeletRules,
    pods: Mapping[str, Pod] | None = None,
    next_pull_at: datetime | None = None,
    *,
    is_live: bool = False,
) -> WhyAnswer:
    """Return why a container is as it is at an instant, and what comes next.

    Args:
        pod: its manifest.
        container: its definition.
        past: the journal until the instant.
        now: the instant.
        rules: those of the kubelet's version.
        pods: all pods of the session by UID, if they are known.
        next_pull_at: when the back-off of its image is over, if that is known.
        is_live: the session goes on. Its journal may have lost its beginning, and
            what was before a deletion is not looked up at each turn.
    """
    case = WhyCase(
        pod,
        container,
        past,
        now,
        rules,
        pods or {},
        next_pull_at,
        explain=cause_of,
    )
    head = cause_of(case)
    return WhyAnswer(
        head,
        None if is_live else _before_deletion(case, head),
        _last_end(case, head),
        outlook_of(case, head),
        None if head.kind in WELL else remedy_of(pod, container, head),
    )


def last_endings(
    pod: Pod,
    container: Container,
    past: SessionHistory,
    now: datetime,
    rules: KubeletRules,
) -> tuple[Ending, ...]:
    """Return how the last instance of a container ended.

    If the deletion of its pod ended that one, the last one to end otherwise follows.
    """
    case = WhyCase(pod, container, past, now, rules, explain=cause_of)
    return tuple(ending_of(case, instance) for instance in case.history.last_ends)


def tells_end_of(answer: WhyAnswer, instance: ContainerInstance) -> bool:
    """Return whether an answer says who ended an instance."""
    return any(
        instance.is_deleted
        if cause.kind in _BY_DELETION
        else cause.kind in END_KINDS
        and cause.evidence.instance is not None
        and cause.evidence.instance.container_id == instance.container_id
        for head in answer.causes
        for cause in head.chain
    )


def _before_deletion(case: WhyCase, head: Cause) -> Cause | None:
    """Return why a container was not well when its pod was deleted."""
    deletion = case.pod_history.deletion
    if deletion is None or not any(cause.kind in _OF_DELETION for cause in head.chain):
        return None
    earlier = WhyCase(
        case.pod,
        case.container,
        case.past.before(deletion.sequence),
        deletion.at,
        case.rules,
        case.pods,
        explain=cause_of,
    )
    cause = cause_of(earlier)
    return None if cause.kind in WELL else _with_output(case, cause)


def _with_output(case: WhyCase, cause: Cause) -> Cause:
    """Return a chain with what its root printed last, which is read at its end."""
    if cause.because is not None:
        return replace(cause, because=_with_output(case, cause.because))
    other = case.pod.container(cause.subject.container)
    if cause.kind is not CauseKind.RUNNING or other is None:
        return cause
    last = case.of(other).last
    return replace(cause, evidence=replace(cause.evidence, instance=last))


def _last_end(case: WhyCase, head: Cause) -> Cause | None:
    """Return how the last instance ended that did, unless the chain says so."""
    told = {
        cause.evidence.instance.container_id
        for cause in head.chain
        if cause.evidence.instance is not None
        and cause.subject.container == case.container.name
    }
    for instance in reversed(case.history.instances):
        if instance.exited is None or instance.is_deleted:
            continue
        is_told = instance.container_id in told and instance is case.last
        is_told = is_told and head.kind is not CauseKind.POD_DELETED
        return None if is_told else end_cause(case, instance)
    return None
