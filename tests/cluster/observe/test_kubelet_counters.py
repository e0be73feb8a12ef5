"""Counters of the kubelets: over TLS, with credentials for trusted kubelets only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

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
from tests.cluster.api_server.resources import NODES
from tests.cluster.servers import running_server

_CLOCK = SystemClock()


class _Kubelet:
    """A kubelet's port that records the received credentials."""

    def __init__(self, status: int = 200, **headers: str) -> None:
        self.certificate = self_signed(["127.0.0.1"], _CLOCK.now())
        self.requests: list[str] = []
        self._status = status
        self._headers = headers

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(f"{request.path} {request.headers['authorization']}")
        return HttpResponse(
            self._status, body=b"prober_probe_total{} 1\n", headers=self._headers
        )


@asynccontextmanager
async def _counters(
    kubelet: _Kubelet,
    *,
    verifies: bool,
    is_signed: bool,
    has_authority: bool = True,
    insecure: bool = False,
) -> AsyncIterator[KubeletCounters]:
    certificate = kubelet.certificate
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
            ApiServerInfo(
                server.url,
                ca_data=trusted.certificate.decode() if has_authority else None,
                insecure=insecure,
            ),
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


@pytest.mark.parametrize("insecure", [False, True])
async def test_without_an_authority_of_the_cluster_no_kubelet_gets_the_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, insecure: bool
) -> None:
    kubelet = _Kubelet()
    of_the_system = tmp_path / "authorities.pem"
    of_the_system.write_bytes(kubelet.certificate.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(of_the_system))
    async with _counters(
        kubelet, verifies=True, is_signed=True, has_authority=False, insecure=insecure
    ) as counters:
        with pytest.raises(CountersUnavailableError) as caught:
            await counters.fetch("node1")

    assert kubelet.requests == []
    assert "no certificate authority" in str(caught.value)
    assert "--kubelet-insecure-tls" in str(caught.value)
    assert "--via-node-proxy" in str(caught.value)


async def test_a_kubelet_that_redirects_is_not_followed() -> None:
    other = _Kubelet()
    tls = other.certificate.tls_context()
    async with serve_http(other.handle, port=0, tls=tls) as address:
        location = f"https://127.0.0.1:{address.port}/"
        kubelet = _Kubelet(307, Location=location)
        async with _counters(kubelet, verifies=False, is_signed=False) as counters:
            with pytest.raises(CountersUnavailableError, match="HTTP 307"):
                await counters.fetch("node1")

    assert kubelet.requests == ["/metrics/probes Bearer secret"]
    assert other.requests == []
