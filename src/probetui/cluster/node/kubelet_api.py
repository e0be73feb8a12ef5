"""The kubelet's own HTTPS API, which the API server calls.

Source: pkg/kubelet/server/server.go, v1.36.2.
"""

from __future__ import annotations

import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct

from probetui.cluster.client import Object
from probetui.cluster.node.authorization import KubeletAuthorization, RefusedError
from probetui.cluster.serving.certificate import self_signed
from probetui.cluster.serving.container_log import log_chunks, read_log_options
from probetui.cluster.serving.http_server import (
    HttpAnswer,
    HttpRequest,
    HttpResponse,
    HttpStream,
    serve_http,
)
from probetui.cluster.serving.port_forward import answer_port_forward
from probetui.cluster.serving.remote_command import (
    RemoteCommand,
    RemoteStreams,
    answer_exec,
    read_remote_command,
)
from probetui.cluster.serving.runtime_access import NoSuchInstanceError, RuntimeAccess
from probetui.engine.snapshot import PodSnapshot
from probetui.k8s.api.pod import POD
from probetui.k8s.api.status import POD_STATUS
from probetui.ports import Clock

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TEXT = "text/plain"
_BAD_REQUEST, _NOT_FOUND = 400, 404


class KubeletSources(Struct, frozen=True):
    """The data that the API serves.

    `pods` returns the session's current pods, `metrics` the text of `/metrics/probes`.
    """

    pods: Callable[[], Sequence[PodSnapshot]]
    metrics: Callable[[], bytes]


class KubeletApi:
    """Answers requests to the kubelet's API.

    Args:
        authorization: authorizes requests.
        clock: the time.
        sources: the data to serve.
        access: the containers.
    """

    def __init__(
        self,
        authorization: KubeletAuthorization,
        clock: Clock,
        sources: KubeletSources,
        access: RuntimeAccess,
    ) -> None:
        self._authorization = authorization
        self._clock = clock
        self._sources = sources
        self._access = access

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        """Authorize and answer a request."""
        try:
            await self._authorization.check(request)
            return self._answer(request)
        except RefusedError as error:
            return _text(error.status, str(error))
        except NoSuchInstanceError as error:
            return _text(_BAD_REQUEST, str(error))

    def _answer(self, request: HttpRequest) -> HttpAnswer:
        match request.path.strip("/").split("/"):
            case ["healthz"]:
                return HttpResponse(200, b"ok", _TEXT)
            case ["pods"]:
                return HttpResponse(200, msgspec.json.encode(self._pod_list()))
            case ["metrics", "probes"]:
                return HttpResponse(200, self._sources.metrics(), METRICS_TYPE)
            case ["containerLogs", namespace, name, container]:
                return self._log(request, self._pod(namespace, name), container)
            case ["exec", namespace, name, container]:
                return self._exec(request, self._pod(namespace, name), container)
            case ["exec", namespace, name, _, container]:
                return self._exec(request, self._pod(namespace, name), container)
            case ["attach", namespace, name, container]:
                return self._attach(request, self._pod(namespace, name), container)
            case ["portForward", namespace, name, *_]:
                return self._forward(request, self._pod(namespace, name))
            case _:
                return _text(_NOT_FOUND, "404 page not found")

    def _pod_list(self) -> Object:
        return {
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {},
            "items": [
                {**POD.write(snapshot.pod), "status": POD_STATUS.write(snapshot.status)}
                for snapshot in self._sources.pods()
            ],
        }

    def _pod(self, namespace: str, name: str) -> PodSnapshot:
        for snapshot in self._sources.pods():
            if (snapshot.pod.namespace, snapshot.pod.name) == (namespace, name):
                return snapshot
        raise NoSuchInstanceError(f'pod "{name}" does not exist')

    def _log(
        self, request: HttpRequest, pod: PodSnapshot, container: str
    ) -> HttpAnswer:
        try:
            options = read_log_options(request, self._clock.now())
        except ValueError as error:
            return _text(_BAD_REQUEST, str(error))
        lines = self._access.log(pod, container, options)
        return HttpStream(200, log_chunks(lines, options), _TEXT)

    def _exec(
        self, request: HttpRequest, pod: PodSnapshot, container: str
    ) -> HttpAnswer:
        async def run(command: RemoteCommand, streams: RemoteStreams) -> int:
            return await self._access.run(pod, container, command, streams)

        command = read_remote_command(request)
        return answer_exec(request, command, run) or _no_upgrade()

    def _attach(
        self, request: HttpRequest, pod: PodSnapshot, container: str
    ) -> HttpAnswer:
        async def run(command: RemoteCommand, streams: RemoteStreams) -> int:
            return await self._access.attach(pod, container, command, streams)

        command = read_remote_command(request)
        return answer_exec(request, command, run) or _no_upgrade()

    def _forward(self, request: HttpRequest, pod: PodSnapshot) -> HttpAnswer:
        target = f"pod {pod.pod.name}, uid : {pod.pod.uid}"

        async def dial(port: int) -> tuple[StreamReader, StreamWriter]:
            return await self._access.dial(pod, port)

        return answer_port_forward(request, target, dial) or _no_upgrade()


@asynccontextmanager
async def serve_kubelet(
    handle: Callable[[HttpRequest], Awaitable[HttpAnswer]],
    hosts: Sequence[str],
    clock: Clock,
    authority: str | None,
) -> AsyncIterator[int]:
    """Serve the kubelet's API over TLS while the context lasts; yield its port.

    Args:
        handle: answers requests.
        hosts: names and addresses of the node; the server listens on the first.
        clock: the time; the certificate is valid from now on.
        authority: the PEM text of the authorities that sign client certificates, None
            where none is accepted.

    Raises:
        OSError: the address cannot be used.
    """
    tls = self_signed(hosts, clock.now()).tls_context()
    if authority is not None:
        tls.load_verify_locations(cadata=authority)
        tls.verify_mode = ssl.CERT_OPTIONAL
    async with serve_http(handle, hosts[0], tls=tls, now=clock.now) as address:
        yield address.port


def _text(status: int, text: str) -> HttpResponse:
    return HttpResponse(status, f"{text}\n".encode(), _TEXT)


def _no_upgrade() -> HttpResponse:
    return _text(_BAD_REQUEST, "Upgrade request required")
