"""gRPC probes: call the health service; SERVING is a success.

This module, and with it h2, is imported when the first gRPC probe runs. The call uses
the connection of HTTP probes, not grpcio: that reads on threads of its own, as fast as
a server sends, and a hostile server defeats its time-out and its memory limit.

Difference: the kubelet's pauses between connections vary by a fifth after the first
one; ours do not.

Source: pkg/probe/grpc/grpc.go, v1.32.10, Probe; grpc-go clientconn.go,
resetTransportAndUnlock; google.golang.org/grpc/backoff, DefaultConfig.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from functools import partial

from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2
from msgspec import Struct

from probetui.errors import GoError
from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.outcome import Attempt, PeerBehavior, ProbeResult
from probetui.kubelet.prober.timeout_text import grpc_call_timeout, grpc_connect_timeout
from probetui.kubelet.runtime.go_format import join_host_port
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.probers.go.dial import Connection, dial
from probetui.probers.go.errors import DialRefusedError
from probetui.probers.go.grpc_call import GRPCCallError, GRPCCode, call_unary, code_name
from probetui.probers.go.http2_stream import HTTP_2_ERROR, HTTP2Stream
from probetui.probers.go.tls import (
    NotTLSError,
    TLSConnection,
    client_context,
    to_server_name,
)
from probetui.probers.route import Route, direct_route

_LIBRARY = "grpc-go/1.65.0"

_TLS_PROTOCOLS = ("h2",)
_CHECK = "/grpc.health.v1.Health/Check"
_LONGEST_HANDSHAKE_SECONDS = 20
_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(minutes=2)
_PAUSE_GROWTH = 1.6


async def probe_grpc(
    host: str,
    port: int,
    service: str,
    time_limit: timedelta,
    route: Route = direct_route,
    rules: KubeletRules = PORTED_RULES,
    *,
    is_tls: bool = False,
) -> Attempt:
    """Connect, call the health service once, and map the response to a result.

    Connecting is retried until the time limit, so a refused connection takes all of it.
    So does a connection that breaks for another reason, as with a server that expects
    TLS.

    Raises `LocalResourceError` if this process could not even try.

    Args:
        host: a pod's IP; empty is this machine, as in Go.
        port: a number, of unchecked range.
        service: the service to check; empty is the whole server.
        time_limit: for connection and call together; zero expires at once.
        route: where to connect instead.
        rules: those of the kubelet's version.
        is_tls: whether to use TLS, without verification.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + time_limit.total_seconds()
    broken = _Broken()
    try:
        if time_limit <= timedelta():
            raise TimeoutError  # noqa: TRY301  # as if it had been waited for
        async with asyncio.timeout_at(deadline):
            connect = _connect_in_tls if is_tls else _connect_once
            stream = await _connect(partial(connect, host, port, route), broken)
    except TimeoutError:
        return Attempt(
            ProbeResult.FAILURE,
            grpc_connect_timeout(host, port, time_limit),
            refused_at=broken.refused_at,
            peer=broken.peer,
        )
    authority = join_host_port(host or "localhost", port)
    user_agent = f"{rules.probe_user_agent} {_LIBRARY}"
    try:
        async with asyncio.timeout_at(deadline):
            scheme = b"https" if is_tls else b"http"
            return await _check(
                stream, scheme, authority, service, user_agent, deadline - clock()
            )
    except TimeoutError:
        return _failed_call(GRPCCallError(GRPCCode.DEADLINE_EXCEEDED, ""), time_limit)
    except GRPCCallError as error:
        return _failed_call(error, time_limit)
    finally:
        stream.close()


class _ClosedError(GoError):
    """The server accepted a connection, and spoke no HTTP/2."""


class _OtherProtocolError(GoError):
    """The server answered, and not in HTTP/2."""


class _Broken(Struct):
    """Why the last connection broke, which no message of a gRPC probe says.

    A connection that breaks in its handshake has a listener.
    """

    refused_at: SocketAddress | None = None
    peer: PeerBehavior | None = None


async def _connect(
    connect: Callable[[], Awaitable[HTTP2Stream]], broken: _Broken
) -> HTTP2Stream:
    """Connect to an HTTP/2 server, retrying until cancelled; the caller closes it."""
    for pause in _pauses():
        broken.refused_at = broken.peer = None
        try:
            async with asyncio.timeout(_LONGEST_HANDSHAKE_SECONDS):
                return await connect()
        except DialRefusedError as error:
            broken.refused_at = error.endpoint
        except NotTLSError:
            broken.peer = PeerBehavior.PLAIN
        except _ClosedError:
            broken.peer = PeerBehavior.CLOSES
        except _OtherProtocolError:
            broken.peer = PeerBehavior.OTHER
        except (GoError, TimeoutError):
            pass
        await asyncio.sleep(pause.total_seconds())
    raise AssertionError("there is always another pause")


async def _connect_once(host: str, port: int, route: Route) -> HTTP2Stream:
    return await _begin(await dial(host, port, route))


async def _connect_in_tls(host: str, port: int, route: Route) -> HTTP2Stream:
    """Connect by TLS; a server that does not choose HTTP/2 is no gRPC server.

    Source: pkg/probe/grpc/grpc.go, v1.37.0, Probe; grpc-go credentials/tls.go,
    ClientHandshake.
    """
    connection = await dial(host, port, route)
    secured = TLSConnection(
        connection, client_context(_TLS_PROTOCOLS), to_server_name(host)
    )
    try:
        await secured.handshake()
    except BaseException:
        connection.close()
        raise
    if secured.protocol not in _TLS_PROTOCOLS:
        connection.close()
        raise GoError("credentials: cannot check peer: missing selected ALPN property")
    return await _begin(secured)


async def _begin(connection: Connection) -> HTTP2Stream:
    try:
        stream = HTTP2Stream(connection, leaves_write_errors=True)
        await stream.receive_settings()
    except DialRefusedError:  # A forwarded port is dialled as it is used.
        connection.close()
        raise
    except GoError as error:
        connection.close()
        if str(error).startswith(HTTP_2_ERROR):
            raise _OtherProtocolError(str(error)) from error
        raise _ClosedError(str(error)) from error
    except BaseException:
        connection.close()
        raise
    return stream


def _pauses() -> Iterator[timedelta]:
    """Yield the pauses after failed connections, endlessly."""
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * _PAUSE_GROWTH, _LONGEST_PAUSE)


async def _check(
    stream: HTTP2Stream,
    scheme: bytes,
    authority: str,
    service: str,
    user_agent: str,
    seconds: float,
) -> Attempt:
    """Call the health service once; raises `GRPCCallError`."""
    try:
        request = health_pb2.HealthCheckRequest(service=service).SerializeToString()
    except UnicodeEncodeError as error:
        why = "error while marshaling: string field contains invalid UTF-8"
        raise GRPCCallError(GRPCCode.INTERNAL, f"grpc: {why}") from error
    headers = [
        (b":method", b"POST"),
        (b":scheme", scheme),
        (b":path", _CHECK.encode()),
        (b":authority", authority.encode("utf-8", "surrogateescape")),
        (b"user-agent", user_agent.encode()),
    ]
    answer = await call_unary(stream, headers, request, seconds)
    try:
        status: int = health_pb2.HealthCheckResponse.FromString(answer).status
    except DecodeError as error:
        why = "proto: cannot parse invalid wire-format data"
        text = f"grpc: failed to unmarshal the received message: {why}"
        raise GRPCCallError(GRPCCode.INTERNAL, text) from error
    return _judge(status)


def _judge(status: int) -> Attempt:
    statuses = health_pb2.HealthCheckResponse.ServingStatus
    name: str = statuses.Name(status) if status in statuses.values() else str(status)
    if status == statuses.SERVING:
        return Attempt(ProbeResult.SUCCESS, "service healthy", detail=name)
    output = f'service unhealthy (responded with "{name}")'
    return Attempt(ProbeResult.FAILURE, output, detail=name)


def _failed_call(error: GRPCCallError, limit: timedelta) -> Attempt:
    """Return the result of a failed call; `limit` is for messages."""
    name = code_name(error.code)
    match error.code:
        case GRPCCode.UNIMPLEMENTED:
            output = (
                "error: this server does not implement the grpc health protocol "
                f"(grpc.health.v1.Health): {error}"
            )
        case GRPCCode.DEADLINE_EXCEEDED:
            output = grpc_call_timeout(limit)
        case _:
            problem = f"rpc error: code = {name} desc = {error}"
            output = f"error: health rpc probe failed: {problem}"
    return Attempt(ProbeResult.FAILURE, output, detail=name)
