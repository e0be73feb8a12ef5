"""What a change of settings does to a container."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.analysis.settings_diff import (
    Change,
    ContainerDiff,
    Direction,
    WorkloadPod,
    diff_workloads,
)
from probetui.analysis.timing import TimeRange, ready_after_start, start_budget
from probetui.drive.scenario.behavior import ProbeAnswer
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetPods
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    StatusEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet_rules import PORTED_RULES, rules_of
from tests.builders import START, a_container, a_pod, a_probe, at

_SECOND = timedelta(seconds=1)


def a_workload(*containers: Container, name: str = "web", **pod: Any) -> WorkloadPod:
    return WorkloadPod("Deployment", name, a_pod(*containers, **pod))


def diff_of(old: WorkloadPod, new: WorkloadPod) -> list[ContainerDiff]:
    return diff_workloads([old], [new], PORTED_RULES)


def directions(old: Container, new: Container) -> dict[str, str]:
    (diff,) = diff_of(a_workload(old), a_workload(new))
    return {effect.effect.name: str(effect.direction) for effect in diff.effects}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            {"liveness_probe": a_probe()},
            {"liveness_probe": a_probe(failure_threshold=1)},
            {"killed-after-failure": "stricter", "start-budget": "stricter"},
            id="fewer failures kill sooner",
        ),
        pytest.param(
            {"liveness_probe": a_probe()},
            {"liveness_probe": a_probe(timeout_seconds=5)},
            {"killed-after-failure": "looser", "start-budget": "looser"},
            id="a longer time-out kills later",
        ),
        pytest.param(
            {"liveness_probe": a_probe(period_seconds=10, failure_threshold=3)},
            {
                "liveness_probe": a_probe(
                    period_seconds=25, failure_threshold=1, timeout_seconds=10
                )
            },
            {"killed-after-failure": "mixed", "start-budget": "mixed"},
            id="at once or late",
        ),
        pytest.param(
            {"liveness_probe": a_probe()},
            {"liveness_probe": a_probe(initial_delay_seconds=60)},
            {"start-budget": "looser"},
            id="a delay only helps the start",
        ),
        pytest.param(
            {"liveness_probe": a_probe(initial_delay_seconds=9, timeout_seconds=1)},
            {"liveness_probe": a_probe(initial_delay_seconds=8, timeout_seconds=2)},
            {"killed-after-failure": "looser", "start-budget": "stricter"},
            id="sooner at the earliest and as late at the latest",
        ),
        pytest.param(
            {"liveness_probe": a_probe(initial_delay_seconds=8, timeout_seconds=2)},
            {"liveness_probe": a_probe(initial_delay_seconds=9, timeout_seconds=1)},
            {"killed-after-failure": "stricter", "start-budget": "looser"},
            id="later at the earliest and as late at the latest",
        ),
        pytest.param(
            {},
            {"liveness_probe": a_probe()},
            {
                "killed-after-failure": "stricter",
                "start-budget": "stricter",
                "kill-grace": "stricter",
            },
            id="a new liveness probe",
        ),
        pytest.param(
            {"liveness_probe": a_probe()},
            {"liveness_probe": a_probe(termination_grace_period_seconds=5)},
            {"kill-grace": "stricter"},
            id="a shorter grace period of the probe",
        ),
        pytest.param(
            {"liveness_probe": a_probe()},
            {
                "liveness_probe": a_probe(),
                "startup_probe": a_probe(failure_threshold=30),
            },
            {"start-budget": "looser", "ready-after-start": "stricter"},
            id="a startup probe gives room, and is waited for",
        ),
        pytest.param(
            {"readiness_probe": a_probe()},
            {"readiness_probe": a_probe(success_threshold=2)},
            {"ready-after-recovery": "stricter", "ready-after-start": "stricter"},
            id="a second success keeps it out longer",
        ),
        pytest.param(
            {"readiness_probe": a_probe(failure_threshold=5)},
            {},
            {
                "not-ready-after-failure": "looser",
                "ready-after-recovery": "looser",
                "ready-after-start": "looser",
            },
            id="without readiness it always has traffic",
        ),
    ],
)
def test_a_change_is_stricter_or_looser(
    old: dict[str, Any], new: dict[str, Any], expected: dict[str, str]
) -> None:
    assert directions(a_container(**old), a_container(**new)) == expected


def seconds(least: float, most: float) -> TimeRange:
    return TimeRange(least * _SECOND, most * _SECOND)


def test_each_time_is_told_as_it_was_and_as_it_is() -> None:
    old = a_container(
        startup_probe=a_probe(period_seconds=2, failure_threshold=30),
        liveness_probe=a_probe(
            period_seconds=5, termination_grace_period_seconds=4, timeout_seconds=2
        ),
        readiness_probe=a_probe(period_seconds=4, success_threshold=2),
    )

    (diff,) = diff_of(
        a_workload(old), a_workload(a_container(), termination_grace_period_seconds=9)
    )

    assert {
        effect.effect.name: (effect.old, effect.new, str(effect.direction))
        for effect in diff.effects
    } == {
        "killed-after-failure": (seconds(10, 17), None, "looser"),
        "start-budget": (seconds(58, 61), None, "looser"),
        "not-ready-after-failure": (seconds(8, 13), None, "looser"),
        "ready-after-recovery": (seconds(0, 9), None, "looser"),
        "ready-after-start": (seconds(0, 12), None, "looser"),
        "kill-grace": (seconds(4, 4), None, "looser"),
        "stop-grace": (seconds(30, 30), seconds(9, 9), "stricter"),
    }
    assert [str(probe.change) for probe in diff.probes] == ["removed"] * 3
    assert [probe.probe_type for probe in diff.probes] == [
        "Startup",
        "Liveness",
        "Readiness",
    ]
    assert diff.change is Change.CHANGED


def test_what_became_of_a_container_has_its_workload() -> None:
    old = a_workload(a_container("app"), a_container("old"))
    new = a_workload(a_container("app", liveness_probe=a_probe()), a_container("new"))

    app, come, gone = diff_of(old, new)

    assert (app.workload, come.workload, gone.workload) == (new, new, old)
    assert (come.old, gone.new) == (None, None)
    assert app.has(Direction.STRICTER)
    assert not app.has(Direction.LOOSER)
    (probe,) = app.probes
    assert (probe.old, probe.new) == (None, a_probe())


def test_a_pod_with_less_grace_is_stopped_sooner() -> None:
    (diff,) = diff_of(
        a_workload(a_container()),
        a_workload(a_container(), termination_grace_period_seconds=5),
    )

    assert [effect.effect.name for effect in diff.effects] == ["stop-grace"]
    assert [effect.direction for effect in diff.effects] == ["stricter"]


def test_probes_of_an_init_container_have_no_effect_as_no_kubelet_runs_them() -> None:
    init = a_container("init", liveness_probe=a_probe())
    changed = a_container("init", liveness_probe=a_probe(failure_threshold=1))

    diff, _ = diff_of(
        a_workload(a_container(), init_containers=(init,)),
        a_workload(a_container(), init_containers=(changed,)),
    )

    assert diff.effects == []
    assert diff.change is Change.CHANGED


def test_a_sidecar_is_compared_as_any_container() -> None:
    sidecar = a_container(
        "proxy", restart_policy=RestartPolicy.ALWAYS, liveness_probe=a_probe()
    )
    changed = replace(sidecar, liveness_probe=a_probe(failure_threshold=1))

    diff, _ = diff_of(
        a_workload(a_container(), init_containers=(sidecar,)),
        a_workload(a_container(), init_containers=(changed,)),
    )

    assert [effect.effect.name for effect in diff.effects] == [
        "killed-after-failure",
        "start-budget",
    ]


def test_a_warning_that_comes_is_found_and_one_that_goes_is_mended() -> None:
    readiness = a_probe(period_seconds=20)
    patient = a_container(
        liveness_probe=a_probe(failure_threshold=9), readiness_probe=readiness
    )
    hasty = replace(patient, liveness_probe=a_probe(failure_threshold=1))

    (worse,) = diff_of(a_workload(patient), a_workload(hasty))
    (better,) = diff_of(a_workload(hasty), a_workload(patient))

    rules = {finding.rule for finding in worse.found}
    assert "liveness-faster-than-readiness" in rules
    assert {finding.rule for finding in better.mended} == rules
    assert (worse.mended, better.found) == ([], [])


def test_a_warning_stays_the_same_when_containers_move() -> None:
    """The path has the container's number."""
    odd = a_container("odd", liveness_probe=a_probe(timeout_seconds=30))
    other = a_container("other")

    diffs = diff_of(a_workload(odd, other), a_workload(other, odd))

    assert [diff.change for diff in diffs] == [Change.SAME, Change.SAME]


def test_containers_come_and_go_by_their_names() -> None:
    diffs = diff_of(
        a_workload(a_container("app"), a_container("old")),
        a_workload(a_container("app"), a_container("new")),
    )

    changes = {diff.container: str(diff.change) for diff in diffs}
    assert changes == {"app": "same", "new": "added", "old": "removed"}


def test_one_workload_under_another_name_is_the_same_if_it_shares_a_container() -> None:
    (renamed,) = diff_of(
        a_workload(a_container("app"), name="old"),
        a_workload(a_container("app"), name="new"),
    )
    others = diff_of(
        a_workload(a_container("app"), name="old"),
        a_workload(a_container("other"), name="new"),
    )

    assert renamed.change is Change.SAME
    assert [str(diff.change) for diff in others] == ["added", "removed"]


def test_two_workloads_that_are_gone_are_taken_for_none_of_the_new() -> None:
    old = [a_workload(a_container("app"), name=name) for name in ("a", "b")]
    new = [a_workload(a_container("app"), name="c")]

    diffs = diff_workloads(old, new, PORTED_RULES)

    assert [str(diff.change) for diff in diffs] == ["added", "removed", "removed"]


probes = st.builds(
    a_probe,
    initial_delay_seconds=st.integers(0, 12),
    period_seconds=st.integers(1, 7),
    timeout_seconds=st.integers(1, 9),
    failure_threshold=st.integers(1, 4),
)
readiness_probes = st.builds(replace, probes, success_threshold=st.integers(1, 3))
containers = st.builds(
    a_container,
    startup_probe=st.none() | probes,
    liveness_probe=st.none() | probes,
    readiness_probe=st.none() | readiness_probes,
)


@given(container=containers)
def test_nothing_differs_from_itself(container: Container) -> None:
    (diff,) = diff_of(a_workload(container), a_workload(container))

    assert diff.change is Change.SAME


@given(old=containers, new=containers)
def test_the_way_back_is_the_opposite(old: Container, new: Container) -> None:
    opposite = {"stricter": "looser", "looser": "stricter", "mixed": "mixed"}

    there, back = directions(old, new), directions(new, old)

    assert {name: opposite[way] for name, way in there.items()} == back


def simulated(pod: Pod, answer: ProbeAnswer, version: str) -> list[JournalEntry]:
    """Return what a kubelet does in four minutes; all probes get one answer."""
    config = KubeletConfig(version=version)
    world = World(probing=lambda _effect, _age: answer)
    simulation = Simulation(Engine(config, START), world, START)
    simulation.submit(SetPods((pod,)))
    simulation.run_until(at(240))
    return list(simulation.journal)


def age_at_first(
    journal: Sequence[JournalEntry], happens: Callable[[JournalEntry], bool]
) -> timedelta | None:
    """Return how old the first instance was when something happened first."""
    started = next(
        entry.at
        for entry in journal
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STARTED
    )
    return next((entry.at - started for entry in journal if happens(entry)), None)


def is_ready(entry: JournalEntry) -> bool:
    return isinstance(entry, StatusEntry) and any(
        status.ready for status in entry.status.container_statuses or ()
    )


def is_stopping(entry: JournalEntry) -> bool:
    return isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STOPPING


_SYNC = 2 * _SECOND
"""What a status or a kill may come later than its result, as a sync has to run."""


@given(
    container=containers,
    share=st.floats(0, 0.9),
    version=st.sampled_from(["1.20", "1.32", "1.36"]),
)
@example(
    container=a_container(
        readiness_probe=replace(a_probe(period_seconds=3), success_threshold=2)
    ),
    share=0.0,
    version="1.32",
)
@settings(max_examples=30, deadline=None)
def test_a_simulated_kubelet_keeps_to_the_times_of_a_start(
    container: Container, share: float, version: str
) -> None:
    """An app that is up at once is ready, and one that never is killed, in the range.

    Each answer takes a share of the shortest time-out.
    """
    pod = a_pod(container)
    shortest = min((probe.timeout_seconds for probe in container.probes()), default=1)
    takes = share * shortest * _SECOND
    well = ProbeAnswer(Attempt(ProbeResult.SUCCESS), takes)
    ill = ProbeAnswer(Attempt(ProbeResult.FAILURE), takes)

    ready = age_at_first(simulated(pod, well, version), is_ready)
    killed = age_at_first(simulated(pod, ill, version), is_stopping)

    expected = ready_after_start(container, rules_of(version))
    least, most = expected or (timedelta(), timedelta())
    assert ready is not None
    assert least <= ready <= most + _SYNC
    budget = start_budget(container, rules_of(version))
    assert (killed is None) == (budget is None)
    if killed is not None and budget is not None:
        assert budget.least <= killed <= budget.most + _SYNC
