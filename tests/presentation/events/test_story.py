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
    ProbeAnswer,
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
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.events.log import EventLog
from probetui.presentation.events.story import Story, StoryRow, in_full
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
    """Return the rows with nothing folded."""
    return list(in_full(story_of(pod, journal).rows))


def story_of(pod: Pod, journal: Iterable[JournalEntry]) -> Story:
    log, story = EventLog(RULES), Story()
    lines = [
        log.add_entry(entry, {pod.uid: pod.name}, {pod.uid: pod}) for entry in journal
    ]
    story.extend(line for line in lines if line is not None and not line.is_state)
    return story


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
        "no wait: no back-off yet, next back-off 10s",
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

    assert words(rows)[1:] == ["✗ 1/3", "! error ×2"]
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
        ("! NetworkNotReady", "×3 network is not ready"),
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


CRASHES_AT_ONCE = (InstanceBehavior(timedelta(seconds=1), exit_code=1),)


def test_all_but_the_newest_of_equal_restarts_are_one_row() -> None:
    bench = EngineBench(a_pod(), lives={"app": CRASHES_AT_ONCE})
    bench.run_until(240)

    story = story_of(a_pod(), bench.journal)

    assert words(story.rows) == [
        "EXIT 1 ×5",
        "BACK-OFF 1m20s",
        "RESTART 5",
        "EXIT 1",
        "BACK-OFF 2m40s",
    ]
    assert texts_of(story.rows)[0][1] == "1s to 54s apart, exited by itself"


def test_what_is_folded_unfolds_in_its_place_and_folds_again() -> None:
    bench = EngineBench(a_pod(), lives={"app": CRASHES_AT_ONCE})
    bench.run_until(240)
    story = story_of(a_pod(), bench.journal)
    folded = words(story.rows)

    story.toggle(story.rows[0])
    unfolded = words(story.rows)
    story.toggle(story.rows[0])

    assert unfolded[:4] == ["EXIT 1 ×5", "START", "EXIT 1", "RESTART 1"]
    assert unfolded[-4:] == folded[1:]
    assert words(story.rows) == folded


def test_two_equal_exits_are_told_in_full() -> None:
    rows = story_of(a_pod(), _crashing(until=12)).rows

    assert words(rows) == ["START", "EXIT 1", "RESTART 1", "EXIT 1", "BACK-OFF 10s"]


def test_another_end_of_an_instance_ends_a_fold() -> None:
    lives = (*CRASHES_AT_ONCE * 3, InstanceBehavior(timedelta(seconds=1), exit_code=2))
    bench = EngineBench(a_pod(), lives={"app": lives})
    bench.run_until(120)

    shown = [
        word
        for word in words(story_of(a_pod(), bench.journal).rows)
        if word.startswith("EXIT")
    ]

    assert shown == ["EXIT 1 ×2", "EXIT 1", "EXIT 2", "EXIT 2"]


def _crashing(until: float) -> list[JournalEntry]:
    bench = EngineBench(a_pod(), lives={"app": CRASHES_AT_ONCE})
    bench.run_until(until)
    return list(bench.journal)


def test_readiness_that_flaps_is_one_row_but_for_the_last_time() -> None:
    pod = a_pod(
        a_container(readiness_probe=a_probe(period_seconds=5, failure_threshold=1))
    )
    answers = in_turn(*(SUCCEEDS, FAILS) * 4, SUCCEEDS)
    bench = EngineBench(pod, probing=probing(readiness=answers))
    bench.run_until(60)

    rows = story_of(pod, bench.journal).rows

    assert words(rows) == ["START", "READY", "FLAPS ×3", "✗ 1/1", "NOT READY", "READY"]
    assert (
        texts_of(rows)[2][1] == "every ~5s, not ready: Readiness probe failed: not well"
    )


_LOOKUP_FAILED = (
    'Get "https://registry.example.test/v2/": dial tcp: lookup registry.example.test '
    "on 10.0.0.2:53: no such host"
)


def a_pull_event(number: int, reason: str, message: str) -> EventEntry:
    kind = EventType.WARNING if reason == "Failed" else EventType.NORMAL
    at = START + timedelta(seconds=number)
    event = Event(kind, reason, message, "uid-of-web", "", at, "app")
    return EventEntry(number, at, event)


def failing_pulls(times: int) -> list[EventEntry]:
    events = [
        ("Pulling", 'Pulling image "x"'),
        ("Failed", f'Failed to pull image "x": {_LOOKUP_FAILED}'),
        ("Failed", "Error: ErrImagePull"),
        ("BackOff", 'Back-off pulling image "x"'),
        ("Failed", "Error: ImagePullBackOff"),
    ] * times
    return [a_pull_event(number, *event) for number, event in enumerate(events, 1)]


def test_pulls_that_fail_are_one_row_with_the_last_time_and_the_cause() -> None:
    (row,) = story_of(a_pod(), failing_pulls(309)).rows

    assert texts_of([row]) == [
        ("PULL ×309", "registry.example.test: no such host"),
    ]
    assert row.at == START + timedelta(seconds=5 * 309)
    assert len(row.parts) == 5 * 309


def test_the_row_of_failed_pulls_says_when_the_next_one_is() -> None:
    (row,) = story_of(a_pod(), failing_pulls(1)).rows

    said = text_of(row.message_cell(VIEW, next_pull_at=VIEW.now + timedelta(seconds=8)))

    assert said.endswith("no such host; next try in 8.0s to 24s")


def test_a_pull_that_succeeds_ends_the_row_of_those_that_failed() -> None:
    pulled = a_pull_event(100, "Pulled", 'Successfully pulled image "x"')
    again = replace(failing_pulls(1)[1], sequence=101)

    rows = story_of(a_pod(), [*failing_pulls(2), pulled, again]).rows

    assert words(rows) == ["PULL ×2", "PULL"]


def test_a_row_that_recurs_moves_below_what_came_meanwhile() -> None:
    meanwhile = UserEntry(6, START, "pause", "probes")

    rows = story_of(a_pod(), [*failing_pulls(1), meanwhile]).rows
    moved = story_of(
        a_pod(),
        [
            *failing_pulls(1),
            meanwhile,
            a_pull_event(7, "BackOff", 'Back-off pulling image "x"'),
        ],
    ).rows

    assert words(rows) == ["PULL", "pause"]
    assert words(moved) == ["pause", "PULL"]


@pytest.mark.parametrize(
    ("detail", "message"),
    [
        pytest.param("exit 1", "Liveness probe failed: exit 1, no output", id="exec"),
        pytest.param("", "Liveness probe failed", id="not known"),
    ],
)
def test_a_failure_without_output_says_how_the_command_ended(
    detail: str, message: str
) -> None:
    silent = ProbeAnswer(Attempt(ProbeResult.FAILURE, detail=detail))

    rows = played(a_failing_pod(), 12, probing=probing(liveness=always(silent)))

    assert texts_of(rows)[1] == ("✗ 1/3  2/3", message)
