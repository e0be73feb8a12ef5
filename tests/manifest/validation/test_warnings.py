from __future__ import annotations

import pytest
from lightkube.models import core_v1

from probetui.manifest.validation.warnings import lint_pod
from tests.manifest.yaml_pods import PROBED, pod_model


@pytest.mark.parametrize(
    ("container", "spec", "expected"),
    [
        pytest.param(PROBED, "", [], id="nothing"),
        pytest.param(
            "",
            "",
            ["spec: no container has a probe, nothing will be probed"],
            id="none",
        ),
        pytest.param(
            "",
            "initContainers: [{name: s, restartPolicy: Always, startupProbe: {}}]",
            [],
            id="a-sidecars-probe-is-one",
        ),
        pytest.param(
            "ports: [{name: http, containerPort: 80}, {name: metrics, containerPort:"
            " 81}], readinessProbe: {httpGet: {port: htpp}}",
            "",
            [
                (
                    'spec.containers[0].readinessProbe.httpGet.port: "htpp" is not a'
                    ' port name of container "app" (has: http, metrics), so the probe'
                    " errors at every"
                    " attempt"
                )
            ],
            id="port-name",
        ),
        pytest.param(
            "startupProbe: {tcpSocket: {port: db}}",
            "",
            [
                (
                    'spec.containers[0].startupProbe.tcpSocket.port: "db" is not a'
                    ' port name of container "app" (no port has a name), so the probe'
                    " errors at every attempt"
                )
            ],
            id="port-name-without-names",
        ),
        pytest.param(
            f"{PROBED}, lifecycle: {{preStop: {{httpGet: {{port: x}}}}}}",
            "",
            [
                (
                    'spec.containers[0].lifecycle.preStop.httpGet.port: "x" is not a'
                    ' port name of container "app" (no port has a name), so the'
                    " hook fails"
                )
            ],
            id="port-name-of-a-hook",
        ),
        pytest.param(
            f"{PROBED}, lifecycle: {{postStart: {{tcpSocket: {{port: x}}}}}}",
            "",
            [
                (
                    "spec.containers[0].lifecycle.postStart.tcpSocket: is accepted by"
                    " Kubernetes, but hooks do not support it: the hook fails"
                )
            ],
            id="tcp-hook",
        ),
        pytest.param(
            PROBED,
            "terminationGracePeriodSeconds: -5",
            [
                (
                    "spec.terminationGracePeriodSeconds: is -5, counts as 1 when the"
                    " pod is stopped"
                )
            ],
            id="negative-grace-period",
        ),
        pytest.param(
            PROBED,
            "terminationGracePeriodSeconds: 9223372036854775807",
            [
                (
                    "spec.terminationGracePeriodSeconds: is 9223372036854775807,"
                    " counts as 2147483647, which is 68 years"
                )
            ],
            id="grace-period-of-64-bits",
        ),
        pytest.param(
            f"{PROBED}, lifecycle: {{preStop: {{sleep: {{seconds: 2147483648}}}}}}",
            "terminationGracePeriodSeconds: 2147483647",
            [
                (
                    "spec.containers[0].lifecycle.preStop.sleep.seconds: is 2147483648,"
                    " counts as 2147483647, which is 68 years"
                )
            ],
            id="sleep-of-more-than-32-bits",
        ),
    ],
)
def test_what_kubernetes_does_not_say(
    container: str, spec: str, expected: list[str]
) -> None:
    found = lint_pod(pod_model(container, spec))

    assert [f"{notice.path}: {notice.message}" for notice in found] == expected


def test_without_a_spec_there_is_nothing_to_say() -> None:
    assert list(lint_pod(core_v1.Pod())) == []
