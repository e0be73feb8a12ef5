"""The SDK's low-level client, with the calls that it lacks or offers only in part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import docker
import docker.auth
import docker.errors
import docker.types
import docker.utils
import requests
import requests.adapters
from docker.utils.json_stream import json_stream

from probetui.kubelet.effects import RegistryCredentials
from probetui.runtimes.docker.transport import UnixSocketAdapter

OLDEST_API_VERSION = "1.32"
"""The first one in which a sandbox may share its IPC namespace (Docker 17.09)."""

SOCKET_SCHEME = "http+unix://"

PIECE_BYTES = 64 * 1024

NOT_KEPT = {"Connection": "close"}
"""For responses that another thread closes while they are read: their connection must
not return to the pool, where the next call would find it closed."""


class DockerApi(docker.APIClient):  # type: ignore[misc]  # the SDK has no type hints
    """The low-level client; every call blocks, and may be made from any thread.

    Args:
        url: the daemon's endpoint, as Docker writes it.
        tls: the SDK's `TLSConfig`, None for none.
        timeout_seconds: how long a call may wait for an answer.
        connections: how many calls may be made at the same time.
    """

    def __init__(
        self, url: str, *, tls: Any = None, timeout_seconds: int, connections: int
    ) -> None:
        # Given a version, the SDK makes no call before its transport is replaced.
        super().__init__(
            base_url=url,
            tls=tls or False,
            version=OLDEST_API_VERSION,
            timeout=timeout_seconds,
        )
        self._replace_transport(url, connections)
        try:
            self._version = self._retrieve_server_version()
        except BaseException:
            self.close()
            raise

    def _replace_transport(self, url: str, connections: int) -> None:
        """Keep a connection open for each call that may be made at the same time."""
        address = str(docker.utils.parse_host(url))
        if address.startswith(SOCKET_SCHEME):
            path = "/" + address.removeprefix(SOCKET_SCHEME).lstrip("/")
            self.mount("http+docker://", UnixSocketAdapter(path, connections))
            # A socket needs neither proxies nor ~/.netrc, which are read for each call.
            self.trust_env = False
        elif address.startswith(("http://", "https://")):
            adapter = requests.adapters.HTTPAdapter(pool_maxsize=connections)
            self.mount("http://", adapter)
            self.mount("https://", adapter)

    def create_exec(
        self,
        container_id: str,
        command: tuple[str, ...],
        environment: Mapping[str, str],
        *,
        has_stdin: bool = False,
        tty: bool = False,
    ) -> str:
        """Create an exec and return its ID."""
        created = self.exec_create(
            container_id,
            list(command),
            environment=dict(environment),
            stdin=has_stdin,
            tty=tty,
        )
        return str(created["Id"])

    def start_exec(self, exec_id: str, *, tty: bool = False) -> requests.Response:
        """Start an exec and return the response that its output follows.

        The SDK's own `exec_start` returns the socket below the response, without what
        was already read after the response's head.
        """
        response: requests.Response = self._post_json(
            self._url("/exec/{0}/start", exec_id),
            headers={"Connection": "Upgrade", "Upgrade": "tcp"},
            data={"Tty": tty, "Detach": False},
            stream=True,
        )
        self._raise_for_status(response)
        return response

    def open_attach(self, container_id: str, *, has_stdin: bool) -> requests.Response:
        """Return the response that a container's output follows, from now on."""
        response: requests.Response = self._post(
            self._url("/containers/{0}/attach", container_id),
            headers={"Connection": "Upgrade", "Upgrade": "tcp"},
            params={"stream": 1, "stdin": int(has_stdin), "stdout": 1, "stderr": 1},
            stream=True,
        )
        self._raise_for_status(response)
        return response

    def open_logs(
        self,
        container_id: str,
        *,
        tail: int,
        follow: bool = False,
    ) -> docker.types.CancellableStream:
        """Return the log's bytes as they arrive, both streams multiplexed.

        The SDK's own `logs` loses which stream a line came from.

        Args:
            container_id: the container.
            tail: how many of the last lines are wanted.
            follow: whether to go on with what is written from now on.
        """
        parameters = {
            "stdout": 1,
            "stderr": 1,
            "timestamps": 1,
            "follow": int(follow),
            "tail": tail,
        }
        response = self._get(
            self._url("/containers/{0}/logs", container_id),
            params=parameters,
            headers=NOT_KEPT,
            stream=True,
            timeout=None if follow else self.timeout,
        )
        return self._cancellable(response, _pieces(response))

    def path_stat(self, container_id: str, path: str) -> dict[str, Any] | None:
        """Return the stat of a file in a container, None if there is none.

        The SDK's own `get_archive` would transfer the file as well.
        """
        response = self.head(
            self._url("/containers/{0}/archive", container_id),
            params={"path": path},
            timeout=self.timeout,
        )
        if response.status_code == HTTPStatus.NOT_FOUND:
            return None
        self._raise_for_status(response)
        stat: dict[str, Any] = docker.utils.decode_json_header(
            response.headers["X-Docker-Container-Path-Stat"]
        )
        return stat

    def open_pull(
        self, image: str, credentials: RegistryCredentials | None = None
    ) -> docker.types.CancellableStream:
        """Pull an image and return the daemon's messages, as dictionaries.

        The SDK's own `pull` returns a stream that cannot be cancelled. Without
        credentials those of Docker's own configuration are used.
        """
        repository, tag = docker.utils.parse_repository_tag(image)
        if credentials is None:
            registry, _ = docker.auth.resolve_repository_name(repository)
            header = docker.auth.get_config_header(self, registry)
        else:
            header = docker.auth.encode_header(
                {"username": credentials.username, "password": credentials.password}
            )
        response = self._post(
            self._url("/images/create"),
            params={"fromImage": repository, "tag": tag or "latest"},
            headers=NOT_KEPT | ({"X-Registry-Auth": header} if header else {}),
            stream=True,
            timeout=None,
        )
        return self._cancellable(response, json_stream(_pieces(response)))

    def _raise_for_status(self, response: requests.Response) -> None:
        """Raise the SDK's error also for servers that only resemble Docker."""
        try:
            super()._raise_for_status(response)
        except (KeyError, TypeError) as error:
            raise docker.errors.APIError(
                str(error), response=response, explanation=response.text
            ) from error

    def _cancellable(
        self, response: requests.Response, pieces: Iterator[Any]
    ) -> docker.types.CancellableStream:
        self._raise_for_status(response)
        return docker.types.CancellableStream(pieces, response)


def _pieces(response: requests.Response) -> Iterator[bytes]:
    """Yield a body as it arrives, without waiting for a full piece."""
    pieces: Iterator[bytes] = response.raw.stream(PIECE_BYTES, decode_content=False)
    return pieces
