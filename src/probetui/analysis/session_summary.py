"""Summarize a session at its end: how long, kills, restarts, what was worst and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from probetui.analysis.causes.answer import explain, is_well
from probetui.analysis.causes.cause import Cause, WhyAnswer
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import SessionHistory
from probetui.analysis.session_outcome import SessionOutcome, session_outcome
from probetui.k8s.pod import Container, Pod
from probetui.kubelet.journal import JournalEntry, TickEntry
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import KubeletRules


class WorstContainer(Struct, frozen=True):
    """The container of a session that fared worst.

    Attributes:
        pod: its pod.
        container: its definition.
        cause: why it was or is not well.
        until: the instant until which that was so, None if it is so at the end.
    """

    pod: Pod
    container: Container
    cause: Cause
    until: datetime | None = None


class SessionSummary(Struct, frozen=True):
    """What a session came to.

    Attributes:
        lasted: the time from its start to its end.
        kills: how often a probe killed a container, or would have.
        restarts: how often a container was restarted.
        worst: the container that fared worst, None if all fared well.
    """

    lasted: timedelta
    kills: int
    restarts: int
    worst: WorstContainer | None


def summarize_session(
    entries: Sequence[JournalEntry],
    pods: Iterable[Pod],
    started_at: datetime,
    ended_at: datetime,
    rules: KubeletRules,
    after: int = 0,
) -> SessionSummary:
    """Summarize a session.

    Args:
        entries: its journal, without the end of its pods that ends it.
        pods: all that it had.
        started_at: when it began.
        ended_at: when it ended.
        rules: those of the kubelet's version.
        after: the number of the last entry of what was before it.
    """
    past = SessionHistory(entries)
    past.add_entries(entries, 0)
    own_entries = [entry for entry in entries if entry.sequence > after]
    outcome = session_outcome(own_entries, started_at, ended_at)
    totals = outcome.totals.values()
    known = {pod.uid: pod for pod in pods}
    return SessionSummary(
        ended_at - started_at,
        sum(own.kills for own in totals),
        sum(own.restarts for own in totals),
        _worst(own_entries, past, known, ended_at, rules, outcome),
    )


def _worst(
    entries: Sequence[JournalEntry],
    past: SessionHistory,
    pods: Mapping[str, Pod],
    now: datetime,
    rules: KubeletRules,
    outcome: SessionOutcome,
) -> WorstContainer | None:
    failures: Counter[tuple[str, str]] = Counter()
    last_failures: dict[tuple[str, str], TickEntry] = {}
    for entry in entries:
        if isinstance(entry, TickEntry) and entry.result is Result.FAILURE:
            failures[entry.key[:2]] += 1
            last_failures[entry.key[:2]] = entry
    ranked = []
    for pod in pods.values():
        for container in pod.all_containers():
            key = pod.uid, container.name
            answer = explain(pod, container, past, now, rules, pods, is_live=True)
            own = outcome.totals_of(key)
            rank = own.kills, own.restarts, _is_in_trouble(answer), failures[key]
            ranked.append((rank, pod, container, answer))
    if not ranked:
        return None
    rank, pod, container, answer = max(ranked, key=lambda item: item[0])
    _, restarts, is_in_trouble, failed = rank
    if restarts or is_in_trouble:
        return WorstContainer(pod, container, answer.last_end or answer.now)
    if not failed:
        return None
    tick = last_failures[pod.uid, container.name]
    then = past.before(tick.sequence + 1)
    answer = explain(
        pod, container, then, now=tick.at, rules=rules, pods=pods, is_live=True
    )
    return WorstContainer(pod, container, answer.now, tick.at)


def _is_in_trouble(answer: WhyAnswer) -> bool:
    """Return whether a container has neither been well nor done what it was to do."""
    has_completed = answer.now.root.kind is CauseKind.COMPLETED
    return not (is_well(answer) or has_completed)
