"""Commands in a cluster's containers, against the API server of ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from probetui.cluster.api_server.api import ServerFault
from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.attach.execution import KEPT_BYTES, ClusterCommands
from probetui.cluster.serving.http_server import HttpRequest
from probetui.cluster.serving.remote_command import (
    RemoteCommand,
    RemoteCommandError,
    RemoteStreams,
)
from probetui.errors import (
    ContainerRuntimeError,
    ExecTimeoutError,
    ExecutableMissingError,
)
from probetui.runtimes.streaming.exit_status import exit_code
from tests.cluster.attach.bench import Bench, a_bench

FORBIDDEN = ApiFailure(403, "Forbidden", 'cannot get resource "pods/exec"', {})


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with a_bench() as bench:
        bench.create()
        yield bench


async def says_three(command: RemoteCommand, streams: RemoteStreams) -> int:
    await streams.write(b" ".join(word.encode() for word in command.command))
    await streams.write(b"oh", is_stderr=True)
    return 3


def refuse(bench: Bench, *methods: str) -> list[str]:
    """Refuse requests for exec by these methods; return those that came."""
    seen: list[str] = []

    def fault(info: RequestInfo, request: HttpRequest) -> ServerFault | None:
        if info.subresource != "exec":
            return None
        seen.append(request.method)
        return ServerFault(failure=FORBIDDEN) if request.method in methods else None

    bench.server.api.fault = fault
    return seen


async def test_a_command_gives_its_exit_code_and_its_output(bench: Bench) -> None:
    bench.inside.run_command = says_three
    async with bench.client() as client:
        commands = ClusterCommands(client, "default", "web")

        done = await commands.run("app", ("cat", "a b", "&?=ü"), 1)

    assert (done.exit_code, done.stdout.decode()) == (3, "cat a b &?=ü")
    assert done.stderr == b"oh"


async def test_a_command_without_output_succeeds(bench: Bench) -> None:
    async def nothing(_command: RemoteCommand, _streams: RemoteStreams) -> int:
        return 0

    bench.inside.run_command = nothing
    async with bench.client() as client:
        done = await ClusterCommands(client, "default", "web").run("app", ("true",), 1)

    assert (done.exit_code, done.stdout, done.stderr) == (0, b"", b"")


async def test_of_much_output_the_beginning_is_kept(bench: Bench) -> None:
    async def flood(_command: RemoteCommand, streams: RemoteStreams) -> int:
        for _ in range(100):
            await streams.write(b"x" * 10_000)
        return 0

    bench.inside.run_command = flood
    async with bench.client() as client:
        done = await ClusterCommands(client, "default", "web").run("app", ("yes",), 9)

    assert (done.exit_code, len(done.stdout)) == (0, KEPT_BYTES)


async def test_a_command_that_takes_too_long_is_left_running(bench: Bench) -> None:
    async def sleep(_command: RemoteCommand, _streams: RemoteStreams) -> int:
        await asyncio.Event().wait()
        return 0

    bench.inside.run_command = sleep
    async with bench.client() as client:
        with pytest.raises(ExecTimeoutError) as late:
            await ClusterCommands(client, "default", "web").run("app", ("sleep",), 1)

    assert not late.value.killed


async def test_an_executable_that_is_missing_is_told_from_other_errors(
    bench: Bench,
) -> None:
    async def fail(command: RemoteCommand, _streams: RemoteStreams) -> int:
        if command.command == ("nope",):
            text = 'exec: "nope": executable file not found in $PATH: unknown'
            raise RemoteCommandError(text)
        raise RemoteCommandError("container is not running")

    bench.inside.run_command = fail
    async with bench.client() as client:
        commands = ClusterCommands(client, "default", "web")
        with pytest.raises(ExecutableMissingError):
            await commands.run("app", ("nope",), 1)
        with pytest.raises(ContainerRuntimeError, match="container is not running"):
            await commands.run("app", ("true",), 1)


async def test_who_may_not_get_but_create_runs_commands_over_spdy(bench: Bench) -> None:
    bench.inside.run_command = says_three
    seen = refuse(bench, "GET")
    async with bench.client() as client:
        commands = ClusterCommands(client, "default", "web")
        results = [await commands.run("app", ("echo", "hi"), 5) for _ in range(2)]

    for done in results:
        assert (done.exit_code, done.stdout, done.stderr) == (3, b"echo hi", b"oh")
    assert seen == ["GET", "POST", "POST"]


async def test_a_missing_right_is_named_with_the_command_that_shows_it(
    bench: Bench,
) -> None:
    refuse(bench, "GET", "POST")
    async with bench.client() as client:
        with pytest.raises(ContainerRuntimeError) as refused:
            await ClusterCommands(client, "default", "web").run("app", ("true",), 1)

    assert "not allowed to create pods/exec 'web' in namespace default" in str(
        refused.value
    )
    command = "kubectl auth can-i create pods/web --subresource=exec -n default"
    assert command in str(refused.value)


async def test_a_connection_that_breaks_is_no_result(bench: Bench) -> None:
    async def cut(_command: RemoteCommand, _streams: RemoteStreams) -> int:
        raise ConnectionResetError

    bench.inside.run_command = cut
    async with bench.client() as client:
        with pytest.raises(ContainerRuntimeError) as broken:
            await ClusterCommands(client, "default", "web").run("app", ("true",), 1)

    assert broken.value.unreachable


async def test_a_pod_that_is_gone_is_no_result(bench: Bench) -> None:
    bench.delete()
    async with bench.client() as client:
        with pytest.raises(ContainerRuntimeError, match='pods "web" not found'):
            await ClusterCommands(client, "default", "web").run("app", ("true",), 1)


async def test_a_server_that_is_gone_is_no_result(bench: Bench) -> None:
    async with a_bench() as other:
        access = other.access
    bench.access = access
    async with bench.client() as client:
        with pytest.raises(ContainerRuntimeError) as gone:
            await ClusterCommands(client, "default", "web").run("app", ("true",), 1)

    assert gone.value.unreachable


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[1]", id="a list"),
        pytest.param(b"exec failed\n", id="plain text"),
        pytest.param(b'{"status": "Failure"}', id="without a reason"),
        pytest.param(
            b'{"reason": "NonZeroExitCode", "details": {"causes": [{"reason": '
            b'"ExitCode", "message": "x"}]}}',
            id="a code that is no number",
        ),
    ],
)
def test_a_status_that_tells_no_exit_code_is_no_result(status: bytes) -> None:
    with pytest.raises(ContainerRuntimeError):
        exit_code(status)
