"""The observation of a recorded cluster reports what happened."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probetui.cluster.observe.observation import ClusterObservation
from probetui.k8s.event import EventType
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import DEFAULT_VERSION, rules_for_kubelet, rules_of
from probetui.presentation.probe.detail import format_attempt
from probetui.presentation.tick.why import attempt_sentences, source_sentences
from tests.cluster import recording
from tests.cluster.player import Step, shifted, steps
from tests.cluster.recording import END, at
from tests.hostile.api_servers import a_pod
from tests.presentation.looking import VIEW

_STEPS = tuple(step for step in steps() if step.at <= END)


def observe(
    steps: Iterable[Step] = _STEPS,
    *,
    polls_every: int = 1,
    phase: int = 0,
    on_step: Callable[[ClusterObservation, Step], None] = lambda *_: None,
    clock_ahead: timedelta = timedelta(),
) -> tuple[ClusterObservation, list[JournalEntry]]:
    """Observe the recording, with the node's clock ahead by `clock_ahead`."""
    observation = ClusterObservation(at(-20))
    polls = 0
    entries: list[JournalEntry] = []
    for step in steps:
        now = at(step.at)
        observation.check(now)
        if step.kind == "metrics":
            polls += 1
            if polls % polls_every == phase % polls_every:
                observation.record_counters("node1", step.value, now, now)
        else:
            _feed_step(observation, step, now, clock_ahead)
        on_step(observation, step)
        entries += observation.take_entries()
    return observation, entries


def _feed_step(
    observation: ClusterObservation, step: Step, now: datetime, ahead: timedelta
) -> None:
    value: dict[str, Any] = step.value["object"]
    value = shifted(value, ahead) if ahead else value
    if step.kind == "events":
        observation.record_event(value, now)
    elif step.value["type"] == "DELETED":
        observation.remove_pod(value["metadata"]["uid"], now)
    else:
        observation.set_pod(value, now)


def _faults(entries: Iterable[JournalEntry]) -> list[str]:
    return [it.text for it in entries if isinstance(it, NoteEntry) and it.is_fault]


def _kills_by_log() -> int:
    """Return how many kills for probes the kubelet's log has."""
    return sum(
        line["reason"] == "Killing" and "failed liveness" in line["message"]
        for line in recording.lines("truth-events")
        if line["t"] <= END
    )


@pytest.mark.parametrize("every", [1, 2], ids=["each 0.5s", "each second"])
def test_every_kill_is_foretold_and_no_note_says_what_agrees(every: int) -> None:
    _, entries = observe(polls_every=every)

    kills = [
        it
        for it in entries
        if isinstance(it, ContainerEntry) and it.what is LifecycleStep.STOPPING
    ]
    by_probes = [it for it in kills if it.by is ExitCause.LIVENESS]
    foretold = [
        it
        for it in entries
        if isinstance(it, TickEntry) and it.action is TickAction.KILL
    ]
    missing = _kills_by_log() - len(foretold)
    assert _faults(entries) == []
    assert len(by_probes) <= _kills_by_log()
    assert 0 <= missing <= 3  # not all of the last seconds is reported yet
    assert not [
        it
        for it in entries
        if isinstance(it, NoteEntry) and "should have been" in it.text
    ]


def test_every_instance_is_reported_once_with_its_exit() -> None:
    _, entries = observe()

    container_entries = [it for it in entries if isinstance(it, ContainerEntry)]
    starts = Counter(
        it.container_id for it in container_entries if it.what is LifecycleStep.STARTED
    )
    ends = Counter(
        it.container_id for it in container_entries if it.what is LifecycleStep.EXITED
    )
    assert set(starts.values()) == {1}
    assert set(ends.values()) == {1}
    logged = sum(
        line["reason"] == "Started" and line["t"] <= END - 1
        for line in recording.lines("truth-events")
    )
    assert len(starts) >= logged - 3  # some run for less than a status takes


def test_the_header_counts_the_warnings_that_the_log_has() -> None:
    observation, entries = observe()

    warnings = [
        entry
        for entry in entries
        if isinstance(entry, EventEntry) and entry.event.type is EventType.WARNING
    ]
    assert observation.snapshot(at(END)).faults == len(warnings) > 0


def test_an_instance_ends_before_the_next_one_is_started() -> None:
    _, entries = observe()

    observed_order: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        match entry:
            case ContainerEntry(what=LifecycleStep.EXITED, by=ExitCause.LIVENESS):
                key = entry.pod_uid, entry.container_name
                observed_order.setdefault(key, []).append("end")
            case EventEntry(event=event) if event.reason == "Started":
                key = event.pod_uid, event.container_name
                observed_order.setdefault(key, []).append("start")
    killed = [events for events in observed_order.values() if "end" in events]
    assert killed
    assert [events for events in killed if ("start", "start") in pairwise(events)] == []


def _as_in_1_15(step: Step) -> Step:
    """Return a step whose statuses say `Back-off 10s`, as kubelets did until 1.15."""
    text = json.dumps(step.value).replace(
        '"message": "back-off', '"message": "Back-off'
    )
    return step._replace(value=json.loads(text))


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(_STEPS, id="back-off"),
        pytest.param(
            [it if it.kind == "metrics" else _as_in_1_15(it) for it in _STEPS],
            id="Back-off",
        ),
    ],
)
def test_back_off_is_that_of_the_status_from_the_end_of_the_instance(
    steps: Sequence[Step],
) -> None:
    _, entries = observe(steps)

    crashes = [it for it in entries if isinstance(it, BackoffEntry)]

    assert {it.window.total_seconds() for it in crashes} >= {10, 20, 40, 80}
    assert all(it.until == (it.since or at(0)) + it.window for it in crashes)


def test_ticks_are_those_of_the_log() -> None:
    _, entries = observe()

    ticks = [it for it in entries if isinstance(it, TickEntry)]
    for key, true in recording.true_ticks().items():
        mine = [it.result for it in ticks if it.key == key and it.result is not None]
        theirs = [it.result for it in true if it.result is not None]
        is_ordered = all(
            len(it.gates) == 1
            for it in ticks
            if it.key == key  # else order unknown
        )
        if is_ordered:
            assert mine == theirs[: len(mine)]
        assert len(theirs) - len(mine) <= 3


def test_without_counters_the_result_run_is_a_bound_from_failures() -> None:
    def lose(observation: ClusterObservation, step: Step) -> None:
        if step.kind == "pods":
            observation.lose_counters("node1", "not allowed", at(step.at))

    steps_without_metrics = [step for step in _STEPS if step.kind != "metrics"]

    observation, entries = observe(steps_without_metrics, on_step=lose)

    results = {it.result for it in entries if isinstance(it, TickEntry)}
    assert results == {Result.FAILURE, None}
    probes = [
        probe
        for pod in observation.snapshot(at(END)).pods
        for container in pod.containers
        for probe in container.probes
    ]
    assert all("not allowed" in probe.run_doubt for probe in probes)
    later = observation.snapshot(at(END + 60)).pods
    assert not any(
        probe.result_run
        for pod in later
        for container in pod.containers
        for probe in container.probes
    )


_SHORT = tuple(step for step in _STEPS if step.at < 90)


@pytest.mark.sweep
@settings(max_examples=15, deadline=None)
@given(phase=st.integers(0, 2), seed=st.integers(0, 10**6), lost=st.floats(0, 1))
def test_lost_or_late_input_causes_no_false_report(
    phase: int, seed: int, lost: float
) -> None:
    chance = random.Random(seed)
    received = [it for it in _SHORT if it.kind != "events" or chance.random() >= lost]

    _, entries = observe(received, polls_every=2, phase=phase)

    assert _faults(entries) == []


def test_a_kubelet_restart_is_noted_and_result_runs_start_again() -> None:
    reset = 40.0

    def renamed(step: Step) -> Step:
        """Count from zero after the restart."""
        if step.kind != "metrics" or step.at < reset:
            return step
        before = dict(_series(_at_reset))
        text = "".join(
            f"{name} {value - before.get(name, 0)}\n"
            for name, value in _series(step.value)
            if value > before.get(name, 0)
        )
        return Step(step.at, "metrics", text.encode())

    _at_reset = next(
        it.value for it in reversed(_SHORT) if it.kind == "metrics" and it.at < reset
    )

    _, entries = observe([renamed(step) for step in _SHORT])

    (restart,) = [text for text in _faults(entries) if "has restarted" in text]
    assert "node1" in restart


def _series(text: bytes) -> list[tuple[str, float]]:
    return [
        (name, float(value))
        for line in text.decode().splitlines()
        for name, _, value in [line.rpartition(" ")]
    ]


def test_a_name_with_a_new_uid_is_another_pod() -> None:
    observation = ClusterObservation(at(0))
    (first,) = [
        it.value["object"]
        for it in _STEPS
        if it.kind == "pods"
        and it.value["object"]["metadata"]["name"] == "exec-liveness"
        and it.value["type"] == "ADDED"
    ]
    second = {**first, "metadata": {**first["metadata"], "uid": "another"}}

    observation.set_pod(first, at(1), is_news=False)
    uid = observation.set_pod(second, at(2), is_news=False)
    observation.keep_pods({uid}, at(2))

    (pod,) = observation.snapshot(at(3)).pods
    assert pod.pod.uid == "another"
    assert not any(probe.ticks for it in pod.containers for probe in it.probes)


def test_what_comes_is_foretold_by_the_kubelets_that_most_pods_have() -> None:
    observation, _ = observe(_SHORT)
    assert observation.snapshot(at(0)).rules == rules_of(DEFAULT_VERSION)

    observation.set_rules("node1", rules_of("1.28"), at(0))

    assert observation.snapshot(at(0)).rules == rules_of("1.28")
    assert observation.take_entries() == ()


def test_kubelets_of_several_versions_are_reported_once() -> None:
    observation, _ = observe(_SHORT)
    for node, version in [
        ("node1", "1.36"),
        ("a", "1.9"),
        ("b", "1.30"),
        ("c", "1.30"),
    ]:
        observation.set_rules(node, rules_for_kubelet(f"v{version}.0"), at(0))

    notes = [it.text for it in observation.take_entries() if isinstance(it, NoteEntry)]
    assert [text.partition(":")[0] for text in notes] == [
        "the nodes have kubelets of 1.15, 1.36",
        "the nodes have kubelets of 1.15, 1.30, 1.36",
    ]


@pytest.mark.sweep
@pytest.mark.parametrize("seconds", [-3600, -4, 4, 3600])
def test_a_node_whose_clock_is_apart_is_understood_all_the_same(seconds: int) -> None:
    _, entries = observe(_SHORT, clock_ahead=timedelta(seconds=seconds))
    _, expected = observe(_SHORT)

    assert _faults(entries) == []
    assert _causes(entries) == _causes(expected)
    starts = _starts(entries)
    for container_id, instant in _starts(expected).items():
        assert abs(starts[container_id] - instant) <= timedelta(seconds=2)


def _causes(
    entries: Iterable[JournalEntry],
) -> dict[tuple[str, str], list[ExitCause | None]]:
    """Return the cause of each step of each container, in order."""
    found: dict[tuple[str, str], list[ExitCause | None]] = {}
    for it in entries:
        if isinstance(it, ContainerEntry):
            found.setdefault((it.pod_uid, it.container_name), []).append(it.by)
    return found


def _starts(entries: Iterable[JournalEntry]) -> dict[str, datetime]:
    """Return the starts after the node's clock was known."""
    return {
        it.container_id: it.at
        for it in entries
        if isinstance(it, ContainerEntry)
        and it.what is LifecycleStep.STARTED
        and it.restart_count > 0
    }


@pytest.mark.parametrize(
    "json",
    [
        pytest.param({}, id="empty"),
        pytest.param({"metadata": "x"}, id="metadata"),
        pytest.param({"metadata": {"name": "\x1b[31m"}, "spec": 3}, id="spec"),
        pytest.param(
            {"metadata": {}, "spec": {}, "status": {"phase": "?"}}, id="phase"
        ),
    ],
)
def test_what_is_no_pod_is_a_note(json: dict[str, Any]) -> None:
    observation = ClusterObservation(at(0))

    observation.set_pod(json, at(1), is_news=False)
    observation.record_event(json, at(1))

    assert all(pod.pod.name == "" for pod in observation.snapshot(at(2)).pods)


def test_a_probe_names_the_source_of_its_results() -> None:
    _, entries = observe(_SHORT)

    tick = next(
        it
        for it in reversed(entries)
        if isinstance(it, TickEntry) and it.key.probe_type is ProbeType.LIVENESS
    )

    assert tick.gates[0].name == "source"
    assert tick.gates[0].value.startswith(("counters, between", "event, "))


def test_why_names_the_source_of_a_tick_and_what_is_unknown() -> None:
    observation, entries = observe(_SHORT)
    kill = next(
        it
        for it in entries
        if isinstance(it, TickEntry) and it.action is TickAction.KILL
    )

    words = "\n".join(attempt_sentences(kill, VIEW))
    whole = "\n".join(source_sentences(kill, VIEW))

    assert words.startswith("The probe failed")
    assert format_attempt(kill.attempts[-1], VIEW) == "failure"
    assert "after 0" not in words
    assert "Known from the kubelet's counters, between " in whole
    assert "cannot be known from outside" in whole
    assert observation.snapshot(at(90)).restarts > 0


def test_an_image_that_is_changed_is_shown() -> None:
    observation, _ = observe()

    (image,) = {
        container.container.image
        for pod in observation.snapshot(at(END)).pods
        if pod.pod.name == "image-patch"
        for container in pod.containers
    }

    assert image.endswith("-b")


def test_events_of_pods_that_are_not_meant_do_not_pile_up() -> None:
    observation = ClusterObservation(at(0))
    for number in range(3_000):
        about = {"kind": "Pod", "uid": f"u{number}", "name": "x"}
        event = {
            "involvedObject": about,
            "reason": "Started",
            "message": "Container started",
            "lastTimestamp": "2026-11-23T01:03:40Z",
        }
        observation.record_event(event, at(1))

    waiting = observation._waiting_events
    kept = [number for number in range(3_000) if waiting.remove(f"u{number}")]
    assert kept == list(range(2_000, 3_000))


def test_long_events_of_pods_that_are_not_meant_do_not_pile_up() -> None:
    observation = ClusterObservation(at(0))
    for number in range(900):
        event = {
            "involvedObject": {"kind": "Pod", "uid": f"u{number}", "name": "x"},
            "reason": "Started",
            "message": "x" * 2**20,
            "lastTimestamp": "2026-11-23T01:03:40Z",
        }
        observation.record_event(event, at(1))

    waiting = observation._waiting_events
    kept = [seen for number in range(900) for seen in waiting.remove(f"u{number}")]
    assert 400 < len(kept) < 512
    assert {len(seen.event.message) for seen in kept} == {2**14}


def test_pods_without_an_end_are_left_out_with_one_note() -> None:
    observation = ClusterObservation(at(0))
    labels = {f"label-{number}": "x" * 100 for number in range(10_000)}
    for number in range(100):
        pod = a_pod(number, labels=labels)
        observation.set_pod(pod, at(1))
    shown = len(observation.snapshot(at(2)).pods)
    observation.keep_pods({"uid-web-1"}, at(3))
    observation.set_pod(a_pod(1_000), at(4))

    notes = [
        entry.text
        for entry in observation.take_entries()
        if isinstance(entry, NoteEntry) and "too many pods" in entry.text
    ]
    assert 10 < shown < 100
    assert len(notes) == 1
    assert len(observation.snapshot(at(5)).pods) == 2
