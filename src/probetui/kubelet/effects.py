"""Effects: the kubelet's requests to the prober and the container runtime."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import LifecycleHandler, Probe, ProbeKey
from probetui.k8s.runtime import ContainerID
from probetui.k8s.volume import Volume, VolumeFile
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.values import Kind


class RunProbe(NamedTuple):
    """Run a probe (up to three attempts) and answer with `ProbeFinished`.

    `pod_ip` is the one in the status the kubelet holds; empty dials this machine, as
    Go does.
    """

    probe_id: int
    key: ProbeKey
    pod: Pod
    container: Container
    probe: Probe
    container_id: ContainerID
    pod_ip: str
    rules: KubeletRules = PORTED_RULES


class RunPodSandbox(Struct, frozen=True):
    """Create and start a pod's sandbox; the value is its ID."""

    pod: Pod
    attempt: int


class GetPodSandboxStatus(Struct, frozen=True):
    """Inspect a new sandbox; the value is a `SandboxStatus`."""

    sandbox_id: str


class StopPodSandbox(Struct, frozen=True):
    """Stop a sandbox and its network; a missing sandbox is not an error."""

    sandbox_id: str


class RemovePodSandbox(Struct, frozen=True):
    """Remove a stopped sandbox."""

    sandbox_id: str


class MountVolume(Struct, frozen=True):
    """Prepare a volume for the containers of a pod.

    An existing volume keeps its content. A volume made of files has exactly `files`,
    dated `at`, the time of the request.
    """

    pod: Pod
    volume: Volume
    files: tuple[VolumeFile, ...]
    at: datetime


class UnmountVolume(Struct, frozen=True):
    """Unmount a pod's volume; remove its content unless it belongs to the node."""

    pod_uid: str
    volume_name: str


class GetImageStatus(Struct, frozen=True):
    """Look up an image on the node; the value is its ID, or None."""

    image: str


class GetImageUser(Struct, frozen=True):
    """Read the user of an image; the value is as in the image, None if unknown."""

    image: str


class RegistryCredentials(Struct, frozen=True):
    """The credentials of a registry."""

    username: str
    password: str

    def __repr__(self) -> str:
        """Return a text without the password: effects are logged."""
        return "RegistryCredentials(...)"


class PullImage(Struct, frozen=True):
    """Pull an image; the value is a `PulledImage`.

    The text of a CRI runtime's error begins with its gRPC code, except for Unknown if
    the rules strip it. Without credentials, the container engine uses its own.
    """

    pod: Pod
    image: str
    rules: KubeletRules = PORTED_RULES
    credentials: RegistryCredentials | None = None


class PulledImage(Kind, frozen=True):
    """The result of a pull."""

    image_id: str
    size_bytes: int


class CreateContainer(Struct, frozen=True):
    """Create a container in a sandbox; the value is its `ContainerID`.

    `attempt` is the restart count of the new instance. `image_id` is what the pull
    or the look-up gave. `container` is resolved from the definition, whose hash is
    `definition_hash`; None for the hash of its image and name.
    """

    pod: Pod
    container: Container
    sandbox_id: str
    attempt: int
    image_id: str
    definition_hash: int | None = None


class StartContainer(Struct, frozen=True):
    """Start a created container."""

    container_id: ContainerID


class StopContainer(Struct, frozen=True):
    """Send the stop signal, then kill after the grace period (seconds).

    The value is the container's `RuntimeContainerStatus` after its end, None if the
    runtime no longer knows it.
    """

    container_id: ContainerID
    container_name: str
    grace_period_seconds: int


class RemoveContainer(Struct, frozen=True):
    """Remove a stopped container."""

    container_id: ContainerID


class RunHook(Struct, frozen=True):
    """Run a lifecycle hook; the value is its output, also beside an error.

    Of an HTTP request it is the answer, which the kubelet ignores.
    """

    pod: Pod
    container: Container
    container_id: ContainerID
    handler: LifecycleHandler
    pod_ip: str
    rules: KubeletRules = PORTED_RULES
    is_pre_stop: bool = False


class Fault(StrEnum):
    """A fault to inject into a container; the kubelet's probes will notice."""

    FREEZE = "freeze"
    UNFREEZE = "unfreeze"
    STOP = "stop"
    KILL = "kill"
    CUT_NETWORK = "cut-network"
    RESTORE_NETWORK = "restore-network"


class InjectFault(Struct, frozen=True):
    """Freeze or unfreeze a container, signal its main process, cut off its pod.

    `STOP` is SIGTERM, `KILL` is SIGKILL, both to the main process.
    """

    container_id: ContainerID
    container_name: str
    fault: Fault


Operation = (
    RunPodSandbox
    | GetPodSandboxStatus
    | StopPodSandbox
    | RemovePodSandbox
    | MountVolume
    | UnmountVolume
    | GetImageStatus
    | GetImageUser
    | PullImage
    | CreateContainer
    | StartContainer
    | StopContainer
    | RemoveContainer
    | RunHook
    | InjectFault
)


class RunOperation(Struct, frozen=True):
    """Run one runtime operation and answer with `OperationFinished`."""

    operation_id: int
    pod_uid: str
    operation: Operation


class Relist(Struct, frozen=True):
    """List the kubelet's pods and answer with `Relisted` or `RelistFailed`."""


class GetRuntimeStatus(Struct, frozen=True):
    """Read the runtime's conditions and answer with `RuntimeStatusRead`."""


class ListImages(Struct, frozen=True):
    """List the images on the node and answer with `ImagesListed`."""


class FindListeners(Struct, frozen=True):
    """Find where a container listens and answer with `ListenersFound`."""

    container_id: ContainerID


class ReadLastOutput(Struct, frozen=True):
    """Read the end of an exited container's log; answer with `LastOutputRead`."""

    container_id: ContainerID


Effect = (
    RunProbe
    | RunOperation
    | Relist
    | GetRuntimeStatus
    | ListImages
    | FindListeners
    | ReadLastOutput
)
