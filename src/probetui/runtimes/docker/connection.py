"""Connecting to a Docker daemon: the endpoints to try, and the first that answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import docker.constants
import docker.errors
import docker.utils
from docker.context import ContextAPI
from docker.context.config import get_current_context_name, get_meta_dir
from msgspec import Struct

from probetui.errors import RuntimeUnavailableError
from probetui.ports import Clock
from probetui.runtimes.docker.api import OLDEST_API_VERSION, DockerApi
from probetui.runtimes.docker.client import LONG_CALLS, SHORT_CALLS, run_in_own_thread
from probetui.runtimes.docker.errors import SDK_ERRORS, diagnose
from probetui.runtimes.docker.port_publishing import DockerDaemon
from probetui.runtimes.docker.runtime import DockerOptions, DockerRuntime
from probetui.runtimes.docker_settings import check_docker_settings
from probetui.untrusted_files import read_settings

REQUEST_SECONDS = 120
"""How long a daemon may take to answer; the kubelet's runtimeRequestTimeout."""

PING_SECONDS = 10
"""How long it may take to answer the first request."""

NAME_ENDPOINT = "name one as in unix:///var/run/docker.sock or tcp://HOST:2375"
FORWARD_SOCKET = (
    "forward its socket (ssh -L /tmp/docker.sock:/var/run/docker.sock HOST) "
    "and use --host unix:///tmp/docker.sock"
)

PODMAN_SOCKET = Path("/run/podman/podman.sock")

DEFAULT_SOCKET = "unix:///var/run/docker.sock"


class DockerEndpoint(Struct, frozen=True):
    """An endpoint of a daemon.

    Attributes:
        url: as Docker writes it: `unix://`, `tcp://` or `ssh://`.
        source: the option, variable or default that it comes from.
        tls: the SDK's `TLSConfig`, None for none.
    """

    url: str
    source: str
    tls: Any = None

    def __str__(self) -> str:
        return f"{self.url} ({self.source})"


class DockerConnectionAttempt(Struct, frozen=True):
    """The outcome of trying an endpoint; `api` is set if it answered."""

    endpoint: DockerEndpoint
    outcome: str
    advice: str = ""
    api: DockerApi | None = None


def list_endpoints(
    host: str | None, context: str | None, environ: Mapping[str, str]
) -> tuple[DockerEndpoint, ...]:
    """Return the endpoints to try, in order.

    A named endpoint is the only one: the options, then `DOCKER_HOST`, then
    `DOCKER_CONTEXT`, then the current context, as in Docker's own client. Otherwise it
    is the default socket, followed by those of other engines that exist.

    Raises:
        RuntimeUnavailableError: a context does not exist, or settings cannot be read.
    """
    _read_settings(check_docker_settings)
    if host:
        return (DockerEndpoint(host, "option --host", _tls(environ)),)
    if context:
        return (_of_context(context, "option --docker-context"),)
    if named := environ.get("DOCKER_HOST"):
        return (DockerEndpoint(named, "DOCKER_HOST", _tls(environ)),)
    if name := environ.get("DOCKER_CONTEXT"):
        return (_of_context(name, "DOCKER_CONTEXT"),)
    current = str(_read_settings(get_current_context_name))
    if current != "default":
        return (_of_context(current, "current context"),)
    return (
        DockerEndpoint(DEFAULT_SOCKET, "default"),
        *(_known_sockets(environ)),
    )


def try_endpoints(
    endpoints: tuple[DockerEndpoint, ...],
) -> Iterator[DockerConnectionAttempt]:
    """Yield the outcome for each endpoint, up to the first that answers."""
    for endpoint in endpoints:
        attempt = _try_endpoint(endpoint)
        yield attempt
        if attempt.api is not None:
            return


def unavailable_error(tried: list[DockerConnectionAttempt]) -> RuntimeUnavailableError:
    """Return the error that names every endpoint tried, and what to do."""
    lines = [f"{attempt.endpoint}: {attempt.outcome}" for attempt in tried]
    # The first endpoint is the most likely one; others may not even exist.
    advice = tried[0].advice
    return RuntimeUnavailableError(
        f"no Docker daemon answers: {'; '.join(lines)}; {advice}", tried=lines
    )


async def connect(
    clock: Clock,
    options: DockerOptions,
    *,
    host: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> DockerRuntime:
    """Return a runtime on the first daemon that answers.

    Args:
        clock: the session's.
        options: how pods are run.
        host: the endpoint of `--host`, as Docker writes it.
        context: the Docker context of `--docker-context`.
        environ: the environment, for `DOCKER_HOST` and the like.

    Raises:
        RuntimeUnavailableError: none answers; it says what was tried and what to do.
    """

    def find_daemon() -> tuple[DockerApi, DockerDaemon]:
        tried = list(try_endpoints(list_endpoints(host, context, environ)))
        attempt = tried[-1]
        if attempt.api is None:
            raise unavailable_error(tried)
        try:
            api = attempt.api
            return api, DockerDaemon.of(attempt.endpoint.url, api.info(), api.version())
        except SDK_ERRORS as error:
            attempt.api.close()
            raise unavailable_error(
                [*tried[:-1], _failed(attempt.endpoint, error)]
            ) from error

    api, daemon = await run_in_own_thread(find_daemon)
    return DockerRuntime(api, daemon, clock, options)


async def describe_endpoints(
    *,
    host: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> tuple[tuple[str, str], ...]:
    """Return the endpoints that `connect` would try, each with its outcome."""

    def try_all() -> tuple[tuple[str, str], ...]:
        try:
            attempts = []
            for attempt in try_endpoints(list_endpoints(host, context, environ)):
                attempts.append((str(attempt.endpoint), attempt.outcome))
                if attempt.api is not None:
                    attempt.api.close()
        except RuntimeUnavailableError as error:
            return (("docker", str(error)),)
        return tuple(attempts)

    return await run_in_own_thread(try_all)


def _try_endpoint(endpoint: DockerEndpoint) -> DockerConnectionAttempt:
    if endpoint.url.startswith("ssh://"):
        # The SDK's streams over SSH cannot be cancelled.
        return DockerConnectionAttempt(
            endpoint, "ssh:// is not supported", FORWARD_SOCKET
        )
    try:
        api = DockerApi(
            endpoint.url,
            tls=endpoint.tls,
            timeout_seconds=PING_SECONDS,
            connections=SHORT_CALLS + LONG_CALLS,
        )
    except SDK_ERRORS as error:
        return _failed(endpoint, error)
    except ValueError as error:  # the SDK parses the URL with urllib
        return DockerConnectionAttempt(
            endpoint, f"is not a Docker endpoint: {error}", NAME_ENDPOINT
        )
    if docker.utils.version_lt(api.api_version, OLDEST_API_VERSION):
        api.close()
        outcome = f"its API {api.api_version} is older than {OLDEST_API_VERSION}"
        return DockerConnectionAttempt(endpoint, outcome, "upgrade Docker")
    api.timeout = REQUEST_SECONDS
    return DockerConnectionAttempt(endpoint, f"answers, API {api.api_version}", api=api)


def _failed(endpoint: DockerEndpoint, error: Exception) -> DockerConnectionAttempt:
    diagnosis = diagnose(error)
    return DockerConnectionAttempt(endpoint, diagnosis.outcome, diagnosis.advice)


def _tls(environ: Mapping[str, str]) -> Any:
    """Return the TLS configuration of the environment, None for none."""
    # Given an empty mapping, the SDK would read the process's environment.
    try:
        return docker.utils.kwargs_from_env({"": "", **environ}).get("tls")
    except docker.errors.TLSParameterError as error:
        diagnosis = diagnose(error)
        raise RuntimeUnavailableError(
            f"{diagnosis.outcome}; {diagnosis.advice}", tried=[diagnosis.outcome]
        ) from error


def _of_context(name: str, source: str) -> DockerEndpoint:
    label = f"{source} {name}"
    _read_settings(lambda: check_docker_settings(name))
    context = _read_settings(lambda: ContextAPI.get_context(name))
    if context is None:
        names = ", ".join(_read_settings(_context_names))
        raise RuntimeUnavailableError(
            f'Docker has no context "{name}" ({source}); it has: {names}',
            tried=[f"{label}: no such context"],
        )
    return DockerEndpoint(context.Host or DEFAULT_SOCKET, label, context.TLSConfig)


def _context_names() -> list[str]:
    """Return the names of all contexts; the SDK's own list leaks open files."""
    files = Path(get_meta_dir()).glob("*/meta.json")
    names = (json.loads(read_settings(file))["Name"] for file in files)
    return ["default", *sorted(names)]


def _read_settings(read: Callable[[], Any]) -> Any:
    """Read Docker's configuration folder; raises `RuntimeUnavailableError`."""
    try:
        return read()
    except Exception as error:  # the SDK raises a bare Exception
        raise RuntimeUnavailableError(
            f"Docker's settings cannot be read: {error}",
            tried=[f"settings: {error}"],
        ) from error


def _known_sockets(environ: Mapping[str, str]) -> Iterator[DockerEndpoint]:
    """Yield the sockets of other engines with Docker's API, if they exist.

    One that does not exist is not worth a line in an error message.
    """
    home = Path(environ.get("HOME") or Path.home())
    run = Path(environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    places = (
        (run / "docker.sock", "rootless"),
        (home / ".docker/run/docker.sock", "Docker Desktop"),
        (home / ".docker/desktop/docker.sock", "Docker Desktop"),
        (home / ".colima/default/docker.sock", "Colima"),
        (home / ".orbstack/run/docker.sock", "OrbStack"),
        (home / ".rd/docker.sock", "Rancher Desktop"),
        (run / "podman/podman.sock", "Podman"),
        (PODMAN_SOCKET, "Podman"),
    )
    for path, source in places:
        if path.exists():
            yield DockerEndpoint(f"unix://{path}", source)
