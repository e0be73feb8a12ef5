"""The event log: what a cluster records and what only probetui shows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.event import Event, EventType
from probetui.k8s.runtime import Listeners, ListenerScope, LogLine, SocketAddress
from probetui.k8s.status import PodStatus
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    FindingEntry,
    HookEntry,
    HookType,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StateField,
    StatusEntry,
    TickAction,
    TickEntry,
    UserEntry,
)
from probetui.kubelet_rules import KubeletRules, rules_of
from probetui.presentation.container.back_off import range_of_wait
from probetui.presentation.events.log import (
    EventLog,
    format_backoff,
    format_no_wait,
    format_wait,
)
from probetui.presentation.text.spans import Role
from probetui.presentation.tick.report import report_tick
from tests.presentation.looking import RULES
from tests.ticks import DEMO_KEY, FIRST, NOW, demo_tick

NAMES = {"uid-demo": "demo"}
_SECOND = timedelta(seconds=1)


def an_event(
    reason: str,
    type_: EventType = EventType.NORMAL,
    message: str = "words",
    tick: TickEntry | None = None,
) -> EventEntry:
    event = Event(type_, reason, message, "uid-demo", "", NOW, "liveness")
    return EventEntry(1, NOW, event, tick)


def a_step(what: LifecycleStep, **fields: Any) -> ContainerEntry:
    return ContainerEntry(1, NOW, "uid-demo", "liveness", FIRST, 2, what, **fields)


def a_change(
    what: StateField, before: str, after: str, subject: str = ""
) -> StateEntry:
    return StateEntry(1, NOW, "uid-demo", "liveness", subject, what, before, after)


def a_wait(**fields: Any) -> BackoffEntry:
    defaults: dict[str, Any] = {
        "window": 40 * _SECOND,
        "since": NOW - 10 * _SECOND,
        "waits": True,
        "until": NOW + 30 * _SECOND,
        "next_window": 80 * _SECOND,
    }
    return BackoffEntry(1, NOW, "uid-demo", "liveness", **{**defaults, **fields})


@pytest.mark.parametrize(
    ("tick", "words"),
    [
        pytest.param(demo_tick("f"), "1/3 ignored", id="first of three"),
        pytest.param(demo_tick("ff"), "2/3 ignored", id="second of three"),
        pytest.param(demo_tick("fffK"), "3/3 acted", id="third of three"),
        pytest.param(demo_tick("ffff"), "4/3 no change", id="beyond"),
        pytest.param(demo_tick("e"), "not counted", id="errored"),
        pytest.param(
            demo_tick("w", action=TickAction.READY),
            "1/1 acted",
            id="a warning that counts",
        ),
    ],
)
def test_the_verdict_of_a_tick(tick: TickEntry, words: str) -> None:
    assert report_tick(tick).note == words


def test_an_event_is_the_clusters_own_with_a_separate_verdict() -> None:
    message = "Liveness probe failed: [red]\x1b[31m"
    entry = an_event("Unhealthy", EventType.WARNING, message, demo_tick("ff"))

    shown = EventLog(RULES).add_entry(entry, NAMES)

    assert shown is not None
    assert (shown.type, shown.reason, shown.object, shown.message, shown.note) == (
        "Warning",
        "Unhealthy",
        "demo/liveness",
        message,
        "2/3 ignored",
    )
    assert shown.is_fault
    assert shown.is_cluster_event


def test_a_start_has_the_number_of_its_restart() -> None:
    log = EventLog(RULES)
    log.add_entry(a_step(LifecycleStep.CREATED), NAMES)

    shown = log.add_entry(an_event("Started"), NAMES)

    assert shown is not None
    assert shown.note == "restart 2"


def test_the_first_start_is_no_restart() -> None:
    log = EventLog(RULES)
    log.add_entry(replace(a_step(LifecycleStep.CREATED), restart_count=0), NAMES)

    shown = log.add_entry(an_event("Started"), NAMES)

    assert shown is not None
    assert shown.note == ""


@pytest.mark.parametrize(
    ("entry", "reason", "message"),
    [
        pytest.param(
            a_change(StateField.HOLD, "off", "on", "Liveness"),
            "hold",
            "liveness on hold until the container has restarted",
            id="hold",
        ),
        pytest.param(
            replace(a_change(StateField.HOLD, "on", "off", "Liveness"), cause=1),
            "hold",
            "liveness hold released by a new container ID",
            id="hold released",
        ),
        pytest.param(
            a_change(StateField.RESULT, "", "Success", "Readiness"),
            "result",
            "readiness := Success",
            id="first result",
        ),
        pytest.param(
            a_change(StateField.RESULT, "", "Success", "No such probe"),
            "result",
            "no such probe := Success",
            id="first result of a damaged record",
        ),
        pytest.param(
            a_change(StateField.RESULT, "", "Success", "Liveness"),
            "result",
            "liveness := Success (initial value)",
            id="initial result",
        ),
        pytest.param(
            a_change(StateField.RESULT, "Success", "Failure", "Liveness"),
            "result",
            "liveness := Failure",
            id="result",
        ),
        pytest.param(
            a_change(StateField.READY, "false", "true"),
            "ready",
            "false -> true",
            id="ready",
        ),
        pytest.param(
            a_change(StateField.PHASE, "", "Pending"),
            "phase",
            "none -> Pending",
            id="phase",
        ),
        pytest.param(
            a_step(
                LifecycleStep.STOPPING,
                by=ExitCause.LIVENESS,
                grace_period_seconds=30,
                grace_source="pod",
            ),
            "stop",
            "SIGTERM, SIGKILL in 30s (pod), liveness probe",
            id="stop",
        ),
        pytest.param(
            a_step(LifecycleStep.STOPPING), "stop", "SIGTERM, asked for", id="bare stop"
        ),
        pytest.param(
            a_step(LifecycleStep.EXITED, exit_code=1),
            "exit",
            "exit 1, exited by itself",
            id="exit",
        ),
        pytest.param(
            a_wait(),
            "backoff",
            "waits, restart in 30s to 46s, back-off 40s, next back-off 1m20s",
            id="back-off",
        ),
        pytest.param(
            ListenersEntry(
                1,
                NOW,
                DEMO_KEY,
                FIRST,
                SocketAddress("10.1.2.3", 8081),
                Listeners((SocketAddress("0.0.0.0", 8080),), ListenerScope.CONTAINER),
            ),
            "refused",
            "nothing listens on 8081; the container listens on 0.0.0.0:8080",
            id="refused",
        ),
        pytest.param(
            a_change(StateField.EXEC, "", "sh -c date"),
            "exec",
            "exec by another client: sh -c date",
            id="exec",
        ),
        pytest.param(
            LastOutputEntry(
                1, NOW, "uid-demo", "app", FIRST, 0, (LogLine(None, "no database"),)
            ),
            "output",
            "no database",
            id="output",
        ),
        pytest.param(
            LastOutputEntry(1, NOW, "uid-demo", "app", FIRST, 0, None, "", "gone"),
            "output",
            "its last output could not be read: gone",
            id="no output",
        ),
        pytest.param(
            HookEntry(1, NOW, "uid-demo", "app", FIRST, HookType.PRE_STOP, NOW, NOW),
            "hook",
            "preStop succeeded after 0ms",
            id="hook",
        ),
        pytest.param(
            PodGoneEntry(1, NOW, "uid-demo"),
            "gone",
            "the pod has ended for good: nothing of it runs",
            id="gone",
        ),
    ],
)
def test_a_state_line_is_never_shown_by_a_cluster(
    entry: JournalEntry, reason: str, message: str
) -> None:
    shown = EventLog(RULES).add_entry(entry, NAMES)

    assert shown is not None
    assert (shown.type, shown.reason, shown.message) == ("state", reason, message)
    assert not shown.is_cluster_event
    assert shown.is_fault == (reason in {"stop", "exit", "backoff"})


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(demo_tick("s"), id="a tick"),
        pytest.param(StatusEntry(1, NOW, "uid-demo", PodStatus()), id="a status"),
        pytest.param(a_step(LifecycleStep.CREATED), id="a creation"),
        pytest.param(
            a_change(StateField.CONDITION, "", "True", "Ready"), id="a condition"
        ),
    ],
)
def test_an_entry_that_another_line_covers_has_no_line(entry: JournalEntry) -> None:
    assert EventLog(RULES).add_entry(entry, NAMES) is None


def test_actions_of_users_and_notes_have_lines() -> None:
    log = EventLog(RULES)

    asked = log.add_entry(UserEntry(1, NOW, "probe now", "liveness Liveness"), NAMES)
    line = log.add_entry(NoteEntry(2, NOW, "docker is gone", is_fault=True), NAMES)

    assert asked is not None
    assert line is not None
    assert (asked.type, asked.reason, asked.object) == ("user", "probe now", "")
    assert (asked.word, asked.words) == ("probe now", "liveness Liveness")
    assert (line.type, line.message, line.is_fault) == ("note", "docker is gone", True)


def test_a_wait_has_one_line_however_often_it_is_checked() -> None:
    log = EventLog(RULES)

    lines = [
        log.add_entry(entry, NAMES)
        for entry in (a_wait(), a_wait(), a_wait(until=NOW + 60 * _SECOND))
    ]

    assert [line is not None for line in lines] == [True, False, True]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        pytest.param(
            a_wait(waits=False, until=None, since=NOW - 75 * _SECOND),
            "no wait (1m15s >= 40s), back-off now 1m20s",
            id="the window is over",
        ),
        pytest.param(
            a_wait(waits=False, until=None, window=timedelta()),
            "no wait: no back-off yet, back-off now 1m20s",
            id="no back-off yet",
        ),
        pytest.param(
            a_wait(waits=False, until=None, since=None),
            "no wait: no earlier exit",
            id="nothing has ended yet",
        ),
        pytest.param(
            a_wait(waits=False, until=None, window=timedelta(), is_reset=True),
            "no wait: back-off reset after 10s, back-off now 1m20s",
            id="forgotten",
        ),
    ],
)
def test_a_restart_without_back_off_has_its_reason(
    entry: BackoffEntry, words: str
) -> None:
    assert format_backoff(entry, range_of_wait(entry, RULES)) == words


def test_warnings_and_normal_events_are_counted() -> None:
    log = EventLog(RULES)

    for entry in (an_event("Pulled"), an_event("Failed", EventType.WARNING)):
        log.add_entry(entry, NAMES)

    assert (log.warnings, log.normals) == (1, 1)


@pytest.mark.parametrize(
    ("rule", "role"),
    [
        pytest.param("redirect-seen", Role.WARNING, id="warning"),
        pytest.param("timeout-at-default", Role.MUTED, id="note"),
        pytest.param("of-a-newer-probetui", Role.MUTED, id="unknown"),
    ],
)
def test_a_finding_has_its_own_line_with_its_position(rule: str, role: Role) -> None:
    entry = FindingEntry(1, NOW, DEMO_KEY, rule, "spec.x", "is so", "pod.yaml:9:7")

    line = EventLog(RULES).add_entry(entry, NAMES)

    assert line is not None
    assert (line.type, line.reason, line.role) == ("finding", rule, role)
    assert line.message == "pod.yaml:9:7: spec.x: is so"
    assert not line.is_cluster_event


def a_decision(after_exit: float, window: int, next_window: int) -> BackoffEntry:
    """Return the back-off decision `after_exit` seconds after the last exit."""
    exited = NOW
    is_waited_for = window > after_exit
    return BackoffEntry(
        1,
        exited + timedelta(seconds=after_exit),
        "uid",
        "app",
        waits=is_waited_for,
        window=timedelta(seconds=window),
        since=exited,
        until=exited + timedelta(seconds=window) if is_waited_for else None,
        next_window=timedelta(seconds=next_window),
        is_reset=False,
    )


def the_wait(entry: BackoffEntry, rules: KubeletRules = RULES) -> tuple[str, str]:
    """Return what the log and the story say of a wait."""
    due = range_of_wait(entry, rules)
    assert due is not None
    return format_backoff(entry, due), format_wait(entry, due)


@pytest.mark.parametrize(
    ("version", "words"),
    [("1.34", "restart in 30s to 46s"), ("1.35", "restart in 30s to 51s")],
)
def test_a_wait_ends_between_two_instants_by_the_rules_of_the_version(
    version: str, words: str
) -> None:
    log, story = the_wait(a_wait(), rules_of(version))

    assert log == f"waits, {words}, back-off 40s, next back-off 1m20s"
    assert story == f"{words}: back-off 40s from the exit, next back-off 1m20s"


def test_a_wait_that_knows_its_latest_end_says_it_under_any_rules() -> None:
    entry = a_wait(latest=NOW + 33 * _SECOND)

    assert the_wait(entry)[1].startswith("restart in 30s to 33s: ")


def test_the_latest_instant_is_rounded_up() -> None:
    _, story = the_wait(a_decision(0.1, 10, 20))

    assert story.startswith("restart in 9.9s to 26s: back-off 10s")


@pytest.mark.parametrize(
    ("over_for", "words"), [(6, "restart within 10s"), (17, "at the pod's next sync")]
)
def test_a_wait_that_was_already_over_is_not_below_zero(
    over_for: int, words: str
) -> None:
    until = NOW - over_for * _SECOND
    over = a_wait(since=until - 40 * _SECOND, until=until)

    log, story = the_wait(over)

    assert f"{words}, back-off 40s" in log
    assert f"{words}: back-off 40s" in story


def test_the_exit_right_before_a_restart_is_no_earlier_exit() -> None:
    assert format_no_wait(a_decision(0.1, 0, 10)) == (
        "no wait: no back-off yet, next back-off 10s"
    )
    assert format_no_wait(a_decision(30, 0, 10)) == (
        "no wait: previous exit was 30s ago, no back-off yet, next back-off 10s"
    )


def test_what_an_instance_printed_last_is_in_the_row_of_its_exit() -> None:
    log = EventLog(RULES)
    printed = (LogLine(None, "no database"), LogLine(None, ""))

    exited = log.add_entry(a_step(LifecycleStep.EXITED, exit_code=3), NAMES)
    output = log.add_entry(
        LastOutputEntry(2, NOW, "uid-demo", "liveness", FIRST, 2, printed),
        NAMES,
    )
    failed = log.add_entry(
        HookEntry(
            3, NOW, "uid-demo", "app", FIRST, HookType.PRE_STOP, NOW, NOW, "boom"
        ),
        NAMES,
    )

    assert exited is not None
    assert output is not None
    assert failed is not None
    assert (output.row, output.word) == (exited.row, "EXIT 3")
    assert output.words == "exited by itself: no database"
    assert failed.is_fault


def test_an_instance_that_printed_nothing_has_no_line_for_it() -> None:
    entry = LastOutputEntry(2, NOW, "uid-demo", "app", FIRST, 0, ())

    assert EventLog(RULES).add_entry(entry, NAMES) is None


def test_a_warning_about_a_pod_names_it() -> None:
    log = EventLog(RULES)
    note = NoteEntry(2, NOW, "warning: pod.yaml:4:1: no probe", pod_uid="uid-demo")
    line = log.add_entry(note, NAMES)

    assert line is not None
    assert (line.object, line.reason, line.message) == (
        "demo",
        "warning",
        "pod.yaml:4:1: no probe",
    )
    assert log.warned == {"uid-demo"}
