"""Pod sources: the API server, files and URLs; pods of the last two are static.

Source: kubelet/types/pod_update.go, v1.32.10.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from probetui.k8s.pod import Pod

CONFIG_SOURCE = "kubernetes.io/config.source"
CONFIG_SEEN = "kubernetes.io/config.seen"
CONFIG_MIRROR = "kubernetes.io/config.mirror"
CONFIG_HASH = "kubernetes.io/config.hash"

API_SOURCE = "api"
FILE_SOURCE = "file"
HTTP_SOURCE = "http"


def format_seen(now: datetime) -> str:
    """Return the instant at which a kubelet first saw a pod, as it notes it."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def is_static_pod(pod: Pod) -> bool:
    """Return whether a pod came from anywhere but the API server.

    A pod without the annotation is not static.
    """
    return pod.annotations.get(CONFIG_SOURCE, API_SOURCE) != API_SOURCE


def api_pod(pod: Pod) -> Pod:
    """Return a pod as an API server has it: of a static one that is its mirror pod.

    The kubelet's notes of a pod's source never leave the kubelet, but for a mirror pod.

    Source: kubelet/pod/mirror_client.go, v1.32.10, CreateMirrorPod.
    """
    annotations = dict(pod.annotations)
    if is_static_pod(pod):
        annotations[CONFIG_MIRROR] = annotations.get(CONFIG_HASH, "")
    else:
        for key in (CONFIG_SOURCE, CONFIG_SEEN):
            annotations.pop(key, None)
    return replace(pod, annotations=annotations)
