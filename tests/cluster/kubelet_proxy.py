"""Requests that the API server passes on to a node's kubelet.

Source: pkg/registry/core/pod/strategy.go and pkg/registry/core/node/strategy.go,
v1.36.2.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlencode

from probetui.cluster.api_server.api import Connect
from probetui.cluster.api_server.failure import ApiFailure, not_found
from probetui.cluster.api_server.pod_connections import choose_container
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.serving.http_server import (
    CHUNK_BYTES,
    HttpAnswer,
    HttpRequest,
    HttpTunnel,
)
from probetui.k8s.api.codec import Json
from tests.cluster.api_server.resources import NODES
from tests.cluster.api_server.store import WritableStore

DIAL_SECONDS = 10
_KUBELET_PORT = 10250
_POD_PATHS: Mapping[str, str] = {
    "log": "containerLogs",
    "exec": "exec",
    "attach": "attach",
    "portforward": "portForward",
}
_STREAM_NAMES = {"stdin": "input", "stdout": "output", "stderr": "error"}
_FLAGS = {"true": "1"}
_NOT_PASSED_ON = frozenset({"host", "authorization", "connection", "content-length"})


class KubeletProxy:
    """Passes on what is for a node, or for a pod on one.

    Args:
        store: where the nodes are.
        headers: the credentials of the API server, such as its token.
        tls: of the connection; by default the kubelet's certificate is not checked,
            as by an API server without `--kubelet-certificate-authority`.
    """

    def __init__(
        self,
        store: WritableStore,
        headers: Mapping[str, str],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._store = store
        self._headers = headers
        if tls is None:
            tls = ssl.create_default_context()
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        self._tls = tls

    def connections(self) -> Mapping[str, Connect]:
        """Return what answers for everything that a kubelet does."""
        pods = {f"pods/{name}": self._answer_pod for name in _POD_PATHS}
        return {**pods, "nodes/proxy": self._answer_node}

    async def _answer_node(
        self, request: HttpRequest, info: RequestInfo, node: Json
    ) -> HttpAnswer:
        query = f"?{urlencode(request.query)}" if request.query else ""
        return await self._pass_on(request, node, f"/{info.rest}{query}")

    async def _answer_pod(
        self, request: HttpRequest, info: RequestInfo, pod: Json
    ) -> HttpAnswer:
        node_name = pod["spec"].get("nodeName", "")
        node = self._store.find(NODES, "", node_name)
        if node is None:
            raise not_found("nodes", node_name)
        path = f"/{_POD_PATHS[info.subresource]}/{info.namespace}/{info.name}"
        if info.subresource != "portforward":
            path += f"/{choose_container(pod, request.parameter('container'))}"
        is_log = info.subresource == "log"
        query = [
            (name, value)
            if is_log or name == "command"
            else (_STREAM_NAMES.get(name, name), _FLAGS.get(value, value))
            for name, value in request.query
            if name != "container"
        ]
        text = urlencode(query)
        return await self._pass_on(request, node, f"{path}?{text}")

    async def _pass_on(self, request: HttpRequest, node: Json, path: str) -> HttpAnswer:
        host, port = _kubelet_address(node)
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                connection = await asyncio.open_connection(host, port, ssl=self._tls)
        except (OSError, TimeoutError) as error:
            message = f"error trying to reach service: dial tcp {host}:{port}: {error}"
            raise ApiFailure(503, "ServiceUnavailable", message, {}) from None
        upgrade = request.headers.get("connection", "close")
        is_upgrade = "upgrade" in upgrade.lower()
        headers = {
            "host": f"{host}:{port}",
            **{
                name: value
                for name, value in request.headers.items()
                if name not in _NOT_PASSED_ON
            },
            **self._headers,
            "connection": upgrade if is_upgrade else "close",
            "content-length": str(len(request.body)),
        }
        lines = [f"{request.method} {path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")

        async def tunnel(
            left: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            kubelet_reader, kubelet_writer = connection
            try:
                kubelet_writer.write(head + request.body + left)
                back = asyncio.ensure_future(_copy(kubelet_reader, writer))
                forth = asyncio.ensure_future(_copy(reader, kubelet_writer))
                await asyncio.wait((back, forth), return_when=asyncio.FIRST_COMPLETED)
                back.cancel()
                forth.cancel()
                await asyncio.gather(back, forth, return_exceptions=True)
            finally:
                kubelet_writer.transport.abort()

        return HttpTunnel(tunnel, status=0)


def _kubelet_address(node: Json) -> tuple[str, int]:
    status = node.get("status", {})
    addresses = {
        entry["type"]: entry["address"] for entry in status.get("addresses") or ()
    }
    endpoint = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {})
    host = addresses.get("InternalIP") or addresses.get("Hostname", "")
    return host, endpoint.get("Port", _KUBELET_PORT)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
