"""The gRPC prober against servers of all kinds.

Some answers of servers are due only after the deadline. The kubelet's servers sent them
when the deadline ended their calls, at the moment when the client gave up. The vectors
have whichever came first, so both are right.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from probetui.kubelet.runtime.go_format import go_duration
from probetui.probers.grpc_probe import probe_grpc
from tests.parity.elapsed import took_as_long
from tests.parity.prober_cases import dialled_port, with_placeholder
from tests.probers.grpc_server import (
    NOT_FOUND,
    UNIMPLEMENTED,
    Answer,
    Answers,
    Call,
    HealthServer,
    status,
)
from tests.probers.peers import Peer, TLSPeer, server_context
from tests.probers.servers import answer, full, refusing, serving

CODES = (
    "OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound",
    "AlreadyExists", "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss",
    "Unauthenticated",
)  # fmt: skip
STATUSES = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
ROUNDED_UP = 10
"""The rounding of a deadline on the wire, in milliseconds."""


async def judge(case: dict[str, Any]) -> None:
    inputs, out = case["in"], case["out"]
    server = HealthServer(answers(case["server"]), delay(case["server"]))
    limit = timedelta(milliseconds=inputs["timeoutMs"])
    async with listening(case["server"], server) as port:
        dialled, service = dialled_port(inputs, port), inputs.get("service", "")
        loop = asyncio.get_running_loop()
        began = loop.time()
        with took_as_long(out.get("elapsedMs", 0)):
            attempt = await probe_grpc(inputs["host"], dialled, service, limit)
        took = loop.time() - began

    assert attempt.error == out["error"]
    output = with_placeholder(attempt.output, inputs, port)
    assert (attempt.result, output) in right(case, limit)
    for call, expected in zip(server.calls, out.get("serverSaw") or (), strict=True):
        compare(call, expected, port, took)


def right(case: dict[str, Any], limit: timedelta) -> list[tuple[str, str]]:
    """Return all right results and outputs."""
    outcomes = [case["out"], *case["out"].get("otherOutcomesSeen", ())]
    found = [(outcome["result"], outcome["output"]) for outcome in outcomes]
    if timedelta(seconds=delay(case["server"])) > limit:
        text = f"timeout: health rpc did not complete within {go_duration(limit)}"
        found.append(("failure", text))
    return found


def compare(call: Call, expected: dict[str, Any], port: int, took: float) -> None:
    """Compare without the library's names and versions.

    The rest of the deadline is shorter by the duration of connecting, at most by all
    `took` seconds of the probe.
    """
    assert call.service == expected["service"]
    deadline = expected["deadlineMs"]
    assert deadline - took * 1000 <= call.timeout * 1000 <= deadline + ROUNDED_UP
    expected_metadata = {name: text for name, [text] in expected["metadata"].items()}
    assert call.metadata.keys() == expected_metadata.keys()
    for name in (":authority", "content-type"):
        assert (
            call.metadata[name].replace(f":{port}", ":{PORT}")
            == expected_metadata[name]
        )
    encodings = call.metadata["grpc-accept-encoding"].replace(" ", "").split(",")
    assert expected_metadata["grpc-accept-encoding"] in encodings
    agents = call.metadata["user-agent"], expected_metadata["user-agent"]
    assert agents[0].split()[0] == agents[1].split()[0]


def delay(server: dict[str, Any]) -> float:
    """Return how many seconds an answer takes."""
    return float(server.get("delayMs", 0)) / 1000


def answers(server: dict[str, Any]) -> Answers:
    """Return the answers of a server by service."""
    match server:
        case {"code": code}:
            message = server.get("message", "").encode()
            return lambda _: Answer(code=CODES.index(code), message=message)
        case {"rawStatusNumber": number}:
            return lambda _: status(number)
        case {"services": services}:
            return lambda name: (
                status(STATUSES.index(services[name]))
                if name in services
                else Answer(code=NOT_FOUND, message=b"unknown service")
            )
        case _:
            text = b"unknown service grpc.health.v1.Health"
            return lambda _: Answer(code=UNIMPLEMENTED, message=text)


@contextlib.asynccontextmanager
async def listening(inputs: dict[str, Any], server: HealthServer) -> AsyncIterator[int]:
    """Serve, and yield the port of the server."""
    kind = inputs["kind"]
    accepting = {
        "health": server.serve,
        "noServices": silently(server),
        "tlsHealth": tls(server),
        "tcpHang": hang,
        "tcpClose": close,
        "http1": refuse_as_http1,
    }
    if kind in accepting:
        refused_for = inputs.get("startAfterMs", 0) / 1000
        async with serving(accepting[kind], refuse_seconds=refused_for) as port:
            yield port
    elif kind in {"refused", "blackhole"}:
        with {"refused": refusing, "blackhole": full}[kind]() as port:
            yield port
    else:
        assert kind == "none"
        yield 0


def silently(server: HealthServer) -> Any:
    """Serve without recording calls: there is no service that could record them."""
    return HealthServer(server.answers).serve


def tls(server: HealthServer) -> Any:
    """Serve inside TLS."""

    async def serve(peer: Peer) -> None:
        secured = TLSPeer(peer, server_context(protocols=("h2",)))
        with contextlib.suppress(OSError):  # the client has not come for TLS
            await secured.handshake()
            await server.serve(secured)

    return serve


async def hang(peer: Peer) -> None:
    await peer.drain_until_end()


async def close(peer: Peer) -> None:
    await peer.close()


async def refuse_as_http1(peer: Peer) -> None:
    await answer(peer, b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
