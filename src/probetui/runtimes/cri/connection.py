"""Find a CRI runtime that can run pods, and say why the others cannot.

Endpoints are looked up as crictl does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import yaml
from msgspec import Struct

from probetui.errors import ContainerRuntimeError, RuntimeUnavailableError
from probetui.kubelet.runtime_health import NETWORK_READY, RUNTIME_READY
from probetui.ports import Clock
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.errors import (
    CHECK_ADDRESS,
    HAS_NO_CRI,
    HAS_NO_IMAGES,
    IS_TOO_OLD,
    MAKE_NETWORK,
    START_RUNTIME,
    CriDiagnosis,
    CriStatusError,
    diagnose_call,
    diagnose_socket,
)
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, CriVersion
from probetui.untrusted_files import read_settings

CRICTL_CONFIG = Path("/etc/crictl.yaml")

ENDPOINT_VARIABLE = "CONTAINER_RUNTIME_ENDPOINT"
IMAGE_VARIABLE = "IMAGE_SERVICE_ENDPOINT"
CONFIG_VARIABLE = "CRI_CONFIG_FILE"

KNOWN_SOCKETS = (
    ("unix:///run/containerd/containerd.sock", "containerd"),
    ("unix:///run/crio/crio.sock", "CRI-O"),
    ("unix:///var/run/cri-dockerd.sock", "cri-dockerd"),
)

_SCHEME = "unix://"

_LARGEST_CONFIG = 1024 * 1024
"""Bytes of crictl's configuration, which has a dozen lines."""


class CriEndpoint(Struct, frozen=True):
    """A runtime's address and where it was configured.

    `image_url` is the address of the image service, empty for the same one.
    """

    url: str
    source: str
    image_url: str = ""
    image_source: str = ""

    def __str__(self) -> str:
        return f"{self.url} ({self.source})"


def socket_path(url: str) -> str | None:
    """Return the socket of a `unix://` URL or a path, None for any other kind.

    The runtime must be on this machine: logs and volumes are files.
    """
    path = url.removeprefix(_SCHEME)
    return path if path.startswith("/") else None


def list_endpoints(
    option: str | None, environ: Mapping[str, str] = os.environ
) -> tuple[CriEndpoint, ...]:
    """Return the endpoints to try, in order.

    A configured endpoint is the only one: the option, then
    `CONTAINER_RUNTIME_ENDPOINT`, then crictl's configuration. Without any, the known
    sockets.

    Raises `RuntimeUnavailableError` for a configuration that cannot be read.
    """
    config_file, config = _crictl_config(environ)
    image_url, image_source = _first_set(
        (environ.get(IMAGE_VARIABLE), IMAGE_VARIABLE),
        (config.get("image-endpoint"), config_file),
    )
    url, source = _first_set(
        (option, "option --runtime-endpoint"),
        (environ.get(ENDPOINT_VARIABLE), ENDPOINT_VARIABLE),
        (config.get("runtime-endpoint"), config_file),
    )
    if url:
        return (CriEndpoint(url, source, image_url, image_source),)
    return tuple(
        CriEndpoint(known, name, image_url, image_source)
        for known, name in KNOWN_SOCKETS
    )


def _first_set(*choices: tuple[Any, str]) -> tuple[str, str]:
    """Return the first value that is set, and its source."""
    for value, source in choices:
        if value:
            return str(value), source
    return "", ""


def _crictl_config(environ: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
    """Return the path of crictl's configuration and its settings, empty if none."""
    named = environ.get(CONFIG_VARIABLE)
    file = Path(named) if named else CRICTL_CONFIG
    try:
        settings = yaml.safe_load(read_settings(file, _LARGEST_CONFIG).decode())
    except FileNotFoundError as error:
        if named:
            raise _unreadable(file, "there is no such file") from error
        return str(file), {}
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(file, "it is not YAML") from error
    if not isinstance(settings, dict | None):
        raise _unreadable(file, "it has no settings")
    return str(file), settings or {}


def _unreadable(file: Path, reason: str) -> RuntimeUnavailableError:
    message = f"crictl's configuration {file} cannot be read: {reason}"
    return RuntimeUnavailableError(message)


PING_LIMIT = timedelta(seconds=10)
"""The time limit of the first calls."""

OLD_VERSION = "/runtime.v1alpha2.RuntimeService/Version"
NO_IMAGE = "probetui.invalid/none"
NO_SOCKET = diagnose_socket(FileNotFoundError())
NOT_LOCAL = CriDiagnosis("is not a unix socket", CHECK_ADDRESS)


class UsableRuntime(Struct, frozen=True):
    """A runtime that answers and can run pods.

    `network_problem` is why pods outside the host's network have to wait.
    """

    client: CriClient
    engine: CriVersion
    network_problem: str = ""


class CriConnectionAttempt(Struct, frozen=True):
    """An endpoint and the result of trying it."""

    endpoint: CriEndpoint
    result: UsableRuntime | CriDiagnosis

    @property
    def outcome(self) -> str:
        """The result as text."""
        match self.result:
            case UsableRuntime(_, engine, problem):
                answer = f"answers, {engine.name} {engine.version}"
                if problem:
                    answer += f"; its network is not ready: {problem}; {MAKE_NETWORK}"
                return answer
            case CriDiagnosis(outcome):
                return outcome


async def try_endpoints(
    places: tuple[CriEndpoint, ...],
) -> AsyncIterator[CriConnectionAttempt]:
    """Try endpoints in order up to the first usable one; yield every attempt."""
    for endpoint in places:
        attempt = CriConnectionAttempt(endpoint, await _try_endpoint(endpoint))
        yield attempt
        if isinstance(attempt.result, UsableRuntime):
            return


def unavailable_error(tried: list[CriConnectionAttempt]) -> RuntimeUnavailableError:
    """Return the error that lists the attempts and what to do."""
    lines = [f"{attempt.endpoint}: {attempt.outcome}" for attempt in tried]
    problems = [
        attempt.result for attempt in tried if isinstance(attempt.result, CriDiagnosis)
    ]
    # An unusable runtime is more informative than a missing socket.
    informative = [problem for problem in problems if problem != NO_SOCKET] or problems
    advice = informative[0].advice if informative else START_RUNTIME
    return RuntimeUnavailableError(
        f"no CRI runtime can be used: {'; '.join(lines)}; {advice}", tried=lines
    )


async def connect(
    clock: Clock,
    options: CriOptions,
    *,
    endpoint: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> CriRuntime:
    """Return a runtime on the first usable endpoint.

    Args:
        clock: the session's clock.
        options: how pods are run.
        endpoint: the option --runtime-endpoint.
        environ: the environment, with `CONTAINER_RUNTIME_ENDPOINT` and the like.

    Raises `RuntimeUnavailableError`, which lists the attempts and what to do.
    """
    tried = []
    async for attempt in try_endpoints(list_endpoints(endpoint, environ)):
        if isinstance(attempt.result, UsableRuntime):
            usable = attempt.result
            return CriRuntime(usable.client, usable.engine, clock, options)
        tried.append(attempt)
    raise unavailable_error(tried)


async def describe_endpoints(
    *, endpoint: str | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[tuple[str, str], ...]:
    """Return the endpoints that `connect` would try, each with its outcome."""
    attempts = []
    try:
        async for attempt in try_endpoints(list_endpoints(endpoint, environ)):
            attempts.append((str(attempt.endpoint), attempt.outcome))
            if isinstance(attempt.result, UsableRuntime):
                await attempt.result.client.close()
    except RuntimeUnavailableError as error:
        return (("cri", str(error)),)
    return tuple(attempts)


async def _try_endpoint(endpoint: CriEndpoint) -> UsableRuntime | CriDiagnosis:
    problem = await _check_socket(endpoint.url)
    if problem is not None:
        return problem
    if endpoint.image_url:
        problem = await _check_socket(endpoint.image_url)
        if problem is not None:
            where = f"{endpoint.image_url} ({endpoint.image_source})"
            outcome = f"its image service at {where}: {problem.outcome}"
            return CriDiagnosis(outcome, problem.advice)
    client = CriClient(
        socket_path(endpoint.url) or "", socket_path(endpoint.image_url) or ""
    )
    result = await _check_runtime(client)
    if not isinstance(result, UsableRuntime):
        await client.close()
    return result


async def _check_socket(url: str) -> CriDiagnosis | None:
    """Return why a socket cannot be connected to; gRPC says so as text only."""
    path = socket_path(url)
    if path is None:
        return NOT_LOCAL
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError as error:
        return diagnose_socket(error)
    writer.close()
    return None


async def _check_runtime(client: CriClient) -> UsableRuntime | CriDiagnosis:
    """Check that a runtime speaks CRI v1, is ready, and has an image service."""
    try:
        version = await client.call(
            calls.VERSION, cri.VersionRequest(), limit=PING_LIMIT
        )
        status = await client.call(calls.STATUS, cri.StatusRequest(), limit=PING_LIMIT)
        ready = _condition(status.status, RUNTIME_READY)
        if ready is not None and not ready.status:
            return CriDiagnosis(
                f"{version.runtime_name} is not ready: {_describe(ready)}",
                "see its log",
            )
        network = _condition(status.status, NETWORK_READY)
        if not await _has_images(client):
            return HAS_NO_IMAGES
    except ContainerRuntimeError as error:
        problem = diagnose_call(error)
        if problem == HAS_NO_CRI and await client.has_method(OLD_VERSION):
            return IS_TOO_OLD
        return problem
    return UsableRuntime(
        client,
        CriVersion(
            version.runtime_name, version.runtime_version, version.runtime_api_version
        ),
        "" if network is None or network.status else _describe(network),
    )


def _condition(status: cri.RuntimeStatus, name: str) -> cri.RuntimeCondition | None:
    return next(
        (condition for condition in status.conditions if condition.type == name), None
    )


def _describe(condition: cri.RuntimeCondition) -> str:
    return ": ".join(filter(None, (condition.reason, condition.message)))


async def _has_images(client: CriClient) -> bool:
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=NO_IMAGE))
    try:
        await client.call(calls.IMAGE_STATUS, request, limit=PING_LIMIT)
    except CriStatusError as error:
        return error.code is not grpc.StatusCode.UNIMPLEMENTED
    return True
