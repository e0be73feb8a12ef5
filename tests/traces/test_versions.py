"""The engine with the rules of a version behaves as a recorded kubelet of that version.

All traces of the folder and of its subfolders are tested, of whichever version.
`candidate_runs` has their random conditions.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probetui.kubelet.config import KubeletConfig
from tests.traces.candidate_runs import (
    AGE_AFTER_START,
    differences,
    fewest_differences,
    is_late_run,
    late_candidate_runs,
)
from tests.traces.shell import NotUnderstoodError
from tests.traces.trace import DATA, OWN_DATA, Trace, all_traces, only_own
from tests.traces.virtual import simulate

TRACES = all_traces()
OWN = all_traces(OWN_DATA)
LATE_1_32 = "1.20-dockershim"
LATE = "late"
"""Recordings of machines that were late; see `tests.traces.machine_pace`."""


@pytest.mark.parametrize("name", TRACES)
def test_the_engine_follows_the_recorded_kubelet(name: str) -> None:
    try:
        found = fewest_differences(TRACES[name])
    except NotUnderstoodError as error:
        if DATA == OWN_DATA:
            raise
        pytest.skip(f"only the tests on engines know what its pod does: {error}")

    assert found == [] or is_late_run(TRACES[name], TRACES.values()), found


Change = Callable[[dict[str, Any]], None]


def _unchanged(_trace: dict[str, Any]) -> None:
    """Do not change a trace."""


def _without(reason: str) -> Change:
    def change(trace: dict[str, Any]) -> None:
        events = trace["events"]
        (first, *_) = [event for event in events if event["reason"] == reason]
        events.remove(first)

    return change


def _with_message(before: str, after: str) -> Change:
    def change(trace: dict[str, Any]) -> None:
        for event in trace["events"]:
            event["message"] = event["message"].replace(before, after)

    return change


def _delayed(seconds: float, since: float) -> Change:
    def change(trace: dict[str, Any]) -> None:
        for record in (*trace["events"], *trace["statuses"]):
            record["t"] += seconds if record["t"] > since else 0

    return change


def _never_ready(trace: dict[str, Any]) -> None:
    for status in trace["statuses"]:
        for container in status.get("containerStatuses", ()):
            container["ready"] = False


def _with_version(version: str) -> Change:
    def change(trace: dict[str, Any]) -> None:
        trace["kubelet"] = version

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "is_same"),
    [
        pytest.param("1.36/http-headers", _unchanged, True, id="1.36, a server"),
        pytest.param("1.36/restart-rules-in", _unchanged, True, id="1.36, a volume"),
        pytest.param("1.20/edit", _unchanged, True, id="1.20, an edit"),
        pytest.param("exec-liveness", _unchanged, True, id="1.32"),
        pytest.param(
            "1.20-dockershim/tcp-unknown-port", _unchanged, True, id="dockershim"
        ),
        pytest.param("1.36/http-headers", _without("Killing"), False, id="no kill"),
        pytest.param(
            "1.36/crashloop",
            _with_message("Container created", "x"),
            False,
            id="a message",
        ),
        pytest.param(
            "1.20/startup-never", _delayed(90, 60), False, id="a late restart"
        ),
        pytest.param("1.36/readiness-flap", _never_ready, False, id="never ready"),
    ],
)
def test_a_trace_of_another_folder_is_compared(
    name: str, change: Change, tmp_path: Path, *, is_same: bool
) -> None:
    packed = OWN_DATA / f"{name}.json.gz"
    text = gzip.decompress(packed.read_bytes()).decode()
    trace = json.loads(text)
    original_name = trace["pod"]["metadata"]["name"]
    trace["pod"]["metadata"]["name"] = "never-seen"
    for event in trace["events"]:
        event["message"] = event["message"].replace(f"{original_name}_", "never-seen_")
    change(trace)
    (tmp_path / "somebody-elses.json").write_text(json.dumps(trace))

    (observation,) = all_traces(tmp_path).values()

    assert (fewest_differences(observation) == []) is is_same


def _copy(folder: Path, name: str, change: Change) -> None:
    """Write a changed trace of the project to a folder."""
    packed = OWN_DATA / "1.36/container-restart-policy.json.gz"
    trace = json.loads(gzip.decompress(packed.read_bytes()))
    change(trace)
    (folder / f"{name}.json").write_text(json.dumps(trace))


def _of_another_pod(trace: dict[str, Any]) -> None:
    trace["pod"]["spec"]["terminationGracePeriodSeconds"] = 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "change", "is_late"),
    [
        pytest.param(_unchanged, _delayed(2.3, 25), True, id="seconds late in one run"),
        pytest.param(_unchanged, _delayed(9, 25), False, id="much later"),
        pytest.param(_unchanged, _without("BackOff"), False, id="another decision"),
        pytest.param(
            _of_another_pod, _delayed(2.3, 25), False, id="the other run of another pod"
        ),
        pytest.param(
            _delayed(2.3, 25), _delayed(2.3, 25), False, id="the other run as late"
        ),
    ],
)
def test_a_run_may_be_late_if_another_run_of_its_pod_was_not(
    other: Change, change: Change, tmp_path: Path, *, is_late: bool
) -> None:
    _copy(tmp_path, "one", change)
    _copy(tmp_path, "other", other)
    traces = all_traces(tmp_path)
    assert fewest_differences(traces["one"]) != []

    assert is_late_run(traces["one"], traces.values()) is is_late


@only_own
def test_there_are_traces_of_each_kubelet() -> None:
    counts: dict[tuple[str, bool], int] = {}
    for trace in TRACES.values():
        kind = trace.version, trace.is_of_docker
        counts[kind] = counts.get(kind, 0) + 1

    assert counts == {
        ("1.32", False): 17,
        ("1.36", False): 50,
        ("1.20", False): 34,
        ("1.20", True): 32,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "is_same"),
    [
        pytest.param(f"{LATE_1_32}/startup-regate", _unchanged, True, id="as recorded"),
        pytest.param(
            f"{LATE_1_32}/startup-regate", _without("Killing"), False, id="no kill"
        ),
        pytest.param(
            f"{LATE_1_32}/oneshot-delete",
            _with_message("liveness", "x"),
            False,
            id="a message",
        ),
        pytest.param(
            f"{LATE_1_32}/exec-missing-binary",
            _delayed(90, 60),
            False,
            id="a late restart",
        ),
        pytest.param(
            f"{LATE_1_32}/readiness-flap", _never_ready, False, id="never ready"
        ),
        pytest.param(
            f"{LATE_1_32}/startup-regate",
            _with_version("v1.36.2"),
            False,
            id="rules of 1.36",
        ),
        pytest.param(f"{LATE}/1.36-startup-regate", _unchanged, True, id="1.36"),
        pytest.param(
            f"{LATE}/1.36-startup-regate",
            _without("Killing"),
            False,
            id="1.36, no kill",
        ),
        pytest.param(
            f"{LATE}/1.36-startup-regate",
            _with_version("v1.20.2"),
            False,
            id="rules of 1.20",
        ),
        pytest.param(
            f"{LATE}/1.36-startup-regate", _never_ready, False, id="1.36, never ready"
        ),
        pytest.param(
            f"{LATE}/1.36-poststart-fail", _without("Killing"), False, id="no stop"
        ),
        pytest.param(
            f"{LATE}/1.36-poststart-fail",
            _without("FailedPostStartHook"),
            False,
            id="no failure of a hook",
        ),
        pytest.param(
            f"{LATE}/1.36-poststart-fail", _delayed(90, 60), False, id="a late back-off"
        ),
        pytest.param(
            f"{LATE}/1.20-delete-liveness-prestop",
            _without("Killing"),
            False,
            id="no kill of a pod",
        ),
    ],
)
def test_a_late_machine_excuses_no_other_decision(
    name: str, change: Change, tmp_path: Path, *, is_same: bool
) -> None:
    recorded = json.loads(gzip.decompress((OWN_DATA / f"{name}.json.gz").read_bytes()))
    change(recorded)
    (tmp_path / "late.json").write_text(json.dumps(recorded))
    (trace,) = all_traces(tmp_path).values()

    found = [differences(trace, candidate) for candidate in late_candidate_runs(trace)]

    assert ([] in found) is is_same


def _probe_messages_of_second_instance(version: str) -> list[str]:
    trace = OWN["1.36/startup-window"]
    config = KubeletConfig(
        version=version, age=AGE_AFTER_START, queues_while_waiting=True
    )
    observation = simulate(trace, config, end=60)
    starts = [event.t for event in observation.events if event.reason == "Started"]
    until = starts[2] if len(starts) > 2 else 60.0
    return [
        event.message
        for event in observation.events
        if starts[1] < event.t < until and "probe" in event.message
    ]


@pytest.mark.parametrize(
    ("version", "is_killed_early"), [("1.32", False), ("1.34", False), ("1.36", True)]
)
def test_a_container_restarted_at_once_counts_as_started_in_the_startup_window(
    version: str, *, is_killed_early: bool
) -> None:
    messages = _probe_messages_of_second_instance(version)

    is_first = messages[0].startswith("Readiness")
    kills = [message for message in messages if "failed liveness" in message]
    assert (is_first and len(kills) == 1) is is_killed_early


@pytest.mark.parametrize(
    ("version", "latest"), [("1.34", 15.5), ("1.35", 5.5), ("1.36", 5.5)]
)
def test_a_back_off_ends_with_its_window_or_at_the_next_retry(
    version: str, latest: float
) -> None:
    trace = OWN["1.36/crashloop"]

    delays = [
        _delay_of_third_start(trace, KubeletConfig(version=version, seed=seed))
        for seed in range(8)
    ]

    assert 0 <= max(delays) <= latest
    assert (max(delays) > latest / 2) or version != "1.34"


def _delay_of_third_start(trace: Trace, config: KubeletConfig) -> float:
    """Return how many seconds after its window of 10 s the third start is."""
    observation = simulate(trace, config, end=60)
    starts = [event.t for event in observation.events if event.reason == "Started"]
    ended_at = starts[1] + 1.0
    return starts[2] - ended_at - 10.0
