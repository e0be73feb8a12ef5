"""How a cluster is reached and who one is there: each over a connection with TLS."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from probetui.cluster.client import PODS, ApiClient
from probetui.cluster.errors import ServerUnreachableError
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.serving.certificate import ServerCertificate, self_signed
from probetui.cluster.serving.http_server import (
    HttpRequest,
    HttpResponse,
    serve_http,
)
from probetui.drive.clocks import SystemClock
from tests.cluster.api_server.resources import PODS as POD_RESOURCE
from tests.cluster.api_server.store import WritableStore
from tests.cluster.servers import running_server
from tests.cluster.test_watch_command import _run as run_command

_NOW = SystemClock().now()
_EMPTY = json.dumps({"metadata": {"resourceVersion": "1"}, "items": []}).encode()


def _client_certificate(name: str) -> tuple[bytes, bytes]:
    """Return a certificate of a user, which is its own authority, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW - timedelta(hours=1))
        .not_valid_after(_NOW + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=False)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _write_config(
    path: Path,
    url: str,
    server: ServerCertificate,
    user: dict[str, Any],
    **cluster: Any,
) -> str:
    authority = _encoded(server.certificate)
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": user}],
        "clusters": [
            {
                "name": "c",
                "cluster": {
                    "server": url,
                    "certificate-authority-data": authority,
                    **cluster,
                },
            }
        ],
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    return str(path)


class _RequestLog:
    """A server that answers every request with an empty list, and keeps it."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []

    async def handle(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        return HttpResponse(200, _EMPTY)


@pytest.fixture(scope="module")
def server() -> ServerCertificate:
    return self_signed(["127.0.0.1", "localhost"], _NOW)


async def _list(config: str) -> None:
    access = load_access(config, environ={})
    async with ApiClient(access, SystemClock()) as client:
        await client.list(PODS, "default")


@pytest.mark.parametrize("is_inline", [True, False], ids=["data", "files"])
async def test_a_user_is_authenticated_by_a_client_certificate(
    tmp_path: Path, server: ServerCertificate, *, is_inline: bool
) -> None:
    certificate, key = _client_certificate("jane")
    tls, log = server.tls_context(), _RequestLog()
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(cadata=certificate.decode())
    user = {
        "client-certificate-data": _encoded(certificate),
        "client-key-data": _encoded(key),
    }
    if not is_inline:
        (tmp_path / "jane.crt").write_bytes(certificate)
        (tmp_path / "jane.key").write_bytes(key)
        user = {"client-certificate": "jane.crt", "client-key": "jane.key"}
    async with serve_http(log.handle, tls=tls) as address:
        await _list(_write_config(tmp_path / "config", address.url, server, user))

    (request,) = log.requests
    assert request.certificate is not None
    assert ("commonName", "jane") in request.certificate["subject"][0]


async def test_a_server_that_wants_a_certificate_refuses_a_user_without(
    tmp_path: Path, server: ServerCertificate
) -> None:
    certificate, _ = _client_certificate("jane")
    tls, log = server.tls_context(), _RequestLog()
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(cadata=certificate.decode())
    async with serve_http(log.handle, tls=tls) as address:
        config = _write_config(tmp_path / "config", address.url, server, {})
        with pytest.raises(ServerUnreachableError, match="127"):
            await _list(config)

    assert log.requests == []


async def test_a_server_whose_authority_is_another_is_refused(
    tmp_path: Path, server: ServerCertificate
) -> None:
    log, other = _RequestLog(), self_signed(["127.0.0.1"], _NOW)
    async with serve_http(log.handle, tls=server.tls_context()) as address:
        user = {"token": "secret"}
        config = _write_config(tmp_path / "config", address.url, other, user)
        with pytest.raises(ServerUnreachableError, match="certificate"):
            await _list(config)

    assert log.requests == []


@asynccontextmanager
async def _proxy(targets: list[str]) -> AsyncIterator[str]:
    """Serve CONNECT, and pass on what comes."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target = head.decode().split()[:2]
        targets.append(f"{method} {target}")
        host, _, port = target.rpartition(":")
        there = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


async def test_a_cluster_behind_a_proxy_is_reached_through_it(
    tmp_path: Path, server: ServerCertificate
) -> None:
    log, targets = _RequestLog(), list[str]()
    async with (
        serve_http(log.handle, tls=server.tls_context()) as address,
        _proxy(targets) as proxy,
    ):
        more = {"proxy-url": proxy}
        config = _write_config(tmp_path / "config", address.url, server, {}, **more)
        await _list(config)
        host = address.url.removeprefix("https://")

    assert targets == [f"CONNECT {host}"]
    assert [request.path for request in log.requests] == [
        "/api/v1/namespaces/default/pods"
    ]


async def test_a_user_acts_as_another_with_groups(
    tmp_path: Path, server: ServerCertificate
) -> None:
    log = _RequestLog()
    user = {"token": "t", "as": "jane", "as-uid": "7", "as-groups": ["dev", "ops"]}
    async with serve_http(log.handle, tls=server.tls_context()) as address:
        await _list(_write_config(tmp_path / "config", address.url, server, user))

    headers = log.requests[0].headers
    assert headers["authorization"] == "Bearer t"
    assert (headers["impersonate-user"], headers["impersonate-uid"]) == ("jane", "7")
    assert headers["impersonate-group"].replace(" ", "") == "dev,ops"


async def test_a_pod_reaches_its_cluster_with_its_service_account(
    tmp_path: Path, server: ServerCertificate
) -> None:
    (tmp_path / "token").write_text("from-the-account\n")
    (tmp_path / "ca.crt").write_bytes(server.certificate)
    (tmp_path / "namespace").write_text("jobs")
    tokens = {"from-the-account": "system:serviceaccount:jobs:default"}
    async with running_server(tls=server.tls_context(), tokens=tokens) as running:
        running.store.put(POD_RESOURCE, _pod("mine", "jobs", {}))
        host, _, port = running.url.removeprefix("https://").rpartition(":")
        environ = {
            "HOME": str(tmp_path / "nobody"),
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": port,
        }
        access = load_access(environ=environ, service_account=tmp_path)
        async with ApiClient(access, SystemClock()) as client:
            listed = await client.list(PODS, access.namespace)

    names = [item["metadata"]["name"] async for item in listed.objects()]
    assert names == ["mine"]


def _pod(name: str, namespace: str, labels: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels, "uid": name}
    containers = [{"name": "app", "image": "web:1"}]
    spec = {"containers": containers, "nodeName": "node1"}
    running = {"running": {"startedAt": "2026-11-23T01:03:40Z"}}
    status = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "app",
                "image": "web:1",
                "imageID": "",
                "containerID": f"containerd://{name}",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": running,
            }
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


async def test_the_pods_of_a_deployment_are_watched_and_no_others(
    tmp_path: Path, server: ServerCertificate
) -> None:
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["front", "back"]}
        ],
    }
    deployment = {"metadata": {"name": "web"}, "spec": {"selector": selector}}
    store = WritableStore(SystemClock().now)
    for name, labels in (
        ("web-1", {"app": "web", "tier": "front"}),
        ("web-2", {"app": "web", "tier": "lost"}),
        ("db-1", {"app": "db", "tier": "back"}),
    ):
        store.put(POD_RESOURCE, _pod(name, "shop", labels))
    async with running_server(store) as running:

        async def handle(request: HttpRequest) -> Any:
            if request.path == "/apis/apps/v1/namespaces/shop/deployments/web":
                return HttpResponse(200, json.dumps(deployment).encode())
            return await running.api.handle(request)

        async with serve_http(handle, tls=server.tls_context()) as address:
            config = _write_config(tmp_path / "config", address.url, server, {})
            status, output, errors = await run_command(
                *("watch", "deployment/web", "-n", "shop", "--kubeconfig", config),
                *("--no-counters", "-o", "jsonl", "--timeout", "2s"),
            )

    lines = [json.loads(line) for line in output.splitlines()]
    assert status == 4, errors
    assert {line["pod"] for line in lines if line.get("pod")} == {"web-1"}
