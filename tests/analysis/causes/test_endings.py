"""Who ended an instance, and how the next one came about: entries made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.causes.answer import explain, last_endings
from probetui.analysis.causes.cause import Ending, Restart, RestartTiming
from probetui.analysis.causes.endings import signal_of
from probetui.analysis.causes.kinds import CauseKind as Kind
from probetui.analysis.container_history import FAILED_PRE_STOP, SessionHistory
from probetui.analysis.next_failure import (
    Outlook,
    OutlookCondition,
    OutlookEvent,
)
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import (
    RESTART_ALL_CONTAINERS,
    Container,
    RestartPolicy,
    RestartRule,
)
from probetui.k8s.probe import ExecAction, SleepAction, TCPSocketAction
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import PodPhase, PodStatus, Terminated
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    StatusEntry,
)
from probetui.kubelet_rules import PORTED_RULES
from tests.builders import a_container, a_container_status, a_pod, a_status, at

Step = LifecycleStep
UID = a_pod().uid
STARTED = 10
"""When the instance of these tests starts, in seconds."""


def step(
    what: LifecycleStep, seconds: float, number: int = 0, **fields: Any
) -> ContainerEntry:
    """Return a step in the life of an instance."""
    container_id = ContainerID(f"fake://{number}")
    fields = {"container_name": "app", **fields}
    return ContainerEntry(
        0,
        at(seconds),
        UID,
        container_id=container_id,
        restart_count=number,
        what=what,
        **fields,
    )


def a_start(seconds: float = STARTED, number: int = 0) -> list[ContainerEntry]:
    steps = (Step.CREATED, Step.STARTED)
    return [step(what, seconds, number) for what in steps]


def an_exit(seconds: float, code: int = 1, **fields: Any) -> ContainerEntry:
    fields = {"by": ExitCause.ITSELF, **fields}
    return step(Step.EXITED, seconds, exit_code=code, **fields)


def a_stop(seconds: float, by: ExitCause, grace: int | None = 30) -> ContainerEntry:
    return step(Step.STOPPING, seconds, by=by, grace_period_seconds=grace)


def a_decision(seconds: float, window: float = 0, **fields: Any) -> BackoffEntry:
    """Return a decision about back-off; `since` and `until` are in seconds."""
    instants = {
        name: None if fields.get(name) is None else at(fields[name])
        for name in ("since", "until")
    }
    return BackoffEntry(
        0,
        at(seconds),
        UID,
        "app",
        timedelta(seconds=window),
        waits=fields.get("waits", False),
        next_window=timedelta(seconds=10),
        is_reset=fields.get("is_reset", False),
        **instants,
    )


def past_of(entries: Sequence[JournalEntry]) -> SessionHistory:
    past = SessionHistory(entries)
    past.add_entries(entries, 0)
    return past


def ending(
    *entries: JournalEntry, container: Container | None = None, **fields: Any
) -> Ending:
    """Return how the last instance of a container ended that did."""
    container = container or a_container()
    pod = a_pod(container, **fields)
    return last_endings(pod, container, past_of(entries), at(1_000), PORTED_RULES)[0]


def restart(*decisions: BackoffEntry, ended: float = 20, **fields: Any) -> Restart:
    """Return how the instance came about that was created at the end of all."""
    lived = [*a_start(), an_exit(ended, **fields)]
    how = ending(*lived, *decisions, *a_start(5_000, 1)).restart
    assert how is not None
    return how


TEN_MINUTES = 600


@pytest.mark.parametrize(
    ("decisions", "timing"),
    [
        pytest.param([], RestartTiming.UNKNOWN, id="no-decision"),
        pytest.param([a_decision(21)], RestartTiming.NOTHING_EXITED, id="no-exit"),
        pytest.param(
            [a_decision(21, since=20)], RestartTiming.NO_WINDOW, id="no-window"
        ),
        pytest.param(
            [a_decision(31, 10, since=20)], RestartTiming.WINDOW_OVER, id="window-over"
        ),
        pytest.param(
            [a_decision(21, 10, since=20, is_reset=True)],
            RestartTiming.WINDOW_RESET,
            id="reset",
        ),
        pytest.param(
            [a_decision(STARTED + 601, since=STARTED + TEN_MINUTES)],
            RestartTiming.NO_WINDOW,
            id="ran-for-ten-minutes",
        ),
        pytest.param(
            [a_decision(STARTED + 602, since=STARTED + TEN_MINUTES + 1)],
            RestartTiming.WINDOW_RESET,
            id="ran-for-longer",
        ),
        pytest.param(
            [
                a_decision(21, 10, since=20, until=30, waits=True),
                a_decision(30, 10, since=20),
            ],
            RestartTiming.AFTER_WAIT,
            id="waited",
        ),
        pytest.param(
            [
                a_decision(21, 10, since=20, until=30, waits=True),
                a_decision(29, 10, since=20),
            ],
            RestartTiming.WAIT_CLEARED,
            id="waited-not-to-the-end",
        ),
        pytest.param(
            [a_decision(21, 10, since=20, until=30, waits=True)],
            RestartTiming.AFTER_WAIT,
            id="the-end-of-the-wait-was-not-seen",
        ),
        pytest.param(
            [
                a_decision(21, 10, since=20, waits=True),
                a_decision(22, 10, since=20),
            ],
            RestartTiming.AFTER_WAIT,
            id="nobody-knows-how-long-it-waits",
        ),
    ],
)
def test_why_the_next_instance_came_when_it_did(
    decisions: list[BackoffEntry], timing: RestartTiming
) -> None:
    how = restart(*decisions)

    assert how.timing is timing
    assert how.decision == (decisions[-1] if decisions else None)
    assert how.has_started
    assert not how.follows_probe_kill


def test_an_instance_may_be_restarted_with_all_of_its_pod() -> None:
    assert restart(by=ExitCause.RESTART_ALL).timing is RestartTiming.WITH_ALL


def test_an_exit_code_may_restart_all_of_its_pod() -> None:
    rule = RestartRule(RESTART_ALL_CONTAINERS, "In", (3,))
    container = a_container(restart_rules=(rule,))
    entries = [*a_start(), an_exit(20, 3), *a_start(30, 1)]

    how = ending(*entries, container=container).restart
    assert how is not None
    assert how.timing is RestartTiming.WITH_ALL


@pytest.mark.parametrize(
    ("since", "is_of_before"),
    [(STARTED - 1, True), (STARTED, True), (STARTED + 1, False), (None, False)],
)
def test_a_window_may_count_from_an_exit_before_the_last(
    since: float | None, *, is_of_before: bool
) -> None:
    assert restart(a_decision(21, 10, since=since)).counts_from_before is is_of_before


@pytest.mark.parametrize(
    ("by", "follows"),
    [
        (ExitCause.LIVENESS, True),
        (ExitCause.STARTUP, True),
        (ExitCause.USER, False),
        (None, False),
    ],
)
def test_a_restart_may_follow_the_kill_of_a_probe(
    by: ExitCause | None, *, follows: bool
) -> None:
    assert restart(by=by).follows_probe_kill is follows


def test_the_next_instance_may_not_have_started_yet() -> None:
    entries = [*a_start(), an_exit(20), step(Step.CREATED, 30, 1)]

    how = ending(*entries).restart
    assert how is not None
    assert not how.has_started

    exited = ending(*a_start(), an_exit(20), *a_start(30, 1)[:1])
    assert exited.restart == how


def test_without_a_next_instance_nothing_was_restarted() -> None:
    assert ending(*a_start(), an_exit(20)).restart is None


@pytest.mark.parametrize(
    ("exited", "kind"),
    [
        pytest.param({"code": 0}, Kind.COMPLETED, id="0"),
        pytest.param({"code": 1}, Kind.EXITED, id="1"),
        pytest.param({"code": 128}, Kind.EXITED, id="128"),
        pytest.param({"code": 136}, Kind.EXITED, id="136"),
        pytest.param({"code": 137}, Kind.KILLED_BY_ANOTHER, id="137"),
        pytest.param({"code": 138}, Kind.EXITED, id="138"),
        pytest.param({"code": 143}, Kind.KILLED_BY_ANOTHER, id="143"),
        pytest.param({"code": 139, "signal": 11}, Kind.ENDED_BY_SIGNAL, id="a-signal"),
        pytest.param({"code": 0, "signal": 15}, Kind.KILLED_BY_ANOTHER, id="sigterm"),
        pytest.param({"code": 137, "oom_killed": True}, Kind.OOM_KILLED, id="memory"),
        pytest.param({"code": 128, "reason": "StartError"}, Kind.START_FAILED, id="no"),
        pytest.param({"by": ExitCause.USER}, Kind.KILLED_BY_USER, id="by-a-user"),
        pytest.param({"by": ExitCause.DEFINITION}, Kind.KILLED_BY_EDIT, id="edited"),
        pytest.param({"by": ExitCause.DELETE}, Kind.KILLED_BY_DELETION, id="deleted"),
        pytest.param({"by": ExitCause.UNSEEN}, Kind.ENDED_UNSEEN, id="unseen"),
        pytest.param({"by": ExitCause.UNKNOWN}, Kind.ENDED_UNSEEN, id="unknown"),
        pytest.param({"by": ExitCause.UNCERTAIN}, Kind.ENDED_UNSEEN, id="uncertain"),
        pytest.param({"by": None}, Kind.EXITED, id="of-an-old-record"),
        pytest.param(
            {"by": ExitCause.RESTART_ALL}, Kind.KILLED_BY_RESTART_ALL, id="with-all"
        ),
        pytest.param(
            {"by": ExitCause.USER, "code": 128, "reason": "StartError"},
            Kind.KILLED_BY_USER,
            id="a-user-before-a-failed-start",
        ),
    ],
)
def test_who_ended_an_instance(exited: dict[str, Any], kind: Kind) -> None:
    cause = ending(*a_start(), an_exit(20, **exited)).cause

    assert cause.kind is kind
    assert cause.since == at(20)
    assert cause.evidence.reason == exited.get("reason", "") * (
        kind is Kind.START_FAILED
    )


@pytest.mark.parametrize(
    ("code", "signal"), [(None, None), (1, None), (128, None), (129, 1), (137, 9)]
)
def test_an_exit_code_above_128_has_the_number_of_a_signal(
    code: int | None, signal: int | None
) -> None:
    exited = step(Step.EXITED, 20, exit_code=code)

    assert signal_of(exited) == signal
    assert signal_of(replace(exited, signal=15)) == 15


@pytest.mark.parametrize(
    ("status", "kind", "name"),
    [
        pytest.param(
            PodStatus(PodPhase.FAILED, reason="DeadlineExceeded", message="too late"),
            Kind.KILLED_BY_DEADLINE,
            "DeadlineExceeded",
            id="deadline",
        ),
        *(
            pytest.param(
                PodStatus(PodPhase.FAILED, reason=reason, message="too late"),
                Kind.KILLED_BY_DRAIN,
                reason,
                id=reason,
            )
            for reason in ("Evicted", "Preempting", "NodeShutdown", "Terminated")
        ),
        pytest.param(
            PodStatus(PodPhase.FAILED, message="too late"),
            Kind.KILLED_WITH_POD,
            "its other containers had ended for good",
            id="failed",
        ),
        pytest.param(
            PodStatus(PodPhase.RUNNING, message="too late"),
            Kind.KILLED_WITH_POD,
            "",
            id="running",
        ),
    ],
)
def test_with_its_pod_an_instance_ends_for_the_reason_of_that(
    status: PodStatus, kind: Kind, name: str
) -> None:
    ended = a_stop(19, ExitCause.POD), an_exit(20, 143, by=ExitCause.POD)

    cause = ending(*a_start(), StatusEntry(0, at(15), UID, status), *ended).cause

    assert (cause.kind, cause.subject.name) == (kind, name)
    assert cause.since == at(19)
    assert cause.evidence.message == "too late"


@pytest.mark.parametrize(
    ("exited", "fields", "quirk"),
    [
        pytest.param(49, {"code": 137}, Kind.SIGTERM_IGNORED, id="as-long-as-it-has"),
        pytest.param(48.9, {"code": 137}, None, id="sooner"),
        pytest.param(50, {"code": 143}, None, id="by-the-signal-after-all"),
        pytest.param(50, {"code": 137, "oom_killed": True}, None, id="out-of-memory"),
    ],
)
def test_an_instance_that_is_killed_at_the_end_of_its_grace_period_ignored_the_signal(
    exited: float, fields: dict[str, Any], quirk: Kind | None
) -> None:
    stop = a_stop(20, ExitCause.USER)
    entries = [*a_start(), stop, an_exit(exited, **fields)]

    assert ending(*entries).cause.quirk is quirk


@pytest.mark.parametrize("grace", [0, None])
def test_without_a_grace_period_no_signal_is_ignored(grace: int | None) -> None:
    stop = a_stop(20, ExitCause.USER, grace)

    assert ending(*a_start(), stop, an_exit(50, 137)).cause.quirk is None


@pytest.mark.parametrize(
    ("hook", "failed", "quirk"),
    [
        pytest.param(ExecAction(("x",)), 50, Kind.PRE_STOP_HOOK_CUT_OFF, id="then"),
        pytest.param(ExecAction(("x",)), 49, Kind.SIGTERM_IGNORED, id="sooner"),
        pytest.param(ExecAction(("x",)), None, Kind.SIGTERM_IGNORED, id="well"),
        pytest.param(SleepAction(30), None, Kind.PRE_STOP_HOOK_CUT_OFF, id="sleeps"),
        pytest.param(SleepAction(29), 50, Kind.SIGTERM_IGNORED, id="sleeps-for-less"),
    ],
)
def test_a_hook_that_takes_all_of_the_grace_period_is_cut_off(
    hook: ExecAction | SleepAction, failed: float | None, quirk: Kind
) -> None:
    events = []
    if failed is not None:
        event = Event(
            EventType.WARNING,
            FAILED_PRE_STOP,
            "late",
            UID,
            "spec.containers{app}",
            at(failed),
            "app",
        )
        events.append(EventEntry(0, at(failed), event))
    stop = a_stop(20, ExitCause.USER)
    container = a_container(pre_stop=hook)

    cause = ending(
        *a_start(), stop, *events, an_exit(50, 137), container=container
    ).cause

    assert cause.quirk is quirk
    assert cause.evidence.lines == ()


@pytest.mark.parametrize(("grace", "lines"), [(30, 1), (0, 0), (None, 0)])
def test_of_a_hook_that_cannot_be_run_it_is_said_where_it_would_have_been(
    grace: int | None, lines: int
) -> None:
    container = a_container(pre_stop=TCPSocketAction(80))
    stop = a_stop(20, ExitCause.USER, grace)

    cause = ending(*a_start(), stop, an_exit(21, 143), container=container).cause

    said = (
        "Its preStop hook did not run: a hook may have tcpSocket, and the kubelet "
        "cannot run it."
    )
    assert cause.evidence.lines == (said,) * lines


@pytest.mark.parametrize(
    ("bounds", "earliest", "latest"),
    [
        pytest.param((None, None), 50, None, id="an-instant"),
        pytest.param((18, 23), 48, 53, id="between-two"),
        pytest.param((18, None), 48, 50, id="since"),
    ],
)
def test_sigkill_comes_as_long_after_a_stop_as_the_grace_period(
    bounds: tuple[float | None, float | None], earliest: float, latest: float | None
) -> None:
    before, after = (None if bound is None else at(bound) for bound in bounds)
    stop = replace(a_stop(20, ExitCause.USER), not_before=before, not_after=after)
    pod = a_pod(container := a_container())

    def outlook(now: float) -> Outlook | None:
        past = past_of([*a_start(), stop])
        return explain(pod, container, past, at(now), PORTED_RULES).outlook

    end = latest or earliest
    assert outlook(end) == Outlook(
        OutlookEvent.SIGKILL,
        at(earliest),
        None if latest is None else at(latest),
        OutlookCondition.STILL_RUNS,
    )
    assert outlook(end + 1) is None


@pytest.mark.parametrize(
    ("by", "decisions", "kind"),
    [
        pytest.param(ExitCause.LIVENESS, [], Kind.RESTART_POLICY_ON_FAILURE, id="none"),
        pytest.param(
            ExitCause.LIVENESS, [a_decision(20)], Kind.RESTART_DUE, id="with-its-exit"
        ),
        pytest.param(
            ExitCause.STARTUP, [a_decision(21)], Kind.RESTART_DUE, id="after-its-exit"
        ),
        pytest.param(
            ExitCause.LIVENESS,
            [a_decision(19)],
            Kind.RESTART_POLICY_ON_FAILURE,
            id="before-its-exit",
        ),
        pytest.param(
            ExitCause.LIVENESS,
            [a_decision(21, waits=True)],
            Kind.RESTART_POLICY_ON_FAILURE,
            id="it-waits",
        ),
        pytest.param(
            ExitCause.USER, [a_decision(21)], Kind.RESTART_POLICY_ON_FAILURE, id="user"
        ),
    ],
)
def test_the_sync_that_kills_restarts_what_exited_with_0(
    by: ExitCause, decisions: list[BackoffEntry], kind: Kind
) -> None:
    pod = a_pod(container := a_container(), restart_policy=RestartPolicy.ON_FAILURE)
    past = past_of([*a_start(), an_exit(20, 0, by=by), *decisions])

    assert explain(pod, container, past, at(22), PORTED_RULES).now.kind is kind


@pytest.mark.parametrize("grace", [0, None])
def test_a_stop_without_a_grace_period_is_told_by_who_asked_for_it(
    grace: int | None,
) -> None:
    pod = a_pod(container := a_container())
    past = past_of([*a_start(), a_stop(20, ExitCause.USER, grace)])

    answer = explain(pod, container, past, at(21), PORTED_RULES)

    assert [cause.kind for cause in answer.now.chain] == [Kind.KILLED_BY_USER]


@pytest.mark.parametrize(
    ("since", "finished", "ended"),
    [
        pytest.param(19.5, None, 19.5, id="by-the-back-off"),
        pytest.param(None, 19.5, 19.5, id="by-the-status"),
        pytest.param(19.25, 19.5, 19.25, id="by-the-back-off-first"),
        pytest.param(STARTED, None, STARTED, id="as-it-started"),
        pytest.param(STARTED - 1, 19.5, 19.5, id="of-the-instance-before"),
        pytest.param(20, None, 20, id="as-it-was-seen"),
        pytest.param(20.5, None, None, id="later-than-it-was-seen"),
        pytest.param(None, None, None, id="not-known"),
    ],
)
def test_an_instance_ended_before_its_exit_was_seen(
    since: float | None, finished: float | None, ended: float | None
) -> None:
    entries: list[JournalEntry] = [*a_start(), an_exit(20)]
    entries.append(a_decision(21, 10, since=since, until=31, waits=True))
    if finished is not None:
        state = Terminated(
            1, finished_at=at(finished), container_id=ContainerID("fake://0")
        )
        own = a_container_status(container_id="fake://0", state=state)
        entries.append(StatusEntry(0, at(22), UID, a_status(own)))

    cause = ending(*entries).cause

    assert cause.evidence.ended_at == (None if ended is None else at(ended))


@pytest.mark.parametrize(
    ("exits", "by"),
    [
        pytest.param({"one": 15, "two": 18}, "two", id="the-later-one"),
        pytest.param({"one": 20, "two": 18}, "one", id="at-the-same-time"),
        pytest.param({"one": 15, "two": 21}, "one", id="not-one-after-it"),
        pytest.param({"one": 21}, "", id="none-before-it"),
        pytest.param({"other": 15}, "", id="not-one-without-the-rule"),
        pytest.param({}, "", id="not-known"),
    ],
)
def test_an_exit_of_another_container_restarted_all(
    exits: dict[str, float], by: str
) -> None:
    rule = RestartRule(RESTART_ALL_CONTAINERS, "In", (3,))
    others = [
        *(a_container(name, restart_rules=(rule,)) for name in ("one", "two")),
        a_container("other"),
    ]
    entries: list[JournalEntry] = [
        step(
            Step.EXITED,
            second,
            7,
            container_name=name,
            exit_code=3,
            by=ExitCause.ITSELF,
        )
        for name, second in exits.items()
    ]
    container = a_container()
    pod = a_pod(container, *others)
    entries += [*a_start(), an_exit(20, by=ExitCause.RESTART_ALL)]

    (end,) = last_endings(pod, container, past_of(entries), at(30), PORTED_RULES)

    assert end.cause.kind is Kind.KILLED_BY_RESTART_ALL
    assert end.cause.subject.name == by
    assert [cause.kind for cause in end.cause.chain][1:] == [Kind.EXITED] * bool(by)
