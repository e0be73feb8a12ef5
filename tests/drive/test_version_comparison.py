"""Differences between versions of the kubelet for the same pod."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.drive import version_comparison
from probetui.drive.simulation import Simulation
from probetui.drive.version_comparison import (
    Observation,
    VersionDifference,
    VersionInput,
    built_in_scripts,
    find_differences,
)
from probetui.kubelet_rules import (
    ROWS,
    TEXT_RULES,
    VERSIONS,
    KubeletRules,
    rules_of,
    rules_of_each,
)
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile

SAMPLES = Path(__file__).parents[2] / "sample_pods"


def loader(sample: str) -> Callable[[KubeletRules], VersionInput]:
    source = SourceFile(sample, (SAMPLES / sample).read_text())

    def load(rules: KubeletRules) -> VersionInput:
        manifests = load_manifests([source], rules=rules)
        dropped = {one.path: one.path for one in manifests.problems if one.rule}
        return VersionInput(manifests.pods, manifests.config_objects, dropped)

    return load


def differences(
    sample: str, versions: tuple[str, ...], script: str
) -> dict[str, VersionDifference]:
    load = loader(sample)
    scripts = built_in_scripts(load(rules_of(versions[-1])).pods)
    found = find_differences(
        rules_of_each(versions, ()), {script: scripts[script]}, load, texts=True
    )
    return {one.field: one for one in found}


@pytest.mark.parametrize(
    ("versions", "script", "field", "before", "later"),
    [
        pytest.param(
            ("1.15", "1.19"),
            "healthy",
            "startup_probes",
            Observation(None, "spec.containers[0].startupProbe"),
            None,
            id="a field that was unknown",
        ),
        pytest.param(
            ("1.20", "1.28"),
            "times-out",
            "tells_exec_timeout",
            "Warning Unhealthy Startup probe failed: ",
            'Warning Unhealthy Startup probe failed: command timed out: "cat started" '
            "timed out after 1s",
            id="a text that was recorded empty",
        ),
        pytest.param(
            ("1.20", "1.28"),
            "deleted",
            "stops_liveness_on_deletion",
            "Warning Unhealthy Liveness probe failed: ",
            None,
            id="liveness during deletion",
        ),
        pytest.param(
            ("1.28", "1.32"),
            "healthy",
            "created_text",
            "Normal Created Created container slow",
            "Normal Created Created container: slow",
            id="the recorded texts of 1.20 and 1.32",
        ),
        pytest.param(
            ("1.34", "1.35"),
            "healthy",
            "started_text",
            "Normal Started Started container slow",
            "Normal Started Container started",
            id="the recorded texts of 1.32 and 1.36",
        ),
        pytest.param(
            ("1.35", "1.36"),
            "slow-start",
            "early_ready_to_start",
            "PodReadyToStartContainers condition False->True",
            "PodReadyToStartContainers condition False->True",
            id="a condition that comes earlier",
        ),
    ],
)
def test_a_difference_has_its_first_observation(
    versions: tuple[str, ...],
    script: str,
    field: str,
    before: Observation | str | None,
    later: Observation | str | None,
) -> None:
    found = differences("startup-slow.yaml", versions, script)[field]

    assert (found.script, found.since) == (script, versions[-1])
    for observation, expected in ((found.before, before), (found.later, later)):
        text = observation.text if isinstance(observation, Observation) else observation
        assert text == (
            expected.text if isinstance(expected, Observation) else expected
        )


def test_versions_with_the_same_rules_do_the_same() -> None:
    for versions in (("1.33", "1.34"), ("1.36", "1.37")):
        assert differences("startup-slow.yaml", versions, "unhealthy") == {}


def test_a_rule_that_does_not_apply_to_a_pod_is_no_difference() -> None:
    found = differences("tcp.yaml", ("1.20", "1.28"), "healthy")

    assert "startup_probes" not in found
    assert "holds_after_startup_success" not in found


def test_headers_are_a_difference_for_pods_with_http_probes_alone() -> None:
    versions = ("1.19", "1.20")

    http = differences("http-liveness.yaml", versions, "healthy")
    tcp = differences("tcp.yaml", versions, "healthy")

    assert http["sends_accept"].script == ""
    assert "sends_accept" not in tcp


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        pytest.param({"refuses_probe_host": True}, 1, id="a rule that nothing reads"),
        pytest.param({"started_text": "it runs"}, 2, id="a rule that is read"),
    ],
)
def test_a_simulation_is_run_again_only_if_it_read_what_differs(
    change: dict[str, object], runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = []

    class Counted(Simulation):
        def run_for(self, length: timedelta) -> None:
            simulated.append(length)
            super().run_for(length)

    monkeypatch.setattr(version_comparison, "Simulation", Counted)
    load = loader("exec-liveness.yaml")
    earlier = replace(rules_of("1.33"), refuses_probe_host=False)
    later = replace(earlier, **change)
    scripts = built_in_scripts(load(earlier).pods)

    healthy = {"healthy": scripts["healthy"]}
    list(find_differences([earlier, later], healthy, load, texts=True))

    assert len(simulated) == runs


def test_only_texts_that_are_asked_for_are_simulated_and_come_last() -> None:
    load = loader("exec-liveness.yaml")
    scripts = built_in_scripts(load(rules_of("1.36")).pods)
    versions = rules_of_each(("1.33", "1.34", "1.35", "1.36"), ())
    crash = {"crash-loop": scripts["crash-loop"]}

    decisions = [one.field for one in find_differences(versions, crash, load)]
    both = [one.field for one in find_differences(versions, crash, load, texts=True)]

    assert not TEXT_RULES & {*decisions}
    assert both[: len(decisions)] == decisions
    assert {"created_text", "started_text"} <= {*both[len(decisions) :]} <= TEXT_RULES


def test_differences_come_one_by_one() -> None:
    loaded = []
    load = loader("startup-slow.yaml")

    def counted(rules: KubeletRules) -> VersionInput:
        loaded.append(rules.version)
        return load(rules)

    scripts = built_in_scripts(load(rules_of("1.36")).pods)
    found = find_differences(rules_of_each(VERSIONS, ()), scripts, counted)

    next(found)

    assert set(loaded) <= {"1.15", "1.16", "1.17", "1.18"}


def test_manifests_are_read_anew_only_for_rules_that_reading_depends_on() -> None:
    loaded = []
    load = loader("exec-liveness.yaml")

    def counted(rules: KubeletRules) -> VersionInput:
        loaded.append(rules.version)
        return load(rules)

    scripts = built_in_scripts(load(rules_of("1.36")).pods)
    versions = rules_of_each(("1.34", "1.35"), ())
    switched = [
        name for name in ROWS if len({getattr(rules, name) for rules in versions}) > 1
    ]

    list(find_differences(versions, {"healthy": scripts["healthy"]}, counted))

    # Once for each of the two, and for what reading itself asks for.
    assert len(loaded) < len(switched) / 2


@pytest.mark.slow
def test_the_slow_starter_differs_in_much_from_1_15_to_1_36() -> None:
    load = loader("startup-slow.yaml")
    scripts = built_in_scripts(load(rules_of("1.36")).pods)
    versions = VERSIONS[: VERSIONS.index("1.36") + 1]

    found = {
        one.field
        for one in find_differences(
            rules_of_each(versions, ()), scripts, load, texts=True
        )
    }

    assert found >= {
        "startup_probes",
        "delays_every_worker",
        "holds_after_startup_success",
        "results_wake_pod",
        "tells_exec_timeout",
        "back_off_text",
        "inherits_started",
        "sleeps_until_back_off_ends",
    }
