"""Sources of nodes' probe counters: each kubelet, or the API server's proxy.

A kubelet asks the API server whether the user has `get nodes/metrics`. The proxy needs
`get nodes/proxy`, which also allows commands in every pod of the node: it is used only
on request, of which `fleet` without a store is one.

Anyone who can write a Node object decides where its kubelet seems to be. So credentials
are sent only to a server whose certificate the cluster's own authority, from the
kubeconfig, has signed; the system's authorities sign for anybody and prove nothing
here.
"""

from __future__ import annotations

import asyncio
import re
from ipaddress import ip_address
from typing import Protocol, Self

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from probetui.cluster.api_objects import (
    DaemonEndpoints,
    KubeletEndpoint,
    NodeObject,
    NodeStatus,
    NodeSystemInfo,
    read_object,
)
from probetui.cluster.bounded_responses import read_body
from probetui.cluster.client import NODES, ApiClient, refuse_cookies
from probetui.cluster.credentials import make_tls_context
from probetui.cluster.errors import Access, ClusterError, ServerUnreachableError
from probetui.safe_text import safe_line

PATH = "/metrics/probes"
_LARGEST_ANSWER = 8 * 2**20
"""A kubelet with 500 pods sends about 2 MiB."""

_PORTS = range(1, 2**16)
_DNS_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII | re.IGNORECASE
)
_TIMEOUT = httpx2.Timeout(5)
_FETCH_SECONDS = 10
"""How long an answer may take, however often a part of it comes."""

_METRICS = Access("get", "nodes/metrics", is_namespaced=False)
_WAYS_ROUND = (
    "--kubelet-insecure-tls sends it the credentials anyway, --via-node-proxy goes "
    "through the API server"
)


class CountersUnavailableError(ClusterError):
    """The counters of a node cannot be read; an early retry is useless."""


class CounterSource(Protocol):
    """Fetches the counters of nodes."""

    async def fetch(self, node: str) -> bytes:
        """Return a node's /metrics/probes.

        Raises:
            CountersUnavailableError: they cannot be fetched.
            ClusterError: they cannot be fetched at the moment.
        """


class NodeInfo(Struct, frozen=True):
    """The address and version of a node's kubelet."""

    address: str
    port: int
    version: str


async def read_node(client: ApiClient, name: str) -> NodeInfo:
    """Read a node's kubelet from the API server; raises `ClusterError`."""
    node = read_object(NodeObject, await client.get(NODES, "", name))
    status = node.status or NodeStatus()
    addresses = {entry.type: entry.address for entry in status.addresses or ()}
    kinds = ("InternalIP", "ExternalIP", "Hostname", "InternalDNS")
    address = next((addresses[kind] for kind in kinds if kind in addresses), "")
    endpoints = status.daemon_endpoints or DaemonEndpoints()
    endpoint = endpoints.kubelet_endpoint or KubeletEndpoint()
    info = status.node_info or NodeSystemInfo()
    return NodeInfo(address, endpoint.port, info.kubelet_version)


class ProxyCounters:
    """Through the API server: `/api/v1/nodes/NAME/proxy/metrics/probes`."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def fetch(self, node: str) -> bytes:
        """Return a node's /metrics/probes."""
        access = NODES.access("get", "", node, "proxy")
        path = NODES.path("", node, "proxy") + PATH
        return await self._client.text(path, access, limit=_LARGEST_ANSWER)


class KubeletCounters:
    """At the kubelets themselves, with the credentials of the API server.

    They are sent only to a server whose certificate the cluster's authority has signed,
    or, with `verifies` off, to any; without an authority in the kubeconfig, nothing is
    sent. An asynchronous context manager.

    Args:
        client: has the nodes and the credentials.
        verifies: whether to verify the certificates of kubelets.
    """

    def __init__(self, client: ApiClient, *, verifies: bool) -> None:
        self._client = client
        cluster = client.access.cluster
        if not verifies:
            cluster = replace(cluster, insecure=True, ca_data=None)
        self._cluster = cluster
        self._is_refused = verifies and (cluster.insecure or cluster.ca_data is None)
        self._nodes: dict[str, NodeInfo] = {}
        self._http: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        """Open the client; nothing is sent yet."""
        certificate = await self._client.client_certificate()
        self._http = httpx2.AsyncClient(
            verify=make_tls_context(self._cluster, certificate),
            headers={"Accept-Encoding": "gzip"},
            cookies=refuse_cookies(),
            timeout=_TIMEOUT,
            trust_env=False,
            follow_redirects=False,
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close all connections."""
        if self._http is not None:
            await self._http.aclose()

    async def fetch(self, node: str) -> bytes:
        """Return a node's /metrics/probes."""
        if self._is_refused:
            raise CountersUnavailableError(
                "the kubeconfig has no certificate authority of the cluster that could "
                f"have signed a kubelet's certificate; {_WAYS_ROUND}"
            )
        if node not in self._nodes:
            self._nodes[node] = await read_node(self._client, node)
        info = self._nodes[node]
        host = f"[{info.address}]" if ":" in info.address else info.address
        if not host or self._http is None:
            raise CountersUnavailableError(f"node {node} has no address")
        if not _is_host(info.address) or info.port not in _PORTS:
            del self._nodes[node]
            where = safe_line(f"{info.address} port {info.port}", limit=100)
            raise CountersUnavailableError(f"node {node}: {where} is no address")
        url = f"https://{host}:{info.port}{PATH}"
        try:
            async with asyncio.timeout(_FETCH_SECONDS):
                return await self._fetch(self._http, url)
        except (httpx2.HTTPError, OSError) as error:
            del self._nodes[node]  # it may have another address by now
            text = safe_line(str(error) or type(error).__name__, limit=200)
            if "CERTIFICATE_VERIFY_FAILED" in text:
                raise CountersUnavailableError(
                    f"the certificate of {url} is not signed by the cluster's CA; "
                    f"{_WAYS_ROUND}"
                ) from error
            raise ServerUnreachableError(f"{url}: {text}") from error

    async def _fetch(self, http: httpx2.AsyncClient, url: str) -> bytes:
        request = http.build_request("GET", url)
        response = await self._client.credentials.send(http, request)
        try:
            if response.status_code in {401, 403}:
                raise CountersUnavailableError(
                    f"not allowed to {_METRICS.description} at the kubelet; "
                    f"`{_METRICS.command}` shows it; --via-node-proxy goes "
                    "through the API server"
                )
            if response.status_code != 200:  # noqa: PLR2004
                raise CountersUnavailableError(f"{url}: HTTP {response.status_code}")
            try:
                return bytes(await read_body(response, _LARGEST_ANSWER))
            except ServerUnreachableError as error:
                raise CountersUnavailableError(f"{url}: {error}") from error
        finally:
            await response.aclose()


def _is_host(text: str) -> bool:
    """Return whether a text is an IP address without a zone, or a DNS name."""
    try:
        return "%" not in text and bool(ip_address(text))
    except ValueError:
        return _DNS_NAME.fullmatch(text) is not None
