"""Logs and probe metrics of a session, as an API server serves them.

Source: pkg/kubelet/kubelet_pods.go, v1.36.2, validateContainerLogStatus.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from probetui.cluster.api_server.api import Connect
from probetui.cluster.api_server.object_feed import ObjectFeed
from probetui.cluster.api_server.pod_connections import no_log_yet, no_previous_log
from probetui.cluster.api_server.request_info import RequestInfo, unknown_path
from probetui.cluster.api_server.resources import PODS
from probetui.cluster.serving.container_log import ALL_LINES, LogOptions
from probetui.cluster.serving.http_server import HttpAnswer, HttpRequest, HttpResponse
from probetui.errors import ContainerRuntimeError
from probetui.k8s.api.codec import Json
from probetui.k8s.runtime import ContainerID, LogLine
from probetui.ports import LogSource
from probetui.record.masking import Mask

_STATUSES = ("containerStatuses", "initContainerStatuses")
_WAITING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


class SessionLogs:
    """The logs of a session's pods, with secrets masked."""

    def __init__(self, source: LogSource, mask: Mask) -> None:
        self._source = source
        self._mask = mask

    async def log(
        self, pod: Json, container: str, options: LogOptions
    ) -> AsyncIterator[LogLine]:
        """Return the lines of a container's instance.

        Raises:
            ApiFailure: it has no log.
        """
        container_id = instance_id(pod, container, is_previous=options.previous)
        tail = ALL_LINES if options.tail_lines is None else options.tail_lines
        follow = options.follow and not options.previous
        return self._lines(
            self._source.follow_logs(container_id, tail=tail, follow=follow)
        )

    async def _lines(self, lines: AsyncIterator[LogLine]) -> AsyncIterator[LogLine]:
        try:
            async for line in lines:
                yield replace(line, text=self._mask.text(line.text))
        except ContainerRuntimeError as error:
            yield LogLine(None, f"unable to retrieve container logs: {error}")


def instance_id(pod: Json, container: str, *, is_previous: bool) -> ContainerID:
    """Return the container instance whose log is requested.

    Raises:
        ApiFailure: no instance has such a log.
    """
    statuses = [
        status
        for field in _STATUSES
        for status in pod["status"].get(field) or ()
        if status["name"] == container
    ]
    status: Mapping[str, Any] = statuses[0] if statuses else {}
    state = status.get("state") or {}
    last = (status.get("lastState") or {}).get("terminated") or {}
    if is_previous:
        if not last.get("containerID"):
            raise no_previous_log(pod, container)
        return ContainerID(last["containerID"])
    if "running" in state and status.get("containerID"):
        return ContainerID(status["containerID"])
    own = (state.get("terminated") or {}).get("containerID")
    if own or last.get("containerID"):
        return ContainerID(own or last["containerID"])
    reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
    raise no_log_yet(pod, container, _WAITING.get(reason, reason))


def node_connection(
    feed: ObjectFeed, metrics: Callable[[], bytes], metrics_type: str
) -> Mapping[str, Connect]:
    """Return the handler of `nodes/proxy` for the kubelet's read-only paths."""

    async def answer(request: HttpRequest, info: RequestInfo, node: Json) -> HttpAnswer:
        del request, node
        match info.rest:
            case "metrics/probes" | "metrics":
                return HttpResponse(200, metrics(), metrics_type)
            case "healthz":
                return HttpResponse(200, b"ok", "text/plain; charset=utf-8")
            case "pods":
                items = feed.list(PODS).items
                pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {}}
                return HttpResponse(200, msgspec.json.encode({**pods, "items": items}))
            case _:
                raise unknown_path()

    return {"nodes/proxy": answer}
