from __future__ import annotations

import pytest

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import SandboxStatus
from probetui.kubelet.kuberuntime.pod_actions import SandboxChange, pod_sandbox_changed
from tests.builders import a_pod, a_runtime_status, a_sandbox

ON_HOST = a_pod(host_network=True)


@pytest.mark.parametrize(
    ("pod", "sandboxes", "expected"),
    [
        pytest.param(a_pod(), [a_sandbox(attempt=2)], (False, 2, "sandbox"), id="fine"),
        pytest.param(a_pod(), [], (True, 0, ""), id="none"),
        pytest.param(
            a_pod(),
            [a_sandbox(is_ready=False, attempt=2)],
            (True, 3, "sandbox"),
            id="dead",
        ),
        pytest.param(
            a_pod(),
            [a_sandbox(attempt=1), a_sandbox(sandbox_id="older")],
            (True, 2, "sandbox"),
            id="two-ready",
        ),
        pytest.param(
            a_pod(),
            [a_sandbox(attempt=1), a_sandbox(sandbox_id="older", is_ready=False)],
            (False, 1, "sandbox"),
            id="older-one-dead",
        ),
        pytest.param(ON_HOST, [a_sandbox()], (True, 1, ""), id="other-network"),
        pytest.param(
            a_pod(), [a_sandbox(ip="")], (True, 1, "sandbox"), id="no-address"
        ),
        pytest.param(
            a_pod(), [a_sandbox(ip=None)], (False, 0, "sandbox"), id="no-network-told"
        ),
        pytest.param(
            ON_HOST,
            [a_sandbox(host_network=True, ip="")],
            (False, 0, "sandbox"),
            id="no-address-on-host-network",
        ),
    ],
)
def test_when_a_pod_needs_a_new_sandbox(
    pod: Pod, sandboxes: list[SandboxStatus], expected: tuple[bool, int, str]
) -> None:
    status = a_runtime_status(sandboxes=tuple(sandboxes))

    assert pod_sandbox_changed(pod, status) == SandboxChange(*expected)
