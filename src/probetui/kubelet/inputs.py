"""What can go into the engine: commands of people and facts of the world."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from probetui.k8s.config import ConfigObject
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import ContainerID, RuntimePodStatus, SandboxStatus
from probetui.kubelet.effects import PulledImage
from probetui.kubelet.outcome import ProbeOutcome


@dataclass(frozen=True, slots=True)
class AddPod:
    """Run this pod."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class SetPods:
    """These are all the pods of the manifests now: run what is new, end the others.

    A pod that takes the name of another one begins when that one is gone.
    """

    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True)
class SetObjects:
    """These are all the ConfigMaps and Secrets of the manifests now.

    Containers that are created from now on see them; files in volumes follow when
    their pods are synced.
    """

    objects: tuple[ConfigObject, ...]


@dataclass(frozen=True, slots=True)
class DeletePod:
    """End a pod gracefully; None is the pod's own grace period."""

    pod_uid: str
    grace_period_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class TriggerProbe:
    """Probe now, as the kubelet does when readiness may have changed."""

    key: ProbeKey


@dataclass(frozen=True, slots=True)
class RestartContainer:
    """Stop a running container now, through the normal kill path."""

    pod_uid: str
    container_name: str


@dataclass(frozen=True, slots=True)
class PauseProbes:
    """Hold back all probe ticks; what is in flight finishes."""


@dataclass(frozen=True, slots=True)
class ResumeProbes:
    """Let ticks go again; each worker runs at most one that was held back."""


@dataclass(frozen=True, slots=True)
class StepProbe:
    """Let exactly one tick go, the next in time; pauses first when running."""


Command = (
    AddPod
    | SetPods
    | SetObjects
    | DeletePod
    | TriggerProbe
    | RestartContainer
    | PauseProbes
    | ResumeProbes
    | StepProbe
)


@dataclass(frozen=True, slots=True)
class ProbeFinished:
    """A `RunProbe` has come to its end."""

    probe_id: int
    outcome: ProbeOutcome


OperationValue = ContainerID | SandboxStatus | PulledImage | str | bool | None


@dataclass(frozen=True, slots=True)
class OperationFinished:
    """A `RunOperation` has come to its end.

    `error` is the runtime's own words. `value` is what the operation says it is.
    `not_found` tells an error about something that does not exist. `fallback_host` is
    set when a hook's request that was meant for HTTPS got its answer without: the host
    and port.
    """

    operation_id: int
    value: OperationValue = None
    error: str | None = None
    not_found: bool = False
    fallback_host: str = ""


@dataclass(frozen=True, slots=True)
class OperationProgress:
    """A running operation has something to show (an image pull, in percent)."""

    operation_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Relisted:
    """Everything of ours that the runtime has; `started_at` is when we asked."""

    pods: tuple[RuntimePodStatus, ...]
    started_at: datetime


@dataclass(frozen=True, slots=True)
class RelistFailed:
    """The runtime could not be asked; it may be gone."""

    error: str


@dataclass(frozen=True, slots=True)
class RuntimeChanged:
    """The runtime says that something happened; brings the relist forward."""


RuntimeFact = (
    OperationFinished | OperationProgress | Relisted | RelistFailed | RuntimeChanged
)
Fact = ProbeFinished | RuntimeFact
Input = Command | Fact
