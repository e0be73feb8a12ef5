"""Finding a Docker daemon: where it is looked for, in order, and what came of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker.constants
import docker.errors
import docker.utils
from docker.context import ContextAPI
from docker.context.config import get_current_context_name, get_meta_dir

from probetui.errors import RuntimeUnavailableError
from probetui.ports import Clock
from probetui.runtimes.docker.api import OLDEST_API_VERSION, Api
from probetui.runtimes.docker.client import LONG_CALLS, SHORT_CALLS, run_apart
from probetui.runtimes.docker.faults import FOREIGN_ERRORS, diagnose
from probetui.runtimes.docker.reach import Daemon
from probetui.runtimes.docker.runtime import DockerOptions, DockerRuntime

REQUEST_SECONDS = 120
"""How long a daemon may take to answer; the kubelet's runtimeRequestTimeout."""

PING_SECONDS = 10
"""How long it may take to answer the first time."""

NAME_ENDPOINT = "name one as in unix:///var/run/docker.sock or tcp://HOST:2375"
FORWARD_SOCKET = (
    "forward its socket (ssh -L /tmp/docker.sock:/var/run/docker.sock HOST) "
    "and use --host unix:///tmp/docker.sock"
)

PODMAN_SOCKET = Path("/run/podman/podman.sock")

DEFAULT_SOCKET = "unix:///var/run/docker.sock"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a daemon may be, and who says so.

    `url` is as Docker writes it: `unix://`, `tcp://` or `ssh://`.
    """

    url: str
    source: str
    tls: Any = None

    def __str__(self) -> str:
        return f"{self.url} ({self.source})"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of trying an endpoint; `api` is there if it answered."""

    endpoint: Endpoint
    outcome: str
    advice: str = ""
    api: Api | None = None


def endpoints(
    host: str | None, context: str | None, environ: Mapping[str, str]
) -> tuple[Endpoint, ...]:
    """Return where to look, in order.

    An endpoint that somebody named is the only one: the option, then `DOCKER_HOST`,
    then `DOCKER_CONTEXT`, then the current context, as in Docker's own client.
    Otherwise the default socket comes first and the other known ones follow.

    Raises `RuntimeUnavailableError` for a context that is not there or broken.
    """
    if host:
        return (Endpoint(host, "option --host", _tls(environ)),)
    if context:
        return (_of_context(context, "option --context"),)
    if named := environ.get("DOCKER_HOST"):
        return (Endpoint(named, "DOCKER_HOST", _tls(environ)),)
    if name := environ.get("DOCKER_CONTEXT"):
        return (_of_context(name, "DOCKER_CONTEXT"),)
    current = str(_read_contexts(get_current_context_name))
    if current != "default":
        return (_of_context(current, "current context"),)
    return (
        Endpoint(DEFAULT_SOCKET, "default"),
        *(_known_sockets(environ)),
    )


def attempts(found: tuple[Endpoint, ...]) -> Iterator[Attempt]:
    """Yield what comes of each endpoint, in order, up to the first that answers."""
    for endpoint in found:
        attempt = _try(endpoint)
        yield attempt
        if attempt.api is not None:
            return


def unavailable(tried: list[Attempt]) -> RuntimeUnavailableError:
    """Return the error that says what was tried and what to do."""
    lines = [f"{each.endpoint}: {each.outcome}" for each in tried]
    # What is known of the first place is worth more than that others are empty.
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
        host: the endpoint that the user named, as Docker writes it.
        context: the Docker context that the user named.
        environ: where `DOCKER_HOST` and the like are looked up.

    Raises `RuntimeUnavailableError`, which says what was tried and what to do.
    """

    def find() -> tuple[Api, Daemon]:
        tried = list(attempts(endpoints(host, context, environ)))
        found = tried[-1]
        if found.api is None:
            raise unavailable(tried)
        try:
            api = found.api
            return api, Daemon.of(found.endpoint.url, api.info(), api.version())
        except FOREIGN_ERRORS as error:
            found.api.close()
            raise unavailable([*tried[:-1], _failed(found.endpoint, error)]) from error

    api, daemon = await run_apart(find)
    return DockerRuntime(api, daemon, clock, options)


async def describe(
    *,
    host: str | None = None,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> tuple[tuple[str, str], ...]:
    """Return the endpoints that `connect` would try, each with what comes of it."""

    def look() -> tuple[tuple[str, str], ...]:
        try:
            found = []
            for each in attempts(endpoints(host, context, environ)):
                found.append((str(each.endpoint), each.outcome))
                if each.api is not None:
                    each.api.close()
        except RuntimeUnavailableError as error:
            return (("docker", str(error)),)
        return tuple(found)

    return await run_apart(look)


def _try(endpoint: Endpoint) -> Attempt:
    if endpoint.url.startswith("ssh://"):
        # The SDK's streams over SSH can neither be cancelled nor waited for.
        return Attempt(endpoint, "ssh:// is not supported", FORWARD_SOCKET)
    try:
        api = Api(
            endpoint.url,
            tls=endpoint.tls,
            timeout_seconds=PING_SECONDS,
            connections=SHORT_CALLS + LONG_CALLS,
        )
    except FOREIGN_ERRORS as error:
        return _failed(endpoint, error)
    except ValueError as error:  # the SDK takes the text apart with urllib
        return Attempt(endpoint, f"is not a Docker endpoint: {error}", NAME_ENDPOINT)
    if docker.utils.version_lt(api.api_version, OLDEST_API_VERSION):
        api.close()
        outcome = f"its API {api.api_version} is older than {OLDEST_API_VERSION}"
        return Attempt(endpoint, outcome, "upgrade Docker")
    api.timeout = REQUEST_SECONDS
    return Attempt(endpoint, f"answers, API {api.api_version}", api=api)


def _failed(endpoint: Endpoint, error: Exception) -> Attempt:
    found = diagnose(error)
    return Attempt(endpoint, found.outcome, found.advice)


def _tls(environ: Mapping[str, str]) -> Any:
    """Return the certificates that the environment names, if any."""
    # Without any variable the SDK would look at the real environment.
    try:
        return docker.utils.kwargs_from_env({"": "", **environ}).get("tls")
    except docker.errors.TLSParameterError as error:
        found = diagnose(error)
        raise RuntimeUnavailableError(
            f"{found.outcome}; {found.advice}", tried=[found.outcome]
        ) from error


def _of_context(name: str, source: str) -> Endpoint:
    label = f"{source} {name}"
    found = _read_contexts(lambda: ContextAPI.get_context(name))
    if found is None:
        known = ", ".join(_read_contexts(_context_names))
        raise RuntimeUnavailableError(
            f'Docker has no context "{name}" ({source}); it has: {known}',
            tried=[f"{label}: no such context"],
        )
    return Endpoint(found.Host or DEFAULT_SOCKET, label, found.TLSConfig)


def _context_names() -> list[str]:
    """Return the contexts there are; the SDK's own list leaves files open."""
    files = Path(get_meta_dir()).glob("*/meta.json")
    return ["default", *sorted(json.loads(each.read_text())["Name"] for each in files)]


def _read_contexts(read: Callable[[], Any]) -> Any:
    """Return what the SDK reads from Docker's configuration folder."""
    try:
        return read()
    except Exception as error:  # the SDK raises a bare Exception
        raise RuntimeUnavailableError(
            f"Docker's contexts cannot be read: {error}",
            tried=[f"contexts: {error}"],
        ) from error


def _known_sockets(environ: Mapping[str, str]) -> Iterator[Endpoint]:
    """Yield where other engines with Docker's API listen, if a file is there.

    What is not there is not worth a line in an error.
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
            yield Endpoint(f"unix://{path}", source)
