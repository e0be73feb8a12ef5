"""What a lost runtime is said to be, in the words of a kubelet's grpc-go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID
from probetui.probers.exec_probe import probe_exec
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import VERSION, CriClient
from probetui.runtimes.cri.go_status import go_code_name, go_description
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, CriVersion
from tests.runtimes.cri.server import CriServer

UNAVAILABLE, CANCELLED = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED
SOCKET = "/run/r.sock"
ADDRESS = "failed to connect to all addresses; last error: "
FAILED = f"{ADDRESS}FAILED_PRECONDITION: unix:/run/r.sock: connect failed: addr: unix:"
DIALLING = "transport: Error while dialing: dial unix /run/r.sock: connect: "
RESET = "read unix @->/run/r.sock: read: connection reset by peer"


@pytest.mark.parametrize(
    ("code", "core", "go"),
    [
        pytest.param(
            UNAVAILABLE,
            f"{FAILED}/run/r.sock error: No such file or directory",
            f'connection error: desc = "{DIALLING}no such file or directory"',
            id="no socket",
        ),
        pytest.param(
            UNAVAILABLE,
            f"{FAILED}/run/r.sock error: Connection refused",
            f'connection error: desc = "{DIALLING}connection refused"',
            id="nobody listens",
        ),
        pytest.param(
            UNAVAILABLE,
            f"{ADDRESS}UNAVAILABLE: unix:/run/r.sock: recvmsg:Connection reset by peer "
            "(104)",
            f'connection error: desc = "error reading server preface: {RESET}"',
            id="closed at once",
        ),
        pytest.param(
            UNAVAILABLE,
            "Stream removed (Socket closed)",
            "error reading from server: EOF",
            id="killed during a call",
        ),
        pytest.param(
            UNAVAILABLE,
            "sendmsg: Broken pipe (32)",
            "error reading from server: EOF",
            id="broken pipe",
        ),
        pytest.param(
            UNAVAILABLE,
            "recvmsg:Connection reset by peer (104)",
            f"error reading from server: {RESET}",
            id="reset",
        ),
        pytest.param(
            UNAVAILABLE,
            "Cancelling all calls",
            "error reading from server: EOF",
            id="stopped",
        ),
        pytest.param(
            CANCELLED,
            "CANCELLED",
            "stream terminated by RST_STREAM with error code: CANCEL",
            id="cancelled by the server",
        ),
        pytest.param(
            CANCELLED,
            "Channel closed!",
            "grpc: the client connection is closing",
            id="closed here",
        ),
        pytest.param(
            grpc.StatusCode.INTERNAL,
            "Received RST_STREAM with error code 2",
            "stream terminated by RST_STREAM with error code: INTERNAL_ERROR",
            id="a reset of the stream",
        ),
        pytest.param(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "CLIENT: Received message larger than max (20 vs. 10)",
            "grpc: received message larger than max (20 vs. 10)",
            id="too long",
        ),
        pytest.param(
            UNAVAILABLE,
            "Received http2 header with status: 503",
            "unexpected HTTP status code received from server: 503 "
            "(Service Unavailable)",
            id="an answer of HTTP",
        ),
        pytest.param(
            UNAVAILABLE,
            "server is not initialized yet",
            "server is not initialized yet",
            id="the words of the runtime",
        ),
    ],
)
def test_the_library_is_quoted_in_the_words_of_go(
    code: grpc.StatusCode, core: str, go: str
) -> None:
    assert go_description(code, core, SOCKET) == go


def test_a_code_has_its_name_of_go() -> None:
    names = [go_code_name(code) for code in (CANCELLED, grpc.StatusCode.NOT_FOUND)]
    assert names == ["Canceled", "NotFound"]


async def test_a_probe_whose_runtime_goes_away_quotes_no_other_library(
    server: CriServer, tmp_path: Path
) -> None:
    server.hanging["ExecSync"] = asyncio.Event()
    runtime = CriRuntime(
        CriClient(server.socket),
        CriVersion("fake", "0"),
        SystemClock(),
        CriOptions(tmp_path, owner="me"),
    )
    probing = asyncio.ensure_future(
        probe_exec(runtime, ContainerID("fake://1"), ("true",), 30)
    )
    while not server.call_counts["ExecSync"]:  # noqa: ASYNC110  # another's
        await asyncio.sleep(0)
    await server.stop()
    during = await probing
    after = await probe_exec(runtime, ContainerID("fake://1"), ("true",), 30)
    await runtime.close()

    assert during.error == (
        "rpc error: code = Unavailable desc = error reading from server: EOF"
    )
    assert after.error is not None
    assert after.error.startswith(
        'rpc error: code = Unavailable desc = connection error: desc = "transport: '
        f"Error while dialing: dial unix {server.socket}: connect: "
    )


async def test_a_runtime_that_never_was_is_unavailable(tmp_path: Path) -> None:
    client = CriClient(str(tmp_path / "none.sock"))
    with pytest.raises(ContainerRuntimeError) as failed:
        await client.call(VERSION, cri.VersionRequest())
    await client.close()
    assert failed.value.unreachable
    assert str(failed.value).endswith('none.sock: connect: no such file or directory"')
