"""Whether a pod's sandbox can stay.

Source: kuberuntime/util/util.go, v1.32.10, PodSandboxChanged.
"""

from __future__ import annotations

from typing import NamedTuple

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimePodStatus


class SandboxChange(NamedTuple):
    """Whether a new sandbox is needed, its attempt, and the one there is.

    `sandbox_id` is empty if there is none, or if the pod moved between the node's
    network and its own.
    """

    is_needed: bool
    attempt: int
    sandbox_id: str


def pod_sandbox_changed(pod: Pod, status: RuntimePodStatus) -> SandboxChange:
    """Tell whether a pod needs a new sandbox."""
    if not status.sandboxes:
        return SandboxChange(is_needed=True, attempt=0, sandbox_id="")
    newest = status.sandboxes[0]
    sandbox_id, following = newest.sandbox_id, newest.attempt + 1
    if not newest.is_ready or sum(each.is_ready for each in status.sandboxes) > 1:
        return SandboxChange(is_needed=True, attempt=following, sandbox_id=sandbox_id)
    if newest.host_network is not pod.host_network:
        return SandboxChange(is_needed=True, attempt=following, sandbox_id="")
    # None is a runtime that says nothing of the network, which is no reason.
    if not pod.host_network and newest.ip == "":
        return SandboxChange(is_needed=True, attempt=following, sandbox_id=sandbox_id)
    return SandboxChange(is_needed=False, attempt=newest.attempt, sandbox_id=sandbox_id)
