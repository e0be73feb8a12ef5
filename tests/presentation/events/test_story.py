"""The story: which entries of the event log share a row, and the texts of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.commands import (
    Injected,
    InjectResults,
    KillContainer,
    RestartContainer,
)
from probetui.drive.scenario.behavior import (
    IMMEDIATE,
    CallBehavior,
    InstanceBehavior,
)
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import PullImage
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    JournalEntry,
    LifecycleStep,
    UserEntry,
)
from probetui.presentation.events.log import EventLog
from probetui.presentation.events.story import Story, StoryRow
from probetui.presentation.text.spans import Role, text_of
from tests.builders import START, a_container, a_pod, a_probe
from tests.drive.engine_bench import (
    ERRS,
    FAILS,
    SUCCEEDS,
    EngineBench,
    always,
    in_turn,
    probing,
)
from tests.presentation.looking import RULES, VIEW

FAILING = probing(liveness=always(FAILS))
CRASHES = (InstanceBehavior(timedelta(seconds=4), exit_code=1),)
IGNORES_SIGTERM = (InstanceBehavior(stops_after=None),)
WIDE = 30
_ENDPOINTS = "endpoints of the Services that select the pod"


def a_failing_pod(**probe: Any) -> Pod:
    container = a_container(liveness_probe=a_probe(period_seconds=5, **probe))
    return a_pod(container, termination_grace_period_seconds=3)


def rows_of(pod: Pod, journal: Iterable[JournalEntry]) -> list[StoryRow]:
    log, story = EventLog(RULES), Story()
    lines = [
        log.add_entry(entry, {pod.uid: pod.name}, {pod.uid: pod}) for entry in journal
    ]
    story.extend(line for line in lines if line is not None and not line.is_state)
    return story.rows


def texts_of(rows: Iterable[StoryRow], room: int = WIDE) -> list[tuple[str, str]]:
    return [
        (text_of(row.event_cell(VIEW, room)), text_of(row.message_cell(VIEW)))
        for row in rows
    ]


def words(rows: Iterable[StoryRow]) -> list[str]:
    return [word for word, _ in texts_of(rows)]


def played(pod: Pod, seconds: float, **script: Any) -> list[StoryRow]:
    bench = EngineBench(pod, **script)
    bench.run_until(seconds)
    return rows_of(pod, bench.journal)


def test_failures_kill_exit_and_restart_are_four_rows_in_order() -> None:
    rows = played(a_failing_pod(), 20, lives={"app": IGNORES_SIGTERM}, probing=FAILING)

    assert texts_of(rows)[:5] == [
        ("START", "Started container app"),
        ("✗ 1/3  2/3  3/3", "Liveness probe failed: not well"),
        ("KILL", "liveness failed 3/3; SIGTERM, SIGKILL in 3s (grace of the pod)"),
        ("EXIT 137", "SIGKILL after 3s grace, not OOM"),
        ("RESTART 1", "no wait: first restart"),
    ]


def test_kill_exit_and_back_off_are_red_and_growing_runs_are_orange() -> None:
    rows = played(a_failing_pod(), 90, lives={"app": IGNORES_SIGTERM}, probing=FAILING)

    roles = {
        text_of(row.event_cell(VIEW, WIDE)).split()[0]: row.event_cell(VIEW, WIDE)[
            0
        ].role
        for row in rows
    }
    assert roles == {
        "START": Role.STRONG,
        "✗": Role.WARNING,
        "KILL": Role.KILL,
        "EXIT": Role.KILL,
        "RESTART": Role.RESTART,
        "BACK-OFF": Role.KILL,
    }


def test_a_wait_is_one_row_however_often_the_kubelet_reports_it() -> None:
    rows = played(a_pod(), 60, lives={"app": CRASHES})

    waits = [word for word in words(rows) if word.startswith("BACK-OFF")]
    assert waits == ["BACK-OFF 10s", "BACK-OFF 20s", "BACK-OFF 40s"]
    assert ("RESTART 2", "after the back-off of 10s") in texts_of(rows)


def test_a_container_is_restarting_until_it_has_started_again() -> None:
    bench = EngineBench(a_pod(), lives={"app": CRASHES})
    bench.run_until(6)
    started = [
        place
        for place, entry in enumerate(bench.journal)
        if isinstance(entry, EventEntry) and entry.event.reason == "Started"
    ]

    rows = rows_of(a_pod(), bench.journal[: started[1]])

    assert texts_of(rows)[-1] == (
        "restarting",
        "no wait: no window yet, next window 10s",
    )
    assert texts_of(rows_of(a_pod(), bench.journal))[2][0] == "RESTART 1"


def test_an_error_of_an_exited_instance_comes_before_the_restart() -> None:
    lives = (InstanceBehavior(timedelta(seconds=4.5), exit_code=1),)

    rows = played(a_failing_pod(), 6, lives={"app": lives})

    assert words(rows) == ["START", "EXIT 1", "! error", "RESTART 1"]
    (error,) = (message for word, message in texts_of(rows) if word == "! error")
    assert error.startswith("the instance had exited: Liveness probe errored")


def test_an_error_after_the_restart_names_the_previous_instance() -> None:
    lives = (InstanceBehavior(timedelta(seconds=4.5), exit_code=1),)
    bench = EngineBench(a_failing_pod(), lives={"app": lives})
    bench.run_until(6)
    journal = [
        replace(entry, at=entry.at + timedelta(seconds=0.2))
        if isinstance(entry, EventEntry) and entry.tick is not None
        else entry
        for entry in bench.journal
    ]

    rows = rows_of(a_failing_pod(), journal)

    assert words(rows) == ["START", "EXIT 1", "RESTART 1", "! error"]
    assert texts_of(rows)[-1][1].startswith("the instance had exited: ")


def test_a_success_ends_a_run() -> None:
    answers = in_turn(FAILS, FAILS, SUCCEEDS, FAILS, SUCCEEDS)
    rows = played(a_failing_pod(), 30, probing=probing(liveness=answers))

    assert words(rows)[1:] == ["✗ 1/3  2/3", "✗ 1/3"]


def test_consecutive_errors_are_one_row() -> None:
    answers = in_turn(FAILS, ERRS, ERRS, SUCCEEDS)
    rows = played(a_failing_pod(), 30, probing=probing(liveness=answers))

    assert words(rows)[1:] == ["✗ 1/3", "! error x2"]
    assert "cannot be run" in texts_of(rows)[2][1]


def test_a_run_that_continues_after_an_error_shows_that_it_began_before() -> None:
    answers = in_turn(FAILS, ERRS, FAILS, FAILS, SUCCEEDS)
    rows = played(a_failing_pod(), 30, probing=probing(liveness=answers))

    assert words(rows)[1:4] == ["✗ 1/3", "! error", "✗ .. 2/3  3/3"]


@pytest.mark.parametrize(
    ("room", "word"),
    [
        pytest.param(30, "✗ 1/5  2/5  3/5  4/5", id="all"),
        pytest.param(15, "✗ 1/5 .. 4/5", id="the first and the last"),
        pytest.param(8, "✗ 4/5", id="the last"),
    ],
)
def test_a_long_run_is_shown_as_room_allows(room: int, word: str) -> None:
    answers = in_turn(FAILS, FAILS, FAILS, FAILS, SUCCEEDS)
    pod = a_failing_pod(failure_threshold=5)
    rows = played(pod, 30, probing=probing(liveness=answers))

    assert texts_of(rows, room)[1][0] == word


@pytest.mark.parametrize(
    ("room", "word"),
    [
        pytest.param(30, "✗ 1/3  2/3  3/3 +3", id="all"),
        pytest.param(17, "✗ 1/3 .. 3/3 +3", id="the first and the last"),
    ],
)
def test_failures_beyond_the_threshold_are_counted_separately(
    room: int, word: str
) -> None:
    pod = a_pod(a_container(readiness_probe=a_probe(period_seconds=5)))
    rows = played(pod, 26, probing=probing(readiness=always(FAILS)))

    assert texts_of(rows, room)[1][0] == word


def test_a_run_that_outlived_an_instance_is_shown_as_a_number() -> None:
    container = a_container(
        liveness_probe=a_probe(period_seconds=5),
        readiness_probe=a_probe(period_seconds=2),
    )
    pod = a_pod(container, termination_grace_period_seconds=3)
    rows = played(pod, 22, probing=FAILING)

    assert ("READY", f"readiness succeeded 1/1: in the {_ENDPOINTS}") in texts_of(rows)
    again = f"readiness succeeded 9 in a row: in the {_ENDPOINTS}"
    assert ("READY", again) in texts_of(rows)


@pytest.mark.parametrize(
    ("seconds", "rows"),
    [
        pytest.param(
            60, [("Pulled", 0), ("START", 60)], id="a pull that took its time"
        ),
        pytest.param(0.2, [("START", 0)], id="a quick pull"),
    ],
)
def test_a_start_after_a_pull_has_the_time_of_the_start(
    seconds: float, rows: list[tuple[str, float]]
) -> None:
    slow = CallBehavior(takes=timedelta(seconds=seconds))
    story_rows = played(
        a_pod(a_container(image="shop/web:1")),
        90,
        absent=["shop/web:1"],
        dealing=lambda call: slow if isinstance(call, PullImage) else IMMEDIATE,
    )

    begun = [(row.at - START).total_seconds() for row in story_rows]
    assert list(zip(words(story_rows), begun, strict=True)) == rows


def test_a_change_of_readiness_is_a_row_but_the_initial_one_is_not() -> None:
    probe = a_probe(period_seconds=5, failure_threshold=2)
    pod = a_pod(a_container(readiness_probe=probe))
    answers = in_turn(SUCCEEDS, FAILS, FAILS, SUCCEEDS)
    rows = played(pod, 30, probing=probing(readiness=answers))

    assert texts_of(rows)[1:] == [
        ("READY", f"readiness succeeded 1/1: in the {_ENDPOINTS}"),
        ("✗ 1/2  2/2", "not ready: Readiness probe failed: not well"),
        ("NOT READY", f"readiness failed 2/2: out of the {_ENDPOINTS}"),
        ("READY", f"readiness succeeded 1/1: in the {_ENDPOINTS}"),
    ]


def test_an_injected_failure_is_marked() -> None:
    pod = a_failing_pod()
    bench = EngineBench(pod)
    key = ProbeKey(pod.uid, "app", ProbeType.LIVENESS)
    bench.run_until(2)
    bench.send(InjectResults(key, (Injected.FAILURE,)))
    bench.run_until(20)

    rows = rows_of(pod, bench.journal)

    (failure,) = (row for row in texts_of(rows) if row[0].startswith("✗"))
    assert failure[1].startswith("injected: Liveness probe failed")


def test_the_message_names_a_users_action_in_full() -> None:
    pod = a_pod()
    target = "web/app liveness: periodSeconds 2 -> 5"

    assert texts_of(rows_of(pod, [UserEntry(1, START, "edit", target)])) == [
        ("edit", target)
    ]


def test_a_long_command_continues_in_the_message() -> None:
    rows = rows_of(a_pod(), [UserEntry(1, START, "kill main process", "web/app")])

    assert texts_of(rows) == [("kill", "main process: web/app")]


@pytest.mark.parametrize(
    ("command", "word"),
    [
        pytest.param(RestartContainer, "restart", id="restart"),
        pytest.param(KillContainer, "kill", id="kill"),
    ],
)
def test_rows_are_in_order_after_a_user_ends_a_container(
    command: Any, word: str
) -> None:
    pod = a_failing_pod()
    bench = EngineBench(pod, lives={"app": IGNORES_SIGTERM})
    bench.run_until(1)  # it is over before the next tick is due
    bench.send(command(pod.uid, "app"))
    bench.run_until(20)

    assert words(rows_of(pod, bench.journal))[1:] == [
        word,
        "KILL",
        "EXIT 137",
        "RESTART 1",
    ]


def test_every_line_is_a_row_in_raw_mode() -> None:
    pod = a_failing_pod()
    bench = EngineBench(pod, lives={"app": IGNORES_SIGTERM}, probing=FAILING)
    bench.run_until(20)
    log, story = EventLog(RULES), Story()
    lines = [log.add_entry(entry, {pod.uid: pod.name}) for entry in bench.journal]

    story.extend(
        (line for line in lines if line and line.is_cluster_event), is_raw=True
    )

    assert words(story.rows)[:7] == [
        "Pulled",
        "Created",
        "Started",
        *["! Unhealthy"] * 3,
        "Killing",
    ]


def test_an_exit_in_the_old_order_stays_in_its_place() -> None:
    """Records of earlier versions have the exit after the restart."""
    pod = a_failing_pod()
    bench = EngineBench(pod, lives={"app": IGNORES_SIGTERM}, probing=FAILING)
    bench.run_until(20)
    journal = bench.journal
    entries = [entry for entry in journal if getattr(entry, "what", "") != "exited"]
    exits = [entry for entry in journal if getattr(entry, "what", "") == "exited"]

    assert words(rows_of(pod, [*entries, *exits])) == [
        "START",
        "✗ 1/3  2/3  3/3",
        "KILL",
        "RESTART 1",
        "✗ 1/3",
        "EXIT 137",
    ]


def a_warning(seconds: float, reason: str = "NetworkNotReady") -> EventEntry:
    event = Event(
        EventType.WARNING, reason, "network is not ready", "uid-of-web", "", START
    )
    return EventEntry(int(seconds), START + timedelta(seconds=seconds), event)


def test_a_repeated_event_of_a_pod_is_one_row() -> None:
    journal = [a_warning(1), a_warning(2), a_warning(3), a_warning(4, "FailedMount")]

    rows = texts_of(rows_of(a_pod(), journal))

    assert rows == [
        ("! NetworkNotReady", "x3 network is not ready"),
        ("! FailedMount", "network is not ready"),
    ]


def test_an_event_repeated_after_a_container_was_created_is_another_row() -> None:
    made = ContainerEntry(
        2, START, "uid-of-web", "app", ContainerID("c://1"), 0, LifecycleStep.CREATED
    )

    rows = texts_of(rows_of(a_pod(), [a_warning(1), made, a_warning(3)]))

    assert [event for event, _ in rows if "Network" in event] == [
        "! NetworkNotReady",
        "! NetworkNotReady",
    ]
