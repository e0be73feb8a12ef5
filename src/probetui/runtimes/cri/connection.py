"""Finding a CRI runtime that can run pods, and saying what came of each place."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import grpc

from probetui.errors import ContainerRuntimeError, RuntimeUnavailableError
from probetui.ports import Clock
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import Client
from probetui.runtimes.cri.endpoints import Endpoint, endpoints, socket_path
from probetui.runtimes.cri.faults import (
    CHECK_ADDRESS,
    HAS_NO_CRI,
    HAS_NO_IMAGES,
    IS_TOO_OLD,
    MAKE_NETWORK,
    START_RUNTIME,
    Diagnosis,
    RefusedError,
    diagnose_call,
    diagnose_socket,
)
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, Engine

PING_LIMIT = timedelta(seconds=10)
"""How long a runtime may take to answer the first time."""

OLD_VERSION = "/runtime.v1alpha2.RuntimeService/Version"
NO_IMAGE = "probetui.invalid/none"
NO_SOCKET = diagnose_socket(FileNotFoundError())
NOT_LOCAL = Diagnosis("is not a unix socket, which is what is needed", CHECK_ADDRESS)

NETWORK_READY = "NetworkReady"


@dataclass(frozen=True, slots=True)
class Found:
    """A runtime that answered and can run pods."""

    client: Client
    engine: Engine


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of trying an endpoint."""

    endpoint: Endpoint
    result: Found | Diagnosis

    @property
    def outcome(self) -> str:
        """The same in words."""
        match self.result:
            case Found(engine=engine):
                return f"answers, {engine.name} {engine.version}"
            case Diagnosis(outcome):
                return outcome


async def attempts(places: tuple[Endpoint, ...]) -> AsyncIterator[Attempt]:
    """Yield what comes of each endpoint, in order, up to the first that will do."""
    for endpoint in places:
        attempt = Attempt(endpoint, await _try(endpoint))
        yield attempt
        if isinstance(attempt.result, Found):
            return


def unavailable(tried: list[Attempt]) -> RuntimeUnavailableError:
    """Return the error that says what was tried and what to do."""
    lines = [f"{each.endpoint}: {each.outcome}" for each in tried]
    problems = [each.result for each in tried if isinstance(each.result, Diagnosis)]
    # A runtime that is there and cannot be used says more than a place that is empty.
    telling = [each for each in problems if each != NO_SOCKET] or problems
    advice = telling[0].advice if telling else START_RUNTIME
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
    """Return a runtime on the first endpoint that will do.

    Args:
        clock: the session's.
        options: how pods are run.
        endpoint: the one that the user named.
        environ: where `CONTAINER_RUNTIME_ENDPOINT` and the like are looked up.

    Raises `RuntimeUnavailableError`, which says what was tried and what to do.
    """
    tried = []
    async for attempt in attempts(endpoints(endpoint, environ)):
        if isinstance(attempt.result, Found):
            found = attempt.result
            return CriRuntime(found.client, found.engine, clock, options)
        tried.append(attempt)
    raise unavailable(tried)


async def describe(
    *, endpoint: str | None = None, environ: Mapping[str, str] = os.environ
) -> tuple[tuple[str, str], ...]:
    """Return the endpoints that `connect` would try, each with what comes of it."""
    found = []
    try:
        async for attempt in attempts(endpoints(endpoint, environ)):
            found.append((str(attempt.endpoint), attempt.outcome))
            if isinstance(attempt.result, Found):
                await attempt.result.client.close()
    except RuntimeUnavailableError as error:
        return (("cri", str(error)),)
    return tuple(found)


async def _try(endpoint: Endpoint) -> Found | Diagnosis:
    problem = await _knock(endpoint.url)
    if problem is not None:
        return problem
    if endpoint.image_url:
        problem = await _knock(endpoint.image_url)
        if problem is not None:
            where = f"{endpoint.image_url} ({endpoint.image_source})"
            outcome = f"its image service at {where}: {problem.outcome}"
            return Diagnosis(outcome, problem.advice)
    client = Client(
        socket_path(endpoint.url) or "", socket_path(endpoint.image_url) or ""
    )
    result = await _examine(client)
    if not isinstance(result, Found):
        await client.close()
    return result


async def _knock(url: str) -> Diagnosis | None:
    """Tell why a socket cannot be connected to; gRPC does so in words only."""
    path = socket_path(url)
    if path is None:
        return NOT_LOCAL
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError as error:
        return diagnose_socket(error)
    writer.close()
    return None


async def _examine(client: Client) -> Found | Diagnosis:
    """Ask a runtime whether it can run pods."""
    try:
        version = await client.call(
            calls.VERSION, cri.VersionRequest(), limit=PING_LIMIT
        )
        status = await client.call(calls.STATUS, cri.StatusRequest(), limit=PING_LIMIT)
        if problem := _not_ready(status.status, version.runtime_name):
            return problem
        if not await _has_images(client):
            return HAS_NO_IMAGES
    except ContainerRuntimeError as error:
        problem = diagnose_call(error)
        if problem == HAS_NO_CRI and await client.knows(OLD_VERSION):
            return IS_TOO_OLD
        return problem
    return Found(
        client,
        Engine(
            version.runtime_name, version.runtime_version, version.runtime_api_version
        ),
    )


def _not_ready(status: cri.RuntimeStatus, name: str) -> Diagnosis | None:
    for each in status.conditions:
        if each.type in {"RuntimeReady", NETWORK_READY} and not each.status:
            words = ": ".join(filter(None, (each.reason, each.message)))
            advice = "look into its log"
            if each.type == NETWORK_READY:
                advice = MAKE_NETWORK
            return Diagnosis(f"{name} is not ready: {words}", advice)
    return None


async def _has_images(client: Client) -> bool:
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=NO_IMAGE))
    try:
        await client.call(calls.IMAGE_STATUS, request, limit=PING_LIMIT)
    except RefusedError as error:
        return error.code is not grpc.StatusCode.UNIMPLEMENTED
    return True
