"""Counters of the kubelets: over TLS, with credentials for trusted kubelets only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from probetui.cluster.api_server.resources import NODES
from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.observe.kubelet_counters import (
    CountersUnavailableError,
    KubeletCounters,
)
from probetui.cluster.serving.certificate import self_signed
from probetui.cluster.serving.http_server import (
    HttpRequest,
    HttpResponse,
    serve_http,
)
from probetui.drive.clocks import SystemClock
from tests.cluster.servers import running_server

_CLOCK = SystemClock()


class _Kubelet:
    """A kubelet's port that records the received credentials."""

    def __init__(self, status: int = 200) -> None:
        self.requests: list[str] = []
        self._status = status

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(f"{request.path} {request.headers['authorization']}")
        return HttpResponse(self._status, body=b"prober_probe_total{} 1\n")


@asynccontextmanager
async def _counters(
    kubelet: _Kubelet, *, verifies: bool, is_signed: bool
) -> AsyncIterator[KubeletCounters]:
    certificate = self_signed(["127.0.0.1"], _CLOCK.now())
    other = self_signed(["127.0.0.1"], _CLOCK.now())
    trusted = certificate if is_signed else other
    async with (
        serve_http(kubelet.handle, port=0, tls=certificate.tls_context()) as address,
        running_server() as server,
    ):
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "node1"},
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": address.port}},
            },
        }
        server.store.put(NODES, node)
        access = ClusterAccess(
            "test",
            "default",
            ApiServerInfo(server.url, ca_data=trusted.certificate.decode()),
            UserCredentials(token="secret"),
        )
        async with (
            ApiClient(access, _CLOCK) as client,
            KubeletCounters(client, verifies=verifies) as counters,
        ):
            yield counters


async def test_a_kubelet_that_the_authority_has_signed_gets_the_credentials() -> None:
    kubelet = _Kubelet()
    async with _counters(kubelet, verifies=True, is_signed=True) as counters:
        text = await counters.fetch("node1")

    assert text == b"prober_probe_total{} 1\n"
    assert kubelet.requests == ["/metrics/probes Bearer secret"]


async def test_a_kubelet_without_a_trusted_certificate_gets_no_credentials() -> None:
    kubelet = _Kubelet()
    async with _counters(kubelet, verifies=True, is_signed=False) as counters:
        with pytest.raises(CountersUnavailableError, match="is not signed") as caught:
            await counters.fetch("node1")

    assert kubelet.requests == []
    assert "--kubelet-insecure-tls" in str(caught.value)


async def test_an_untrusted_kubelet_gets_credentials_if_verification_is_off() -> None:
    kubelet = _Kubelet()
    async with _counters(kubelet, verifies=False, is_signed=False) as counters:
        await counters.fetch("node1")

    assert kubelet.requests == ["/metrics/probes Bearer secret"]


async def test_a_missing_right_is_named_with_its_command_and_the_way_round() -> None:
    async with _counters(_Kubelet(403), verifies=True, is_signed=True) as counters:
        with pytest.raises(CountersUnavailableError) as caught:
            await counters.fetch("node1")

    assert "`kubectl auth can-i get nodes --subresource=metrics`" in str(caught.value)
    assert "--via-node-proxy" in str(caught.value)
