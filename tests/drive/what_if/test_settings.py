"""Settings of recorded probes: which probes they apply to, and what they change."""

from __future__ import annotations

import pytest

from probetui.drive.what_if.settings import (
    apply_settings,
    parse_probe_setting,
    recorded_value,
)
from probetui.errors import ManifestError, UsageError
from probetui.k8s.pod import Container, ContainerPort, Pod, RestartPolicy
from probetui.k8s.probe import ExecAction, HTTPGetAction, Probe
from probetui.kubelet_rules import PORTED_RULES, rules_of

CHECK = ExecAction(("check",))
FIRST = Pod(
    "first",
    "web",
    containers=(Container("app", liveness_probe=Probe(CHECK, period_seconds=7)),),
)
EDITED = Pod(
    "second",
    "web",
    containers=(Container("app", liveness_probe=Probe(CHECK, period_seconds=9)),),
)


def test_an_edited_pod_is_one_pod_and_each_version_keeps_its_other_fields() -> None:
    pods = [FIRST, EDITED]

    setting = parse_probe_setting("app.livenessProbe.failureThreshold=5", pods)
    changed = apply_settings(pods, [setting], PORTED_RULES)

    probes = [changed.of(pod).containers[0].liveness_probe for pod in pods]
    assert [
        (one and (one.period_seconds, one.failure_threshold)) for one in probes
    ] == [
        (7, 5),
        (9, 5),
    ]
    assert changed.uids == {"first", "second"}


def test_the_newest_value_is_the_recorded_one() -> None:
    setting = parse_probe_setting("periodSeconds=1", [FIRST, EDITED])

    assert recorded_value(setting, [FIRST, EDITED]) == "9"


def test_a_setting_changes_no_other_field() -> None:
    pod = Pod(
        "uid",
        "web",
        init_containers=(
            Container(
                "side",
                restart_policy=RestartPolicy.ALWAYS,
                startup_probe=Probe(CHECK, failure_threshold=30),
            ),
        ),
        containers=(
            Container(
                "app",
                image="app:1",
                ports=(ContainerPort(8080, "http"),),
                liveness_probe=Probe(
                    HTTPGetAction("http", "/live"), termination_grace_period_seconds=4
                ),
            ),
        ),
    )
    setting = parse_probe_setting("web/app.livenessProbe.periodSeconds=3", [pod])

    after = apply_settings([pod], [setting], PORTED_RULES).of(pod)

    assert after.init_containers == pod.init_containers
    probe = after.containers[0].liveness_probe
    assert probe == Probe(
        HTTPGetAction("http", "/live"),
        period_seconds=3,
        termination_grace_period_seconds=4,
    )
    assert after.containers[0].image == "app:1"


def test_a_kubelet_version_without_startup_probes_drops_them() -> None:
    probe = Probe(CHECK, failure_threshold=30)
    pod = Pod("uid", "web", containers=(Container("app", startup_probe=probe),))

    changed = apply_settings([pod], [], rules_of("1.15"))

    assert changed.of(pod).containers[0].startup_probe is None


def test_a_problem_names_the_setting_as_it_was_typed() -> None:
    setting = parse_probe_setting("periodSeconds=-2", [FIRST])

    with pytest.raises(ManifestError) as caught:
        apply_settings([FIRST], [setting], PORTED_RULES)

    (problem,) = caught.value.problems
    assert problem == (
        "--set periodSeconds=-2: spec.containers[0].livenessProbe.periodSeconds: "
        "is -2, must be greater than or equal to 0"
    )


@pytest.mark.parametrize("option", ["", "=5", "app", "app..periodSeconds=5", "x=", "."])
def test_an_invalid_setting_is_refused_with_the_syntax(option: str) -> None:
    with pytest.raises(UsageError, match=r"must be .POD/.CONTAINER.PROBE.FIELD=VALUE"):
        parse_probe_setting(option, [FIRST])
