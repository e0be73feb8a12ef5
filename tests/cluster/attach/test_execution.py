"""Commands in a cluster's containers, with our API server."""

from __future__ import annotations

import asyncio

import pytest

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
from tests.cluster.api_server.server import ServerFault
from tests.cluster.attach.bench import Bench, a_bench

FORBIDDEN = ApiFailure(403, "Forbidden", 'cannot get resource "pods/exec"', {})


async def exit_with_three(command: RemoteCommand, streams: RemoteStreams) -> int:
    await streams.write(b" ".join(word.encode() for word in command.command))
    await streams.write(b"oh", is_stderr=True)
    return 3


def refuse(bench: Bench, *methods: str) -> list[str]:
    """Refuse exec requests with these methods; return the methods of all requests."""
    received: list[str] = []

    def fault(info: RequestInfo, request: HttpRequest) -> ServerFault | None:
        if info.subresource != "exec":
            return None
        received.append(request.method)
        return ServerFault(failure=FORBIDDEN) if request.method in methods else None

    bench.server.api.fault = fault
    return received


async def test_a_command_returns_its_exit_code_and_output(bench: Bench) -> None:
    bench.inside.run_command = exit_with_three
    async with bench.client() as client:
        commands = ClusterCommands(client, "default", "web")

        result = await commands.run("app", ("cat", "a b", "&?=ü"), 1)

    assert (result.exit_code, result.stdout.decode()) == (3, "cat a b &?=ü")
    assert result.stderr == b"oh"


async def test_a_command_without_output_succeeds(bench: Bench) -> None:
    async def nothing(_command: RemoteCommand, _streams: RemoteStreams) -> int:
        return 0

    bench.inside.run_command = nothing
    async with bench.client() as client:
        result = await ClusterCommands(client, "default", "web").run(
            "app", ("true",), 1
        )

    assert (result.exit_code, result.stdout, result.stderr) == (0, b"", b"")


async def test_of_much_output_the_beginning_is_kept(bench: Bench) -> None:
    async def flood(_command: RemoteCommand, streams: RemoteStreams) -> int:
        for _ in range(100):
            await streams.write(b"x" * 10_000)
        return 0

    bench.inside.run_command = flood
    async with bench.client() as client:
        result = await ClusterCommands(client, "default", "web").run("app", ("yes",), 9)

    assert (result.exit_code, len(result.stdout)) == (0, KEPT_BYTES)


async def test_a_command_that_times_out_is_left_running(bench: Bench) -> None:
    async def sleep(_command: RemoteCommand, _streams: RemoteStreams) -> int:
        await asyncio.Event().wait()
        return 0

    bench.inside.run_command = sleep
    async with bench.client() as client:
        with pytest.raises(ExecTimeoutError) as caught:
            await ClusterCommands(client, "default", "web").run("app", ("sleep",), 1)

    assert not caught.value.killed


async def test_a_missing_executable_is_distinguished_from_other_errors(
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
    bench.inside.run_command = exit_with_three
    methods = refuse(bench, "GET")
    async with bench.client() as client:
        commands = ClusterCommands(client, "default", "web")
        results = [await commands.run("app", ("echo", "hi"), 5) for _ in range(2)]

    for result in results:
        assert (result.exit_code, result.stdout, result.stderr) == (
            3,
            b"echo hi",
            b"oh",
        )
    assert methods == ["GET", "POST", "POST"]


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


async def test_exec_in_a_deleted_pod_is_an_error(bench: Bench) -> None:
    bench.delete()
    async with bench.client() as client:
        with pytest.raises(ContainerRuntimeError, match='pods "web" not found'):
            await ClusterCommands(client, "default", "web").run("app", ("true",), 1)


async def test_exec_with_an_unreachable_server_is_an_error(bench: Bench) -> None:
    async with a_bench() as other:
        access = other.access
    bench.access = access
    async with bench.client() as client:
        with pytest.raises(ContainerRuntimeError) as caught:
            await ClusterCommands(client, "default", "web").run("app", ("true",), 1)

    assert caught.value.unreachable


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
def test_a_status_without_an_exit_code_is_an_error(status: bytes) -> None:
    with pytest.raises(ContainerRuntimeError):
        exit_code(status)
