"""Credentials of requests: tokens, token files, and credential plugins.

Source: k8s.io/client-go plugin/pkg/client/auth/exec/exec.go, v0.32.10 (run before the
first request, again when what it printed expires and after a 401);
transport/token_source.go, cachingTokenSource (a token file is read again each minute).
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from msgspec import Struct

from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import ApiServerInfo, ExecCredential, UserCredentials
from probetui.ports import Clock
from probetui.safe_text import safe_line
from probetui.untrusted_files import read_settings

_FILE_LIFETIME = timedelta(minutes=1)
_EXPIRY_MARGIN = timedelta(seconds=10)
_EXEC_TIMEOUT_SECONDS = 120
_LARGEST_TOKEN = 2**20
_UNAUTHORIZED = 401


class _ExecStatus(Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecAnswer(Struct, rename="camel"):
    kind: str
    api_version: str
    status: _ExecStatus | None = None


class Credentials:
    """Sends requests with a user's credentials; renews those that expire.

    Not an `httpx2.Auth`: before a second request httpx2 reads the whole response,
    whatever its decompressed size.

    Args:
        user: the user.
        cluster: the cluster, which credential plugins may ask for.
        clock: decides what has expired.
    """

    def __init__(
        self, user: UserCredentials, cluster: ApiServerInfo, clock: Clock
    ) -> None:
        self._user = user
        self._cluster = cluster
        self._clock = clock
        self._token: str | None = None
        self._until: datetime | None = None
        self._is_fresh = False
        self._lock = asyncio.Lock()
        self.exec_certificate: tuple[str, str] | None = None
        """The client certificate and key that a program printed, as PEM texts."""

    async def send(
        self, http: httpx2.AsyncClient, request: httpx2.Request
    ) -> httpx2.Response:
        """Send a request; retry it once with new credentials after a 401.

        Returns:
            The response, its body unread.

        Raises:
            ClusterError: the credentials cannot be loaded.
            httpx2.HTTPError: there is no response.
        """
        header = await self.header()
        self._add(request, header)
        response = await http.send(request, stream=True)
        if response.status_code != _UNAUTHORIZED or not self._renewable:
            return response
        self.forget()
        newer = await self.header()
        if newer == header:
            return response
        await response.aclose()
        self._add(request, newer)
        return await http.send(request, stream=True)

    async def header(self) -> str | None:
        """Return the value of the Authorization header, None if there is none.

        Raises:
            ClusterError: the file or the plugin gives no credentials.
        """
        user = self._user
        if self._renewable:
            async with self._lock:
                if self._is_stale():
                    await self._renew()
            return None if self._token is None else f"Bearer {self._token}"
        if user.token:
            return f"Bearer {user.token}"
        if user.username is not None:
            pair = f"{user.username}:{user.password or ''}".encode()
            return f"Basic {base64.b64encode(pair).decode()}"
        return None

    def forget(self) -> None:
        """Discard the credentials; the next request loads new ones."""
        self._is_fresh = False

    @property
    def _renewable(self) -> bool:
        return (
            self._user.token_file is not None or self._user.exec_credential is not None
        )

    def _is_stale(self) -> bool:
        if not self._is_fresh:
            return True
        return self._until is not None and self._clock.now() >= self._until

    async def _renew(self) -> None:
        if (path := self._user.token_file) is not None:
            self._token = _read_token(path)
            self._until = self._clock.now() + _FILE_LIFETIME
        elif (plugin := self._user.exec_credential) is not None:
            status = await _run(plugin, self._cluster)
            self._token = status.token
            if status.client_certificate_data and status.client_key_data:
                self.exec_certificate = (
                    status.client_certificate_data,
                    status.client_key_data,
                )
            expires = status.expiration_timestamp
            self._until = None if expires is None else expires - _EXPIRY_MARGIN
        self._is_fresh = True

    def _add(self, request: httpx2.Request, header: str | None) -> None:
        if header is not None:
            request.headers["Authorization"] = header
        user = self._user
        if user.impersonates:
            request.headers["Impersonate-User"] = user.impersonates
            if user.impersonates_uid:
                request.headers["Impersonate-Uid"] = user.impersonates_uid


def impersonation_headers(user: UserCredentials) -> list[tuple[str, str]]:
    """Return the impersonation headers, some of which repeat."""
    return [("Impersonate-Group", group) for group in user.impersonates_groups]


def _read_token(path: Path) -> str:
    try:
        token = read_settings(path, _LARGEST_TOKEN).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"the token file {path}: {error}") from error
    if not token:
        raise ClusterError(f"the token file {path} is empty")
    return token


async def _run(plugin: ExecCredential, cluster: ApiServerInfo) -> _ExecStatus:
    """Run a credential plugin, without a terminal."""
    name = safe_line(plugin.command)
    if plugin.is_interactive:
        raise ClusterError(
            f"{name} needs a terminal (interactiveMode: Always); log in with kubectl "
            "first, and use credentials that need none"
        )
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provides_cluster_info:
        spec["cluster"] = _cluster_json(cluster)
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    environ = os.environ | dict(plugin.env)
    environ["KUBERNETES_EXEC_INFO"] = json.dumps(info)
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        hint = f"; {plugin.install_hint}" if plugin.install_hint else ""
        raise ClusterError(
            f"credentials: {name}: {error.strerror or error}{hint}"
        ) from error
    try:
        async with asyncio.timeout(_EXEC_TIMEOUT_SECONDS):
            output, errors = await process.communicate()
    except TimeoutError as error:
        raise ClusterError(
            f"credentials: {name} did not end within {_EXEC_TIMEOUT_SECONDS}s"
        ) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        reason = safe_line(errors.decode(errors="replace").strip(), limit=500)
        raise ClusterError(
            f"credentials: {name} ended with status {process.returncode}: {reason}"
        )
    return _read_answer(output, plugin, name)


def _read_answer(output: bytes, plugin: ExecCredential, name: str) -> _ExecStatus:
    try:
        answer = msgspec.json.decode(output[:_LARGEST_TOKEN], type=_ExecAnswer)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        text = safe_line(str(error), limit=300)
        raise ClusterError(
            f"credentials: {name} did not print an ExecCredential: {text}"
        ) from error
    status = answer.status
    if answer.kind != "ExecCredential" or answer.api_version != plugin.api_version:
        raise ClusterError(
            f"credentials: {name} printed {safe_line(answer.api_version)} "
            f"{safe_line(answer.kind)} instead of {plugin.api_version} ExecCredential"
        )
    if status is None or not (status.token or status.client_certificate_data):
        raise ClusterError(f"credentials: {name} printed neither token nor certificate")
    return status


def _cluster_json(cluster: ApiServerInfo) -> dict[str, Any]:
    json_object: dict[str, Any] = {"server": cluster.server}
    if cluster.ca_data is not None:
        pem = base64.b64encode(cluster.ca_data.encode()).decode()
        json_object["certificate-authority-data"] = pem
    if cluster.insecure:
        json_object["insecure-skip-tls-verify"] = True
    if cluster.tls_server_name:
        json_object["tls-server-name"] = cluster.tls_server_name
    if cluster.proxy_url:
        json_object["proxy-url"] = cluster.proxy_url
    return json_object


def make_tls_context(
    cluster: ApiServerInfo, certificate: tuple[str, str] | None
) -> ssl.SSLContext:
    """Return the TLS settings of connections to a cluster.

    Args:
        cluster: its certificate authorities are trusted.
        certificate: the client's certificate and key as PEM texts, if it has them.

    Raises:
        ClusterError: a certificate or key is invalid.
    """
    try:
        context = ssl.create_default_context(cadata=cluster.ca_data)
        if cluster.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is not None:
            # OpenSSL only reads them from files.
            with tempfile.NamedTemporaryFile() as file:  # mode 0600
                file.write("\n".join(certificate).encode())
                file.flush()
                context.load_cert_chain(file.name)
    except (ssl.SSLError, ValueError) as error:
        raise ClusterError(f"the certificates of the kubeconfig: {error}") from error
    return context
