"""The event log of a recorded cluster's pods has the same rows as that of `run`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from probetui.cluster.observe.observation import ClusterObservation
from probetui.kubelet.journal import ContainerEntry, EventEntry, JournalEntry
from probetui.presentation.events.log import EventLog
from probetui.presentation.events.story import Story, StoryRow, in_full
from tests.cluster.observe.test_observation import observe
from tests.cluster.player import Step, steps
from tests.cluster.recording import END, at
from tests.presentation.looking import RULES, VIEW


def _rows(
    observation: ClusterObservation,
    entries: Iterable[JournalEntry],
    pod: str,
    *,
    only_events: bool = False,
) -> list[StoryRow]:
    pods = {it.pod.uid: it.pod for it in observation.snapshot(at(END)).pods}
    names = {uid: pod.name for uid, pod in pods.items()}
    log, story = EventLog(RULES), Story()
    for entry in entries:
        found = log.add_entry(entry, names, pods)
        if found is None or found.is_state or not found.object.startswith(f"{pod}/"):
            continue
        if found.is_cluster_event or not only_events:
            story.extend([found])
    return list(in_full(story.rows))


def _cells(rows: Iterable[StoryRow]) -> list[tuple[str, str]]:
    return [
        (
            "".join(span.text for span in row.event_cell(VIEW, 18)),
            "".join(span.text for span in row.message_cell(VIEW)),
        )
        for row in rows
    ]


_FAILED = (
    "Liveness probe failed: cat: can't open '/tmp/healthy': No such file or directory"
)
_KILLED = "liveness failed 3/3; SIGTERM, SIGKILL in 3s (grace of the pod)"
_ENDED = "SIGKILL after 3s grace, not OOM"


def test_failures_are_one_row_and_kill_exit_restart_follow_it() -> None:
    cells = _cells(_rows(*observe(), "exec-liveness"))

    assert cells[:9] == [
        ("START", "Container started"),
        ("✗ 1/3  2/3  3/3", _FAILED),
        ("KILL", _KILLED),
        ("EXIT 137", _ENDED),
        ("RESTART 1", "no wait: 0s after the exit"),
        ("✗ 1/3  2/3  3/3", _FAILED),
        ("KILL", _KILLED),
        ("EXIT 137", _ENDED),
        ("RESTART 2", "no wait: 1s after the exit"),
    ]


def test_a_back_off_has_its_row_between_exit_and_restart() -> None:
    words = [word for word, _ in _cells(_rows(*observe(), "probe-grace"))]

    first = words.index("BACK-OFF 10s")
    assert words[first - 3 : first + 2] == [
        "✗ 1/2  2/2",
        "KILL",
        "EXIT 137",
        "BACK-OFF 10s",
        "RESTART 3",
    ]


def test_failures_and_kills_of_which_no_event_was_stored_have_rows_too() -> None:
    observation, entries = observe()

    rows = _rows(observation, entries, "startup-regate")

    cells = _cells(rows)
    dropped = next(
        index
        for index, row in enumerate(rows)
        if cells[index] == ("✗ 1/2  2/2", "Liveness probe failed")
        and not any(shown.is_cluster_event for shown in row.lines)
    )
    assert cells[dropped + 1][0] == "KILL"
    assert cells[dropped + 2][0] == "EXIT 137"


def test_results_that_change_readiness_or_startup_have_rows() -> None:
    cells = _cells(_rows(*observe(), "startup-regate"))

    assert ("STARTED", "startup succeeded 1/1") in cells
    ready = (
        "readiness succeeded 1/1: in the endpoints of the Services that select the pod"
    )
    assert ("READY", ready) in cells


def test_without_counters_a_result_run_has_the_same_counts() -> None:
    rows = _rows(*observe(), "exec-liveness", only_events=True)

    assert ("✗ 1/3  2/3  3/3", _FAILED) in _cells(rows)


def test_without_counters_a_run_is_a_bound_in_one_row() -> None:
    def lose(observation: ClusterObservation, step: Step) -> None:
        if step.kind == "pods":
            observation.lose_counters("node1", "not allowed", at(step.at))

    steps_without_metrics = [
        it for it in steps() if it.at <= END and it.kind != "metrics"
    ]
    cells = _cells(
        _rows(*observe(steps_without_metrics, on_step=lose), "exec-liveness")
    )

    assert cells[1][0] == "✗ >=1/3 .. 3/3"
    assert cells[2][0] == "KILL"


@pytest.mark.sweep
@pytest.mark.parametrize("polls_every", [1, 2, 3])
def test_an_event_is_reported_once_even_if_it_waits(polls_every: int) -> None:
    assert _counts_of_entries(*observe(polls_every=polls_every)) == _counts_of_entries(
        *observe()
    )


def _counts_of_entries(
    observation: ClusterObservation, entries: list[JournalEntry]
) -> tuple[int, int]:
    """Return the numbers of events and steps, including those that still wait."""
    observation.check(at(END + 60))
    all_entries = [*entries, *observation.take_entries()]
    events = sum(isinstance(entry, EventEntry) for entry in all_entries)
    return events, sum(isinstance(entry, ContainerEntry) for entry in all_entries)
