"""Facts: probes and operations that finished, and relists."""

from __future__ import annotations

from probetui.k8s.runtime import (
    ContainerID,
    RuntimeCondition,
    RuntimeContainerStatus,
    RuntimePodStatus,
    SandboxStatus,
    StoredImage,
)
from probetui.kubelet.effects import PulledImage
from probetui.kubelet.outcome import ProbeOutcome
from probetui.values import Instant, Kind


class ProbeFinished(Kind, frozen=True):
    """A `RunProbe` has finished."""

    probe_id: int
    outcome: ProbeOutcome


OperationValue = (
    ContainerID
    | SandboxStatus
    | RuntimeContainerStatus
    | PulledImage
    | str
    | bool
    | None
)


class OperationFinished(Kind, frozen=True):
    """A `RunOperation` has finished.

    `error` is the runtime's own words. `value` is what the operation says it is.
    `not_found` marks an error about something that does not exist, `config_error` one
    of what a container asks for, before a runtime was asked. `fallback_host` is set
    when a hook's request that was meant for HTTPS got its answer without: the host and
    port.
    """

    operation_id: int
    value: OperationValue = None
    error: str | None = None
    not_found: bool = False
    fallback_host: str = ""
    config_error: bool = False


class OperationProgress(Kind, frozen=True):
    """A running operation has something to show (an image pull, in percent)."""

    operation_id: int
    text: str


class Relisted(Kind, frozen=True):
    """Everything of ours that the runtime has; `started_at` is when we asked."""

    pods: tuple[RuntimePodStatus, ...]
    started_at: Instant


class RelistFailed(Kind, frozen=True):
    """The runtime could not be asked; it may be gone."""

    error: str


class RuntimeChanged(Kind, frozen=True):
    """The runtime says that something happened; brings the relist forward."""


class RuntimeStatusRead(Kind, frozen=True):
    """What the runtime says of itself, or why it says nothing."""

    conditions: tuple[RuntimeCondition, ...] = ()
    error: str = ""


class ImagesListed(Kind, frozen=True):
    """The images on the node, or why they are not known.

    `images` are the largest of them, `count` and `size_bytes` those of all.
    """

    images: tuple[StoredImage, ...] = ()
    count: int = 0
    size_bytes: int = 0
    error: str = ""


RuntimeFact = (
    OperationFinished
    | OperationProgress
    | Relisted
    | RelistFailed
    | RuntimeChanged
    | RuntimeStatusRead
    | ImagesListed
)
