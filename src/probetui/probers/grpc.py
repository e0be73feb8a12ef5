"""gRPC probes: ask the health service; SERVING is a success.

A module of its own imports this one, and so grpcio, when the first gRPC probe runs.

Difference: the kubelet's user agent ends in `grpc-go/<version>`, ours in grpcio's own
words, which cannot be changed.

Difference: the kubelet's pauses between connections vary by a fifth after the first
one; ours do not.

Source: pkg/probe/grpc/grpc.go, v1.32.10, Probe; grpc-go clientconn.go,
resetTransportAndUnlock; google.golang.org/grpc/backoff, DefaultConfig.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import quote

from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2

from probetui.errors import OwnTroubleError
from probetui.k8s.listeners import Endpoint
from probetui.kubelet.go_text import go_duration, go_quote
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.probers.connection import Route, straight
from probetui.probers.go_address import address_family, join_host_port
from probetui.probers.http_request import USER_AGENT
from probetui.probers.resolver import can_open

# Read when grpcio is imported: what it writes to standard error ends up on the screen.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc  # after its setting
import grpc.aio  # the same

_CHECK = "/grpc.health.v1.Health/Check"
_LONGEST_HANDSHAKE = timedelta(seconds=20)
_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(minutes=2)
_PAUSE_GROWTH = 1.6
_DESCRIPTORS = 32
"""How many must be free for grpcio: without one where it counts on it, it aborts."""

_PORTS = range(1 << 16)
_THIS_MACHINE = "127.0.0.1"
_OPTIONS = (
    ("grpc.primary_user_agent", USER_AGENT),
    ("grpc.enable_http_proxy", 0),
    # Else a probe would share a connection, and its pauses, with the one before.
    ("grpc.use_local_subchannel_pool", 1),
)
_GO_NAMES = {grpc.StatusCode.CANCELLED: "Canceled"}


async def probe_grpc(
    host: str,
    port: int,
    service: str,
    time_limit: timedelta,
    route: Route = straight,
) -> Attempt:
    """Connect, ask once, and judge the answer; what goes wrong is a failure.

    Connecting is tried again until the time is over, so that a refused connection
    costs all of it. One that broke off otherwise, as with a server that wants TLS,
    cannot be told from it.

    Raises `OwnTroubleError` where this process could not even try.

    Args:
        host: a pod's IP; an empty one is this machine, as in Go.
        port: a number, of which nobody has checked the range.
        service: what to ask about; empty is the server as a whole.
        time_limit: for connecting and asking together; zero is over at once.
        route: where to connect instead.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + time_limit.total_seconds()
    limit = go_duration(time_limit)
    failed = asyncio.Event()
    try:
        if time_limit <= timedelta():
            raise TimeoutError  # noqa: TRY301  # as if it had been waited for
        async with asyncio.timeout_at(deadline):
            channel = await _connect(host, port, time_limit, route, failed)
    except TimeoutError:
        address = host or _THIS_MACHINE
        is_refused = failed.is_set() and address_family(address) is not None
        there = Endpoint(address, port) if is_refused else None
        return Attempt(
            ProbeResult.FAILURE,
            "timeout: failed to connect service "
            f"{go_quote(join_host_port(host, port))} within {limit}: "
            "context deadline exceeded",
            refused_at=there,
        )
    try:
        return await _check(channel, service, deadline - clock(), limit)
    finally:
        await channel.close()


async def _connect(
    host: str,
    port: int,
    time_limit: timedelta,
    route: Route,
    failed: asyncio.Event,
) -> grpc.aio.Channel:
    """Return a channel that is connected, to be closed; goes on until cancelled.

    `failed` is set when a connection failed long before its time was over.
    """
    clock = asyncio.get_running_loop().time
    target = _target(*route(host, port))
    if target is None:
        return await asyncio.Future()
    # A channel that is closed while it connects may go on for this long.
    patience = min(time_limit, _LONGEST_HANDSHAKE) // timedelta(milliseconds=1)
    options = (
        *_OPTIONS,
        ("grpc.default_authority", join_host_port(host or "localhost", port)),
        ("grpc.min_reconnect_backoff_ms", patience),
        ("grpc.initial_reconnect_backoff_ms", patience),
    )
    # A channel's own retries come up to a fifth earlier or later than the kubelet's.
    for pause in _pauses():
        if not can_open(_DESCRIPTORS):
            raise OwnTroubleError("probetui could not connect: too many open files")
        began_at = clock()
        channel = grpc.aio.insecure_channel(target, options)
        try:
            if await _is_connected(channel):
                return channel
        except BaseException:
            await channel.close()
            raise
        if clock() - began_at < time_limit.total_seconds() / 2:
            failed.set()
        await channel.close()
        await asyncio.sleep(pause.total_seconds())
    raise AssertionError("there is always another pause")


def _target(host: str, port: int) -> str | None:
    """Return a name that grpcio takes, None if nobody could connect to it.

    A bad name gives a channel that never closes, and then grpcio waits for it.
    """
    if port not in _PORTS:
        return None
    match address_family(host or _THIS_MACHINE):
        case socket.AF_INET:
            return f"ipv4:{host or _THIS_MACHINE}:{port}"
        case socket.AF_INET6:
            return f"ipv6:[{quote(host)}]:{port}"
        case _:
            return f"dns:///{quote(host, errors='replace')}:{port}"


def _pauses() -> Iterator[timedelta]:
    """Yield how long to wait after each connection that failed, without end."""
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * _PAUSE_GROWTH, _LONGEST_PAUSE)


async def _is_connected(channel: grpc.aio.Channel) -> bool:
    """Wait until a new channel has a server that speaks HTTP/2, or has failed."""
    while True:
        state = channel.get_state(try_to_connect=True)
        match state:
            case grpc.ChannelConnectivity.READY:
                return True
            case grpc.ChannelConnectivity.IDLE | grpc.ChannelConnectivity.CONNECTING:
                await channel.wait_for_state_change(state)
            case _:
                return False


async def _check(
    channel: grpc.aio.Channel, service: str, seconds: float, limit: str
) -> Attempt:
    """Ask once; `limit` is for messages."""
    try:
        request = health_pb2.HealthCheckRequest(service=service).SerializeToString()
    except UnicodeEncodeError:
        why = "error while marshaling: string field contains invalid UTF-8"
        return _failed_call(grpc.StatusCode.INTERNAL, f"grpc: {why}", limit)
    # For bytes, because grpcio would log what it cannot decode, and give nothing.
    call = channel.unary_unary(_CHECK)
    try:
        answer = await call(request, timeout=seconds)
        status: int = health_pb2.HealthCheckResponse.FromString(answer).status
    except grpc.aio.AioRpcError as error:
        return _failed_call(error.code(), error.details() or "", limit)
    except DecodeError:
        why = "proto: cannot parse invalid wire-format data"
        text = f"grpc: failed to unmarshal the received message: {why}"
        return _failed_call(grpc.StatusCode.INTERNAL, text, limit)
    return _judge(status)


def _judge(status: int) -> Attempt:
    known = health_pb2.HealthCheckResponse.ServingStatus
    name: str = known.Name(status) if status in known.values() else str(status)
    if status == known.SERVING:
        return Attempt(ProbeResult.SUCCESS, "service healthy", detail=name)
    output = f'service unhealthy (responded with "{name}")'
    return Attempt(ProbeResult.FAILURE, output, detail=name)


def _failed_call(code: grpc.StatusCode, message: str, limit: str) -> Attempt:
    name = _go_name(code)
    match code:
        case grpc.StatusCode.UNIMPLEMENTED:
            output = (
                "error: this server does not implement the grpc health protocol "
                f"(grpc.health.v1.Health): {message}"
            )
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            output = f"timeout: health rpc did not complete within {limit}"
        case _:
            problem = f"rpc error: code = {name} desc = {message}"
            output = f"error: health rpc probe failed: {problem}"
    return Attempt(ProbeResult.FAILURE, output, detail=name)


def _go_name(code: grpc.StatusCode) -> str:
    """Return Go's name of a code: NOT_FOUND is NotFound there."""
    words: list[str] = code.name.split("_")
    return _GO_NAMES.get(code) or "".join(word.capitalize() for word in words)
