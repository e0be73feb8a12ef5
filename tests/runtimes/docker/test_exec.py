"""Commands in containers: what starts, what is killed and how, what it costs."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import requests
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.k8s.runtime import ContainerID
from probetui.runtimes.docker.client import SHORT_CALLS, DockerClient
from probetui.runtimes.docker.execution import DockerExecutor
from probetui.runtimes.docker.processes import HostProcesses
from probetui.runtimes.docker.translate import to_docker_id
from probetui.runtimes.docker.transport import HijackedStream, UnixSocketAdapter
from tests.runtimes.bench import BEATS, BEATS_NO_MORE, FAILS, POLITE, SLOW, sh
from tests.runtimes.docker.bench import CountingApi, DockerBench, bench, built_image

__all__ = ["bench"]

real_docker = [pytest.mark.docker, pytest.mark.slow]


def not_permitted(_process_id: int, _signal: int) -> None:
    """Refuse to send a signal, as to what another user runs."""
    raise PermissionError


NOT_PERMITTED = HostProcesses(kill=not_permitted)
NOT_SHOWN = None
NOT_THESE = HostProcesses(proc=Path("/nowhere"))

ways_to_kill = pytest.mark.parametrize(
    "processes",
    [
        pytest.param(HostProcesses(), id="from here"),
        pytest.param(NOT_PERMITTED, id="in the container, by number"),
        pytest.param(NOT_SHOWN, id="in the container, by mark"),
        pytest.param(NOT_THESE, id="in the container, by mark, when none show"),
    ],
)


@pytest.fixture
async def client(bench: DockerBench) -> AsyncIterator[DockerClient]:
    made = DockerClient(CountingApi(bench.url))
    yield made
    await made.close()


@pytest.fixture
async def container(bench: DockerBench) -> ContainerID:
    return await bench.run_ready(POLITE)


class TestStarting:
    """Commands that could not be started differ from commands that failed."""

    pytestmark = real_docker

    @pytest.mark.parametrize(
        ("command", "exit_code"),
        [
            pytest.param(sh("exit 126"), 126, id="126"),
            pytest.param(sh("exit 127"), 127, id="127"),
            pytest.param(sh("nope"), 127, id="a shell that finds nothing"),
            pytest.param(sh("kill -9 $$"), 137, id="killed"),
            pytest.param(("true",), 0, id="at once"),
        ],
    )
    async def test_a_command_that_ran_has_a_result(
        self,
        bench: DockerBench,
        container: ContainerID,
        command: tuple[str, ...],
        exit_code: int,
    ) -> None:
        result = await bench.runtime.exec_sync(container, command, 10)

        assert result.exit_code == exit_code

    @pytest.mark.parametrize(
        "command",
        [
            pytest.param(("nope",), id="not in PATH"),
            pytest.param(("/no/such/program",), id="no such file"),
            pytest.param(("/bin",), id="a folder"),
            pytest.param(("/etc/passwd",), id="not executable"),
            pytest.param(("",), id="empty"),
        ],
    )
    async def test_a_command_that_cannot_be_started_is_an_error(
        self, bench: DockerBench, container: ContainerID, command: tuple[str, ...]
    ) -> None:
        with pytest.raises(ContainerRuntimeError, match="exec") as caught:
            await bench.runtime.exec_sync(container, command, 10)

        assert not caught.value.unreachable

    async def test_docker_itself_takes_that_for_a_result(
        self, client: DockerClient, container: ContainerID
    ) -> None:
        executor = DockerExecutor(client, HostProcesses(), exec_errors="docker")

        result = await executor.run(to_docker_id(container), ("nope",), 10)

        assert result.exit_code in {126, 127}
        assert b"nope" in result.stdout

    async def test_without_a_limit_the_end_of_a_slow_command_is_waited_for(
        self, client: DockerClient, container: ContainerID
    ) -> None:
        executor = DockerExecutor(client, HostProcesses(), limits_time=False)

        result = await executor.run(to_docker_id(container), sh("sleep 1.5; exit 3"), 1)

        assert result.exit_code == 3

    async def test_nothing_runs_in_a_frozen_container(
        self, bench: DockerBench, container: ContainerID
    ) -> None:
        bench.docker(container).pause()

        with pytest.raises(ContainerRuntimeError):
            await bench.sh(container, "true")

    async def test_bytes_that_are_no_text_are_refused(
        self, bench: DockerBench, container: ContainerID
    ) -> None:
        with pytest.raises(ContainerRuntimeError, match="UTF-8"):
            await bench.runtime.exec_sync(container, ("echo", "\udcff"), 10)

    async def test_a_command_may_close_its_output_and_go_on(
        self, bench: DockerBench, container: ContainerID
    ) -> None:
        result = await bench.sh(container, "exec >&- 2>&-; sleep 0.5; exit 3")

        assert result.exit_code == 3

    async def test_no_mark_of_ours_is_in_its_environment(
        self, bench: DockerBench, container: ContainerID
    ) -> None:
        result = await bench.sh(container, "env")

        assert b"PROBETUI" not in result.stdout


class TestKilling:
    """A command that is too slow is killed by whatever way is open."""

    pytestmark = real_docker

    @ways_to_kill
    async def test_it_is_killed_with_its_children(
        self,
        bench: DockerBench,
        client: DockerClient,
        container: ContainerID,
        processes: HostProcesses | None,
    ) -> None:
        executor = DockerExecutor(client, processes)

        with pytest.raises(ExecTimeoutError) as caught:
            await executor.run(to_docker_id(container), sh(BEATS), 1)

        assert caught.value.killed
        assert (await bench.sh(container, BEATS_NO_MORE)).exit_code == 0

    @ways_to_kill
    async def test_a_child_that_keeps_the_output_open_is_killed_too(
        self,
        bench: DockerBench,
        client: DockerClient,
        container: ContainerID,
        processes: HostProcesses | None,
    ) -> None:
        executor = DockerExecutor(client, processes)
        script = "(while :; do touch beat; sleep 0.05; done) & exit 0"

        with pytest.raises(ExecTimeoutError) as caught:
            await executor.run(to_docker_id(container), sh(script), 1)

        assert caught.value.killed
        assert (await bench.sh(container, BEATS_NO_MORE)).exit_code == 0

    async def test_another_command_like_it_is_left_alone(
        self, bench: DockerBench, client: DockerClient, container: ContainerID
    ) -> None:
        executor = DockerExecutor(client, NOT_SHOWN)
        script = sh("sleep 2; echo whole")
        patient = asyncio.ensure_future(
            executor.run(to_docker_id(container), script, 10)
        )

        with pytest.raises(ExecTimeoutError):
            await executor.run(to_docker_id(container), script, 1)

        assert (await patient).stdout == b"whole\n"

    @pytest.mark.parametrize("milliseconds", [0, 1, 5, 10, 20, 40])
    async def test_one_that_is_cancelled_while_it_starts_leaves_nothing(
        self, bench: DockerBench, container: ContainerID, milliseconds: int
    ) -> None:
        before = bench.docker(container).top()["Processes"]

        async with bench.meanwhile(bench.sh(container, SLOW)):
            await bench.wait(timedelta(milliseconds=milliseconds))

        after = bench.docker(container).top()["Processes"]
        assert [process[-1] for process in after] == [process[-1] for process in before]

    async def test_a_dead_container_does_not_show_whether_processes_are_visible(
        self, bench: DockerBench, client: DockerClient, container: ContainerID
    ) -> None:
        executor = DockerExecutor(client, HostProcesses())
        dead = await bench.run(FAILS)
        await bench.ended(dead)
        with pytest.raises(ContainerRuntimeError):
            await executor.run(to_docker_id(dead), ("true",), 1)

        result = await executor.run(to_docker_id(container), ("env",), 1)

        assert b"PROBETUI" not in result.stdout

    async def test_without_a_way_to_kill_processes_there_is_an_error(
        self, bench: DockerBench, client: DockerClient
    ) -> None:
        with built_image("RUN rm /bin/sh") as image:
            bench.image = image
            container = replace(bench.container(""), command=("sleep", "60"))
            container_id = await bench.run_container(container)
            executor = DockerExecutor(client, NOT_PERMITTED)

            with pytest.raises(ExecTimeoutError) as caught:
                await executor.run(to_docker_id(container_id), ("sleep", "8"), 1)

            assert not caught.value.killed
            await bench.runtime.remove_container(container_id)

    async def test_a_container_that_is_gone_by_then_left_nothing(
        self, bench: DockerBench, container: ContainerID
    ) -> None:
        slow = asyncio.ensure_future(bench.sh(container, SLOW))

        async def is_running() -> bool:
            return await commands(bench, container, SLOW) > 0

        await bench.until(is_running)

        bench.docker(container).remove(force=True, v=True)

        with pytest.raises(ContainerRuntimeError):
            await slow


async def commands(bench: DockerBench, container_id: ContainerID, script: str) -> int:
    """Return how many processes of a container run a script."""
    shown = await asyncio.to_thread(bench.docker(container_id).top)
    return sum(script in line[-1] for line in shown["Processes"])


def open_files() -> int:
    """Return how many files and sockets this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


class TestCost:
    """What many commands take."""

    pytestmark = real_docker

    async def test_slow_commands_keep_no_thread(
        self, bench: DockerBench, container: ContainerID
    ) -> None:
        script = "until test -e go; do sleep 1; done; echo slow"
        more_than_threads = SHORT_CALLS + 2
        slow = [
            asyncio.ensure_future(bench.sh(container, script, limit=0))
            for _ in range(more_than_threads)
        ]

        async with asyncio.timeout(60):
            while await commands(bench, container, script) < more_than_threads:
                await bench.wait(timedelta(milliseconds=100))
            quick = await bench.sh(container, "touch go; echo quick")

        assert quick.stdout == b"quick\n"
        assert {result.stdout for result in await asyncio.gather(*slow)} == {b"slow\n"}

    async def test_no_connection_is_left_open(
        self, bench: DockerBench, container: ContainerID
    ) -> None:
        await bench.sh(container, "true")
        before = open_files()

        for _ in range(20):
            await bench.sh(container, "true")

        assert open_files() <= before + 1

    async def test_output_is_whole_however_busy_the_daemon_is(
        self, bench: DockerBench, container: ContainerID
    ) -> None:
        results = await asyncio.gather(
            *(bench.sh(container, f"echo {number}") for number in range(40))
        )

        assert [result.stdout for result in results] == [b"%d\n" % n for n in range(40)]


class TestHijacking:
    """The stream behind a response, without a daemon."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> str:
        return str(tmp_path / "daemon.sock")

    @pytest.fixture
    def daemon(self, path: str) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            yield listening

    def upgraded(
        self, daemon: socket.socket, path: str, behind: bytes
    ) -> tuple[requests.Response, socket.socket]:
        """Return a response to an upgrade, and the daemon's end of the connection.

        What is behind its head is sent in one piece with it.
        """
        ends: list[socket.socket] = []

        def answer() -> None:
            end, _ = daemon.accept()
            end.recv(65536)
            end.sendall(
                b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\n"
                b"Upgrade: tcp\r\n\r\n" + behind
            )
            ends.append(end)

        thread = threading.Thread(target=answer)
        thread.start()
        session = requests.Session()
        session.mount("http://", UnixSocketAdapter(path, 1))
        response = session.post("http://docker/exec", stream=True, timeout=10)
        thread.join()
        return response, ends[0]

    async def test_what_came_with_the_head_is_not_lost(
        self, daemon: socket.socket, path: str
    ) -> None:
        early = struct.pack(">BxxxL", 1, 5) + b"early"
        response, end = self.upgraded(daemon, path, early)
        stream = HijackedStream(response)

        first = await stream.read()
        end.sendall(b"later")
        second = await stream.read()
        end.close()

        assert (first, second, await stream.read()) == (early, b"later", b"")
        stream.close()

    async def test_a_connection_that_breaks_is_an_error(
        self, daemon: socket.socket, path: str
    ) -> None:
        response, end = self.upgraded(daemon, path, b"")
        stream = HijackedStream(response)
        # Closing with unread data resets the connection.
        stream._socket.send(b"unread")
        end.close()

        with pytest.raises(ContainerRuntimeError) as caught:
            await stream.read()

        assert caught.value.unreachable
        stream.close()

    async def test_reading_can_be_cancelled(
        self, daemon: socket.socket, path: str
    ) -> None:
        response, end = self.upgraded(daemon, path, b"")
        stream = HijackedStream(response)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await stream.read()

        stream.close()
        assert end.recv(1) == b""
        end.close()
