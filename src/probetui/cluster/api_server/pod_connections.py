"""Logs of pods, and the choice of the container for a request.

Source: pkg/registry/core/pod/strategy.go, v1.36.2, LogLocation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Protocol

from probetui.cluster.api_server.api import Connect
from probetui.cluster.api_server.failure import ApiFailure, bad_request
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.serving.container_log import (
    LogOptions,
    log_chunks,
    read_log_options,
)
from probetui.cluster.serving.http_server import HttpAnswer, HttpRequest, HttpStream
from probetui.k8s.api.codec import Json
from probetui.k8s.runtime import LogLine

_LISTS = ("initContainers", "containers", "ephemeralContainers")
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


class PodLogs(Protocol):
    """A source of pod logs."""

    async def log(
        self, pod: Json, container: str, options: LogOptions
    ) -> AsyncIterator[LogLine]:
        """Return the last `tail_lines` lines, then new ones if it is followed.

        Raises:
            ApiFailure: there is no such log.
        """


def log_connection(logs: PodLogs, now: Callable[[], datetime]) -> Mapping[str, Connect]:
    """Return the handler of `pods/log`."""

    async def answer(request: HttpRequest, info: RequestInfo, pod: Json) -> HttpAnswer:
        del info
        try:
            options = read_log_options(request, now())
        except ValueError as error:
            raise bad_request(str(error)) from None
        container = choose_container(pod, request.parameter("container"))
        lines = await logs.log(pod, container, options)
        return HttpStream(200, log_chunks(lines, options), "text/plain")

    return {"pods/log": answer}


def choose_container(pod: Json, name: str) -> str:
    """Return the container that a request names, or the default one.

    Raises:
        ApiFailure: there is none of that name, or one of several must be named.
    """
    pod_name, spec = pod["metadata"]["name"], pod["spec"]
    names = {
        key: [container["name"] for container in spec.get(key) or ()] for key in _LISTS
    }
    if name:
        if not any(name in containers for containers in names.values()):
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    if len(names["containers"]) == 1:
        return str(names["containers"][0])
    default = (pod["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER)
    if default in names["containers"]:
        return str(default)
    choices = " ".join(names["containers"])
    text = f"a container name must be specified for pod {pod_name}"
    text = f"{text}, choose one of: [{choices}]"
    if inits := names["initContainers"]:
        text = f"{text} or one of the init containers: [{' '.join(inits)}]"
    raise bad_request(text)


def no_log_yet(pod: Json, container: str, reason: str) -> ApiFailure:
    """Return the error for the log of a container that has not started."""
    name = pod["metadata"]["name"]
    return bad_request(
        f'container "{container}" in pod "{name}" is waiting to start: {reason}'
    )


def no_previous_log(pod: Json, container: str) -> ApiFailure:
    """Return the error for the previous log of a container that never ended."""
    name = pod["metadata"]["name"]
    return bad_request(
        f'previous terminated container "{container}" in pod "{name}" not found'
    )
