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
from probetui.kubelet.outcome import PeerBehavior, ProbeOutcome
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

    `error` is the runtime's text. `value` is documented at the operation. `not_found`
    marks an error about a missing object, `config_error` one in a container's
    configuration, found before a call of the runtime. `fallback_host` is the host and
    port of a hook's HTTPS request that was answered over HTTP, `peer` what the server
    of a hook that failed did.
    """

    operation_id: int
    value: OperationValue = None
    error: str | None = None
    not_found: bool = False
    fallback_host: str = ""
    config_error: bool = False
    peer: PeerBehavior | None = None


class OperationProgress(Kind, frozen=True):
    """The progress of a running operation (of an image pull, in percent)."""

    operation_id: int
    text: str


class Relisted(Kind, frozen=True):
    """All the kubelet's pods at the runtime; `started_at` is the request's time."""

    pods: tuple[RuntimePodStatus, ...]
    started_at: Instant


class RelistFailed(Kind, frozen=True):
    """A relist failed; the runtime may be down."""

    error: str


class RuntimeChanged(Kind, frozen=True):
    """The runtime reported an event; it brings the relist forward."""


class RuntimeStatusRead(Kind, frozen=True):
    """The runtime's conditions, or why they could not be read."""

    conditions: tuple[RuntimeCondition, ...] = ()
    error: str = ""


class ImagesListed(Kind, frozen=True):
    """The images on the node, or why they could not be listed.

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
