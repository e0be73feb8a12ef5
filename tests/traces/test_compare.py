"""The comparison reports every relevant change of a trace, and nothing else."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance.observation import Observation
from tests.traces.changes import (
    Change,
    both,
    containers,
    cut,
    dropped,
    duplicated,
    event,
    moved,
    probe_at_the_end,
    status,
    stretched,
    with_fields,
)
from tests.traces.compare import Difference, compare
from tests.traces.instances import Instance, split_instances
from tests.traces.restarts import active_until, broken_rules
from tests.traces.trace import OWN_DATA, Trace, all_traces, load_traces, only_own

ERRORED = "Liveness probe errored: the container does not run"

TRACES = load_traces()
OWN = load_traces(OWN_DATA)


def changed(name: str, change: Change) -> list[Difference]:
    """Compare a trace of this project with a changed copy."""
    trace = OWN[name]
    other = copy.deepcopy(trace.observation)
    change(other)
    return compare(trace, other)


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_equals_itself(name: str) -> None:
    assert compare(TRACES[name], TRACES[name].observation) == []


@only_own
@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        pytest.param(
            "exec-liveness",
            with_fields(event("Killing"), message="Stopping container liveness"),
            "where the kubelet has Killing 'Container liveness failed",
            id="another message",
        ),
        pytest.param(
            "exec-liveness",
            with_fields(event("Killing"), type="Warning"),
            "where the kubelet has Killing",
            id="another type",
        ),
        pytest.param(
            "exec-liveness",
            dropped(event("Killing", 1)),
            "lacks Killing",
            id="no kill",
        ),
        pytest.param(
            "exec-liveness",
            dropped(event("Unhealthy", 2)),
            "x2, the kubelet has Unhealthy",
            id="a kill after two failures instead of three",
        ),
        pytest.param(
            "startup-never",
            duplicated(event("Unhealthy", 0), 0.5),
            "x4, the kubelet has Unhealthy",
            id="a kill after four failures instead of three",
        ),
        pytest.param(
            "never-liveness",
            dropped(event("Unhealthy", 0)),
            "x1, the kubelet has Unhealthy",
            id="one failure instead of two before a pod is stopped",
        ),
        pytest.param(
            "http-redirect",
            both(dropped(event("ProbeWarning")), dropped(event("ProbeWarning"))),
            "is at +9.7, the kubelet's at +3.7",
            id="a first result more than a period late",
        ),
        pytest.param(
            "http-redirect",
            moved(5.1, 3.5),
            "pod: seen 7.4 s after the first start, not 3.9 s",
            id="a late first look",
        ),
        pytest.param(
            "startup-slow",
            cut(20),
            "x7, the kubelet has Unhealthy",
            id="results that stop too early",
        ),
        pytest.param(
            "readiness-flap",
            moved(100, 4.5),
            "is at +",
            id="all of it later from some time on",
        ),
        pytest.param(
            "prestop-grace",
            moved(15, -2.5),
            "its end is noticed",
            id="a container that is killed before its time",
        ),
        pytest.param(
            "crashloop",
            moved(7.1, 2.5),
            "its end is noticed",
            id="an end that is noticed late",
        ),
        pytest.param(
            "crashloop",
            moved(21, -6),
            "instance 2 begins at 15.3, due 15.7 to",
            id="a window that is too short",
        ),
        pytest.param(
            "crashloop",
            moved(21, 30),
            "instance 2 begins at 51.3, due 15.7 to",
            id="a window that is too long",
        ),
        pytest.param(
            "crashloop",
            cut(22),
            "app, instance 2: nothing comes of its end",
            id="an end that is not noticed",
        ),
        pytest.param(
            "crashloop",
            cut(25),
            "app: instance 2 has no next one, due by 60.8",
            id="no restart",
        ),
        pytest.param(
            "image-missing",
            moved(41, -8),
            "pull 2 at 33.3, due 38.3",
            id="a pull too early",
        ),
        pytest.param(
            "image-missing",
            cut(170),
            "pull 3 has no next one",
            id="no more pulls",
        ),
        pytest.param(
            "image-never",
            cut(100),
            "silent from 98.3 to",
            id="nothing is tried any more",
        ),
        pytest.param(
            "init-then-main",
            moved(9, 3),
            "started 6.0 s after setup2, not 3.0 s",
            id="a container after its init containers, but late",
        ),
        pytest.param(
            "init-then-main",
            with_fields(event("Started", 2), t=1.0),
            "pod: started ['main', 'setup', 'setup2']",
            id="a container before its init containers",
        ),
        pytest.param(
            "oneshot-delete",
            with_fields(event("Killing"), t=63.0),
            "is at",
            id="a pod that is stopped late",
        ),
        pytest.param(
            "http-redirect",
            stretched(1.1),
            "is every 3.3 s, the kubelet's every 3.0 s",
            id="a period that is too long",
        ),
        pytest.param(
            "crashloop",
            both(probe_at_the_end(6.2, ERRORED), probe_at_the_end(6.3, ERRORED)),
            "has Unhealthy 'Liveness probe errored",
            id="more than one error of a probe at an end",
        ),
        pytest.param(
            "onfailure-success",
            duplicated(event("Started"), 9),
            "which the kubelet has not",
            id="an event too many",
        ),
        pytest.param(
            "onfailure-success",
            with_fields(event("Started"), container=None),
            "pod: has Started",
            id="an event of no container",
        ),
        pytest.param(
            "onfailure-success",
            lambda observation: observation.events.clear(),
            "app: has no events",
            id="no events",
        ),
        pytest.param(
            "crashloop",
            containers(-1, last_state={"terminated": {"exitCode": 4}}),
            "terminated 4",
            id="another exit code",
        ),
        pytest.param(
            "exec-liveness",
            containers(3, started=False),
            "where the kubelet has Running",
            id="a container that has not started up",
        ),
        pytest.param(
            "readiness-flap",
            containers(5, ready=True),
            "where the kubelet has Running",
            id="a container that stays ready",
        ),
        pytest.param(
            "exec-liveness",
            containers(4, restart_count=1),
            "no status shows instance 2",
            id="a restart that is not counted",
        ),
        pytest.param(
            "never-liveness",
            status(-1, phase="Running"),
            "where the kubelet has Failed",
            id="another last phase",
        ),
        pytest.param(
            "never-liveness",
            cut(9),
            "has nothing more",
            id="no last status",
        ),
        pytest.param(
            "init-then-main",
            status(-1, conditions=[]),
            "no condition",
            id="conditions that are not met",
        ),
        pytest.param(
            "startup-slow",
            status(-1, t=40.0),
            "where the kubelet has Running",
            id="a status too late",
        ),
    ],
)
def test_a_change_is_reported(name: str, change: Change, text: str) -> None:
    found = changed(name, change)

    assert any(text in str(difference) for difference in found), [*map(str, found)]
    assert not all(difference.is_chance for difference in found)


@only_own
@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("crashloop", dropped(event("BackOff", 1)), id="fewer retries"),
        pytest.param("crashloop", moved(21, 1.2), id="a retry a little later"),
        pytest.param(
            "image-never",
            duplicated(event("ErrImageNeverPull", 3), 5),
            id="more attempts",
        ),
        pytest.param(
            "readiness-flap",
            dropped(event("Unhealthy", 5)),
            id="a failure less where no threshold counts",
        ),
        pytest.param(
            "image-missing",
            with_fields(
                event("Failed"),
                message='Failed to pull image "127.0.0.1:9/none:1": in other words',
            ),
            id="a pull error in the runtime's words",
        ),
        pytest.param(
            "exec-missing-binary",
            with_fields(
                event("Unhealthy"), message="Liveness probe errored: no such file"
            ),
            id="an exec error in the runtime's words",
        ),
        pytest.param("exec-liveness", status(3, t=49.6), id="a status a second late"),
        pytest.param(
            "onfailure-success",
            moved(0, 20),
            id="all of it later, from the beginning on",
        ),
    ],
)
def test_random_and_runtime_dependent_changes_are_ignored(
    name: str, change: Change
) -> None:
    assert changed(name, change) == []


@only_own
@pytest.mark.parametrize(
    ("message", "text"),
    [
        pytest.param(ERRORED, "Liveness probe errored: …", id="an error"),
        pytest.param(
            "Liveness probe failed: ", "Liveness probe failed: ", id="not a word"
        ),
    ],
)
def test_a_probe_during_the_end_of_its_container_differs_by_chance(
    message: str, text: str
) -> None:
    found = changed("crashloop", probe_at_the_end(6.3, message))

    assert [str(difference) for difference in found] == [
        f"app, instance 1: has Unhealthy {text!r} x1 at its end (by chance)"
    ]


@only_own
@pytest.mark.parametrize(
    ("delayed", "is_noticed"),
    [
        pytest.param(0.1, False, id="before its first command"),
        pytest.param(1.5, True, id="later"),
    ],
)
def test_a_probe_before_its_container_is_up_is_ignored(
    delayed: float, *, is_noticed: bool
) -> None:
    started = next(
        event.t
        for event in OWN["readiness-flap"].observation.events
        if event.reason == "Started"
    )

    found = changed(
        "readiness-flap",
        probe_at_the_end(started + delayed, "Readiness probe failed: "),
    )

    assert bool(found) is is_noticed


@only_own
def test_a_late_machine_may_create_containers_slowly() -> None:
    trace = OWN["exec-liveness"]
    ours = copy.deepcopy(trace.observation)
    pending, running = ours.statuses[1:3]
    has_sandbox = [
        replace(one, status="True") if one.type == "PodReadyToStartContainers" else one
        for one in pending.conditions
    ]
    later = replace(pending, t=running.t - 3, conditions=has_sandbox)
    ours.statuses.insert(2, later)

    assert "waiting ContainerCreating" in str(compare(trace, ours)[0])
    assert compare(trace, ours, slack=5) == []


@only_own
def test_the_time_of_a_sync_during_back_off_is_random() -> None:
    trace = all_traces(OWN_DATA)["1.36/container-restart-policy"]
    ours = copy.deepcopy(trace.observation)
    index, waiting = next(
        (index, status)
        for index, status in enumerate(ours.statuses)
        if status.t > 170 and any(view.is_waiting for view in status.containers)
    )

    ours.statuses[index] = replace(waiting, t=waiting.t + 9)
    assert compare(trace, ours) == []
    ours.statuses[index] = replace(waiting, t=waiting.t - 60)
    assert "waiting CrashLoopBackOff" in str(compare(trace, ours)[0])


@only_own
def test_a_probe_failure_with_output_is_no_chance() -> None:
    found = changed("crashloop", probe_at_the_end(6.3, "Liveness probe failed: no"))

    assert not all(difference.is_chance for difference in found)


@only_own
def test_a_start_without_wait_after_a_later_retry_is_by_chance() -> None:
    # Four seconds later, the 40 s since the end that counts are over.
    def change(observation: Observation) -> None:
        moved(75, 4.5)(observation)
        observation.events[:] = [
            event
            for event in observation.events
            if event.reason != "BackOff" or not 87 < event.t < 133
        ]
        moved(133, -42.2)(observation)

    found = [
        difference
        for difference in changed("prestop-grace", change)
        if difference.is_chance
    ]

    assert [difference.where for difference in found] == ["app, instance 4"]


@pytest.mark.parametrize("name", TRACES)
def test_the_kubelet_keeps_the_rule_of_back_off(name: str) -> None:
    trace = TRACES[name]
    if trace.is_of_another_version:
        pytest.skip(f"kubelet {trace.version} has rules of its own")
    broken = [
        rule
        for container, period in trace.periods.items()
        for rule in broken_rules(
            _instances(trace, container, period), active_until(trace.observation)
        )
    ]

    assert broken == []


def _instances(trace: Trace, container: str, period: int) -> list[Instance]:
    events = (
        event for event in trace.observation.events if event.container == container
    )
    found = split_instances(events, period)
    return [instance for instance in found if instance.started_at is not None]


class TestAPodThatEndsForGood:
    """A container that failed before the others began, and a deadline."""

    def trace(self, tmp_path: Path) -> Trace:
        message = "Pod was active on the node longer than the specified deadline"
        started = {"type": "Normal", "reason": "Started", "message": "m"}
        deadline = {"type": "Normal", "reason": "DeadlineExceeded", "message": message}
        setup = {"name": "setup", "restartCount": 0, "state": {}, "ready": False}
        content = {
            "pod": {
                "metadata": {"name": "ends"},
                "spec": {
                    "initContainers": [{"name": "setup"}],
                    "containers": [{"name": "app"}],
                },
            },
            "events": [
                {**started, "t": 1.5, "fieldPath": "spec.initContainers{setup}"},
                {**deadline, "t": 20.0, "fieldPath": ""},
                {**deadline, "t": 21.0, "fieldPath": ""},
            ],
            "statuses": [
                {"t": 2.0, "phase": "Pending", "containerStatuses": [setup]},
                {"t": 21.0, "phase": "Failed", "containerStatuses": [setup]},
            ],
        }
        (tmp_path / "ends.json").write_text(json.dumps(content))
        return load_traces(tmp_path)["ends"]

    def test_the_trace_equals_itself(self, tmp_path: Path) -> None:
        trace = self.trace(tmp_path)

        assert compare(trace, trace.observation) == []

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            pytest.param(
                both(
                    dropped(event("DeadlineExceeded")),
                    dropped(event("DeadlineExceeded")),
                ),
                "pod: lacks DeadlineExceeded",
                id="no event of the pod",
            ),
            pytest.param(
                with_fields(event("DeadlineExceeded"), t=9.0),
                "is at +7.5, the kubelet's at +18.5",
                id="too early",
            ),
            pytest.param(
                with_fields(event("DeadlineExceeded"), message="another"),
                "pod: has DeadlineExceeded 'another'",
                id="other words",
            ),
            pytest.param(
                with_fields(event("DeadlineExceeded"), container="app"),
                "app: has events, the kubelet none",
                id="a container that was never begun",
            ),
        ],
    )
    def test_a_change_is_reported(
        self, tmp_path: Path, change: Change, text: str
    ) -> None:
        trace = self.trace(tmp_path)
        other = copy.deepcopy(trace.observation)
        # Long enough that no event is cut off.
        trace.observation.add({"t": 60.0, "kind": "end"})
        other.add({"t": 60.0, "kind": "end"})
        change(other)

        assert any(text in str(found) for found in compare(trace, other))

    def test_fewer_repeated_events_are_ignored(self, tmp_path: Path) -> None:
        trace = self.trace(tmp_path)
        other = copy.deepcopy(trace.observation)
        dropped(event("DeadlineExceeded", 1))(other)

        assert compare(trace, other) == []


def test_a_kubelet_with_other_rules_is_compared_with_itself(tmp_path: Path) -> None:
    """Its back-off is shorter than that of the ported version."""
    whats = ("Pulled", "Created", "Started", "BackOff")
    events = [
        {"t": 8.0 * instance + 0.1 * step, "type": "Normal", "reason": what}
        | {"message": "Back-off" + " m" if what == "BackOff" else "m"}
        | {"fieldPath": "spec.containers{app}"}
        for instance in range(8)
        for step, what in enumerate(whats)
    ]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "app"}]}}
    content = {"pod": pod, "events": events, "statuses": [], "kubelet": "1.36.2"}
    (tmp_path / "p.json").write_text(json.dumps(content))
    trace = load_traces(tmp_path)["p"]
    delayed = copy.deepcopy(trace.observation)
    moved(30, 40)(delayed)

    assert trace.is_of_another_version
    assert compare(trace, trace.observation) == []
    assert any("begins" in str(found) for found in compare(trace, delayed))
