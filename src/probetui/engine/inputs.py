"""The engine's inputs: commands of users, and facts."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from probetui.debugger.commands import ContainerCommand, DebuggerCommand
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import API_SOURCE
from probetui.k8s.runtime import ContainerID, Listeners, LogLine
from probetui.k8s.status import PodCondition
from probetui.k8s.volume import ConfigObject
from probetui.kubelet.facts import ProbeFinished, RuntimeFact
from probetui.values import Kind


class AddPod(Kind, frozen=True):
    """Run a pod."""

    pod: Pod


class SetPods(Kind, frozen=True):
    """Replace the pods of a source: run new ones, end the others.

    A pod that takes the name of another one begins when that one is gone. `places`
    says where fields of probes stand in the manifests (`pod.yaml:12:9`), by the UID of
    the pod, a blank and the field's path. `source` is `api`, `file` or `http`.
    `conditions` are those that others than the kubelet have set, by the UID of the pod.
    Where `is_complete` is False, these are some of the source's pods: none is ended,
    and the source has not been heard yet.
    """

    pods: tuple[Pod, ...]
    places: Mapping[str, str] = field(default_factory=dict)
    source: str = API_SOURCE
    conditions: Mapping[str, tuple[PodCondition, ...]] = field(default_factory=dict)
    is_complete: bool = True


class SetObjects(Kind, frozen=True):
    """Replace the ConfigMaps and Secrets of the manifests.

    Containers that are created from now on see them; files in volumes follow when
    their pods are synced.
    """

    objects: tuple[ConfigObject, ...]


class DeletePod(Kind, frozen=True):
    """End a pod gracefully; None is the pod's own grace period."""

    pod_uid: str
    grace_period_seconds: int | None = None


Command = AddPod | SetPods | SetObjects | DeletePod | DebuggerCommand | ContainerCommand


class ListenersFound(Kind, frozen=True):
    """A `FindListeners` has finished; None if listeners cannot be read.

    `is_ending` says that nobody looked, because the container is being stopped: it has
    closed its ports then, which does not explain a refusal.
    """

    container_id: ContainerID
    listeners: Listeners | None
    problem: str = ""
    is_ending: bool = False


class ExecSeen(Kind, frozen=True):
    """Another client has started a command in a container; `text` is the command."""

    container_id: ContainerID
    text: str


class LastOutputRead(Kind, frozen=True):
    """A `ReadLastOutput` has finished.

    `lines` is None if the log cannot be read, for which `problem` is the reason, or if
    there is none. `message` is the container's termination message.
    """

    container_id: ContainerID
    lines: tuple[LogLine, ...] | None
    message: str = ""
    problem: str = ""


class ProbeStillRuns(Kind, frozen=True):
    """A `RunProbe` has not finished within the timeout, or before the session ends."""

    probe_id: int


Fact = (
    ProbeFinished
    | RuntimeFact
    | ListenersFound
    | ExecSeen
    | LastOutputRead
    | ProbeStillRuns
)
Input = Command | Fact
