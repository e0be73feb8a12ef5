"""Admission by the node: a limited number of pods, no ephemeral containers.

Source: lifecycle/predicate.go, v1.32.10, Admit, InsufficientResourceError; kubelet.go,
rejectPod.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.k8s.status import PodPhase, PodStatus
from probetui.kubelet.status.generate import qos_class


class Rejection(Struct, frozen=True):
    """The reason and message with which the kubelet rejects a pod."""

    reason: str
    message: str

    def event(self, pod: Pod, now: datetime) -> Event:
        """Return the event of a rejected pod."""
        return Event(EventType.WARNING, self.reason, self.message, pod.uid, "", now)

    def status(self, pod: Pod, now: datetime) -> PodStatus:
        """Return the status of a rejected pod, which is final."""
        return PodStatus(
            phase=PodPhase.FAILED,
            reason=self.reason,
            message=f"Pod was rejected: {self.message}",
            qos_class=qos_class(pod),
            start_time=now,
        )


def ephemeral_refusal(pod: Pod, name: str, now: datetime) -> Event:
    """Return the event of an ephemeral container, which `kubectl debug` adds to a pod.

    Difference: a kubelet runs it; here it is refused, and has no status.
    """
    message = (
        f"probetui runs no ephemeral container: {name} is not started; "
        "kubectl exec runs a command in a container of the pod"
    )
    path = f"spec.ephemeralContainers{{{name}}}"
    return Event(
        EventType.WARNING, "EphemeralContainerRefused", message, pod.uid, path, now
    )


def check_room(active: int, most: int) -> Rejection | None:
    """Return the rejection of one more pod, None if there is room.

    Args:
        active: pods of the node that have not ended, static ones too.
        most: the limit of their number.
    """
    if active < most:
        return None
    return Rejection(
        "OutOfpods",
        "Node didn't have enough resource: pods, requested: 1, "
        f"used: {active}, capacity: {most}",
    )
