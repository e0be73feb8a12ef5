"""Differences between two definitions of a pod."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Container, EnvVar, Pod, RestartPolicy
from probetui.k8s.pod_diff import FieldChange, diff_pods
from probetui.k8s.probe import ExecAction, Probe, TCPSocketAction

PROBE = Probe(ExecAction(("true",)), period_seconds=5)
WEB = Container("web", "nginx:1", liveness_probe=PROBE)
POD = Pod("u1", "shop", containers=(WEB,))


def with_web(**fields: object) -> Pod:
    return replace(POD, containers=(replace(WEB, **fields),))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(replace(POD, uid="u2"), (), id="another-uid-is-no-difference"),
        pytest.param(
            replace(POD, restart_policy=RestartPolicy.NEVER),
            (FieldChange("restartPolicy", "Always", "Never"),),
            id="a-field-of-the-pod",
        ),
        pytest.param(
            with_web(liveness_probe=replace(PROBE, period_seconds=2)),
            (FieldChange("containers[web].livenessProbe.periodSeconds", "5", "2"),),
            id="a-field-of-a-probe",
        ),
        pytest.param(
            with_web(liveness_probe=None),
            (FieldChange("containers[web].livenessProbe", "Probe", ""),),
            id="a-probe-taken-away",
        ),
        pytest.param(
            with_web(liveness_probe=replace(PROBE, handler=TCPSocketAction(80))),
            (
                FieldChange(
                    "containers[web].livenessProbe.handler",
                    "ExecAction",
                    "TCPSocketAction",
                ),
            ),
            id="another-handler",
        ),
        pytest.param(
            with_web(env=(EnvVar("A", "1"),)),
            (FieldChange("containers[web].env[A]", "", "A"),),
            id="a-named-member-added",
        ),
        pytest.param(
            with_web(command=("sh", "-c")),
            (
                FieldChange("containers[web].command[0]", "", "sh"),
                FieldChange("containers[web].command[1]", "", "-c"),
            ),
            id="members-without-names-go-by-place",
        ),
        pytest.param(
            replace(POD, labels={"app": "shop"}, host_network=True),
            (
                FieldChange("labels[app]", "", "shop"),
                FieldChange("hostNetwork", "false", "true"),
            ),
            id="labels-and-flags",
        ),
    ],
)
def test_differences_name_the_field_and_both_sides(
    after: Pod, expected: tuple[FieldChange, ...]
) -> None:
    assert diff_pods(POD, after) == expected
