"""Commands in containers, with the time limit that Docker lacks; others' commands."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal

import requests
from msgspec import Struct

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.ports import CommandStreams, ExecResult, StartedExec, TerminalSize
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import refuse_undecodable
from probetui.runtimes.docker.processes import HostProcesses
from probetui.runtimes.docker.streams import Demultiplexer, ExecOutput
from probetui.runtimes.docker.translate import to_container_id
from probetui.runtimes.docker.transport import CHUNK_BYTES, HijackedStream
from probetui.runtimes.missing_executable import command_error, is_missing

ExecState = dict[str, Any]
"""Docker's inspection of an exec: Running, ExitCode, Pid."""

ExecErrors = Literal["cri", "docker"]

OUTPUT_LIMIT_BYTES = 64 * 1024
"""How much of each stream is kept; the kubelet reads 10 KiB."""

KILL_LIMIT_SECONDS = 5
"""How long killing a command may delay the report of its time-out."""

FIRST_LOOK_SECONDS = 0.005
LAST_LOOK_SECONDS = 0.5
"""The first and the longest interval of polling whether a command has ended."""

NEVER_RAN = frozenset({126, 127})
"""The exit codes of commands that could not be started."""

STARTED = "exec_start"
"""The event's type; without a command after a colon it matches all of them."""

REMEMBERED = 4096
"""How many of our execs may be started before the event of the first arrives."""

MARK = "PROBETUI_EXEC"

KILL_BY_NUMBER = 'kill -9 "$@"'
KILL_BY_MARK = """
for round in 1 2 3; do
  for each in /proc/[0-9]*; do
    grep -qs "$1" "$each/environ" && kill -9 "${each#/proc/}"
  done
done
"""


class RunningExec(Struct, frozen=True):
    """An exec that was started; `at` is when, by the event loop's clock."""

    exec_id: str
    response: requests.Response
    at: float


def _drop(_data: bytes) -> None:
    """Discard output."""


class DockerExecutor:
    """Runs commands in containers.

    An exec takes three calls: create, start, inspect. No thread waits for the command.

    Args:
        client: the connection to the daemon.
        processes: those of this machine, None if the daemon runs on another one.
        exec_errors: whether a command that cannot be started is an error, as in CRI
            runtimes (`cri`), or a result with exit code 126 or 127 (`docker`).
        own: records every exec before it is started.
        limits_time: whether a command is stopped at its time limit; old versions of
            dockershim waited for its end.
        keeps_exec_pids: the number of a process is known when it has ended. Where it is
            not, a command that ends with 126 or 127 counts as one that never ran.
    """

    def __init__(
        self,
        client: DockerClient,
        processes: HostProcesses | None,
        exec_errors: ExecErrors = "cri",
        own: OwnExecs | None = None,
        *,
        limits_time: bool = True,
        keeps_exec_pids: bool = True,
    ) -> None:
        self._client = client
        self._processes = processes
        self._exec_errors = exec_errors
        self._own = own or OwnExecs()
        self._limits_time = limits_time
        self._keeps_exec_pids = keeps_exec_pids
        self._sees_processes: bool | None = None if processes else False

    async def run(
        self, container_id: str, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        """Run a command; 0 seconds is no limit.

        The time limit begins when the command is started, not while the call waits for
        a thread. On time-out and on cancellation the command is killed.
        """
        refuse_undecodable(command)
        mark = await self._mark(container_id)
        started = await self._start(container_id, command, mark)
        stream = HijackedStream(started.response)
        has_limit = timeout_seconds and self._limits_time
        limit = started.at + timeout_seconds if has_limit else None
        try:
            async with asyncio.timeout_at(limit):
                outputs = await _drain(stream)
            # Outside the limit: this waits for a thread, not for the command.
            state = await self._inspect(started.exec_id)
            if state["Running"]:
                async with asyncio.timeout_at(limit):
                    state = await self._ended(started.exec_id)
        except TimeoutError:
            killed = await self._kill(container_id, started.exec_id, mark)
            message = f'command "{" ".join(command)}" timed out'
            raise ExecTimeoutError(message, killed=killed) from None
        except asyncio.CancelledError:
            await self._kill(container_id, started.exec_id, mark)
            raise
        finally:
            stream.close()
        return self._result(state, outputs)

    async def run_streams(
        self,
        container_id: str,
        command: tuple[str, ...],
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> int:
        """Run a command with streams; see `ports.Runtime.exec_streams`."""
        refuse_undecodable(command)
        mark = await self._mark(container_id)
        started = await self._start(
            container_id, command, mark, has_stdin=has_stdin, tty=tty
        )
        first = ExecOutput(OUTPUT_LIMIT_BYTES)

        def resize(api: DockerApi, size: TerminalSize) -> None:
            api.exec_resize(started.exec_id, size.height, size.width)

        try:
            await self._join(
                started.response,
                streams,
                resize,
                has_stdin=has_stdin,
                tty=tty,
                keep=first.feed,
            )
            state = await self._ended(started.exec_id)
        except BaseException:
            await self._kill(container_id, started.exec_id, mark)
            raise
        return self._result(state, first).exit_code

    async def attach_streams(
        self,
        container_id: str,
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> None:
        """Attach to a container; see `ports.Runtime.attach_streams`."""
        response = await self._client.call(
            lambda api: api.open_attach(container_id, has_stdin=has_stdin),
            discard=lambda response: response.close(),
        )

        def resize(api: DockerApi, size: TerminalSize) -> None:
            api.resize(container_id, size.height, size.width)

        await self._join(response, streams, resize, has_stdin=has_stdin, tty=tty)

    async def _join(
        self,
        response: requests.Response,
        streams: CommandStreams,
        resize: Callable[[DockerApi, TerminalSize], None],
        *,
        has_stdin: bool,
        tty: bool,
        keep: Callable[[bytes], None] = _drop,
    ) -> None:
        """Forward input, output and sizes until the output ends.

        Args:
            response: the response that the streams follow.
            streams: those of the client.
            resize: sets the size of the terminal.
            has_stdin: whether the client sends input.
            tty: whether there is a terminal, which has no standard error.
            keep: called with the frames of output without a terminal.
        """
        stream = HijackedStream(response)
        tasks = [asyncio.ensure_future(self._pass_on_sizes(streams, resize))]
        if has_stdin:
            tasks.append(asyncio.ensure_future(_type(stream, streams)))
        frames = Demultiplexer()
        try:
            while data := await stream.read():
                if tty:
                    await streams.write(data)
                    continue
                keep(data)
                for piece in frames.feed(data):
                    await streams.write(piece.payload, is_stderr=piece.is_stderr)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            stream.close()

    async def _pass_on_sizes(
        self,
        streams: CommandStreams,
        resize: Callable[[DockerApi, TerminalSize], None],
    ) -> None:
        def resize_to(api: DockerApi) -> None:
            resize(api, size)

        while True:
            size = await streams.sizes.get()
            # A command that has ended has no terminal.
            with contextlib.suppress(ContainerRuntimeError):
                await self._client.call(resize_to)

    async def _start(
        self,
        container_id: str,
        command: tuple[str, ...],
        mark: str,
        *,
        has_stdin: bool = False,
        tty: bool = False,
    ) -> RunningExec:
        """Start a command; kill it if this is cancelled meanwhile."""
        starting = asyncio.ensure_future(
            self._start_exec(container_id, command, mark, has_stdin=has_stdin, tty=tty)
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(TimeoutError, ContainerRuntimeError):
                async with asyncio.timeout(KILL_LIMIT_SECONDS):
                    started = await starting
                    started.response.close()
                    await self._kill(container_id, started.exec_id, mark)
            raise

    async def _start_exec(
        self,
        container_id: str,
        command: tuple[str, ...],
        mark: str,
        *,
        has_stdin: bool = False,
        tty: bool = False,
    ) -> RunningExec:
        time = asyncio.get_running_loop().time
        environment = {MARK: mark} if mark else {}

        def start(api: DockerApi) -> RunningExec:
            exec_id = api.create_exec(
                container_id, command, environment, has_stdin=has_stdin, tty=tty
            )
            self._own.add(exec_id)
            at = time()
            return RunningExec(exec_id, api.start_exec(exec_id, tty=tty), at)

        return await self._client.call(
            start, discard=lambda started: started.response.close()
        )

    async def _ended(self, exec_id: str) -> ExecState:
        """Poll until a command has ended, which may be long after its output."""
        async for _ in _poll():
            state = await self._inspect(exec_id)
            if not state["Running"]:
                return state
        raise AssertionError("polling never ends")

    async def _inspect(self, exec_id: str) -> ExecState:
        state: ExecState = await self._client.call(
            lambda api: api.exec_inspect(exec_id)
        )
        return state

    def _result(self, state: ExecState, outputs: ExecOutput) -> ExecResult:
        # A process that ran had a PID. A failed start has exit code 126 or 127 and its
        # reason as output, as a command may have, too.
        code, stdout, stderr = state["ExitCode"] or 0, outputs.stdout, outputs.stderr
        if has_run(state, keeps_exec_pids=self._keeps_exec_pids):
            return ExecResult(code, stdout, stderr)
        reason = (stdout + stderr).decode(errors="replace").strip()
        if self._exec_errors == "cri":
            raise command_error(reason or "the command could not be started")
        return ExecResult(code, stdout, stderr, is_missing=is_missing(reason))

    # -- killing

    async def _mark(self, container_id: str) -> str:
        """Return a mark for the environment of a command whose process is not visible.

        Difference: such a command has one more variable, by which it can be killed
        after a time-out; a kubelet's runtime knows its processes and sets none.
        """
        if self._sees_processes is None:
            self._sees_processes = await self._shows_processes(container_id)
        return "" if self._sees_processes else secrets.token_hex(8)

    async def _shows_processes(self, container_id: str) -> bool | None:
        """Return whether a container's processes are visible; None if it has none."""
        processes = self._processes
        if processes is None:
            return False

        def check(api: DockerApi) -> bool | None:
            inspected = api.inspect_container(container_id)
            process_id = inspected["State"]["Pid"]
            return processes.shows(process_id, inspected["Id"]) if process_id else None

        return await self._client.call(check)

    async def _kill(self, container_id: str, exec_id: str, mark: str) -> bool:
        """Kill a command from here or inside; return whether it has ended."""
        try:
            async with asyncio.timeout(KILL_LIMIT_SECONDS):
                process_id = await self._process_id(exec_id)
                if mark:
                    await self._kill_inside(
                        container_id, KILL_BY_MARK, f"{MARK}={mark}"
                    )
                elif process_id:
                    await self._kill_tree(container_id, process_id)
                await self._ended(exec_id)
        except (TimeoutError, ContainerRuntimeError):
            return False
        return True

    async def _process_id(self, exec_id: str) -> int:
        """Return the PID of a command on the daemon's machine, 0 if it never ran.

        A command that was just started has none yet. One that has ended keeps it, and
        may have left children.
        """
        async for _ in _poll():
            state = await self._inspect(exec_id)
            if state["Pid"] or not state["Running"]:
                return int(state["Pid"])
        raise AssertionError("polling never ends")

    async def _kill_tree(self, container_id: str, process_id: int) -> None:
        """Kill a command's process tree, from here as far as that is permitted."""
        processes = self._processes
        if processes is None:
            return

        def kill(_api: DockerApi) -> tuple[int, ...]:
            """Return the survivors' PIDs in the container."""
            alive = processes.kill_tree(process_id, container_id)
            return tuple(filter(None, map(processes.inner_id, alive)))

        async for _ in _poll():
            alive = await self._client.call(kill)
            if not alive:
                return
            await self._kill_inside(container_id, KILL_BY_NUMBER, *map(str, alive))

    async def _kill_inside(self, container_id: str, script: str, *words: str) -> None:
        """Kill by a shell in the container, if it has one."""
        command = ("sh", "-c", script, "kill", *words)
        started = await self._start_exec(container_id, command, mark="")
        stream = HijackedStream(started.response)
        try:
            await _drain(stream)
        finally:
            stream.close()


def has_run(state: ExecState, *, keeps_exec_pids: bool) -> bool:
    """Return whether the command of an exec that has ended was ever started."""
    if keeps_exec_pids or state["Pid"]:
        return bool(state["Pid"])
    return state["ExitCode"] not in NEVER_RAN


async def _poll() -> AsyncIterator[None]:
    """Yield at once, then after pauses of growing length."""
    delay = FIRST_LOOK_SECONDS
    while True:
        yield
        await asyncio.sleep(delay)
        delay = min(2 * delay, LAST_LOOK_SECONDS)


async def _type(stream: HijackedStream, streams: CommandStreams) -> None:
    """Send input until the command no longer reads it."""
    with contextlib.suppress(ContainerRuntimeError):
        while data := await streams.stdin.read(CHUNK_BYTES):
            await stream.write(data)
        stream.finish()


async def _drain(stream: HijackedStream) -> ExecOutput:
    outputs = ExecOutput(OUTPUT_LIMIT_BYTES)
    while data := await stream.read():
        outputs.feed(data)
    return outputs


class OwnExecs:
    """The IDs of execs that are ours.

    An ID is recorded before its exec is started, and so before its event. It is written
    by the threads that make the calls and read by the event loop, each in one atomic
    operation of a dictionary, which needs no lock.
    """

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def add(self, exec_id: str) -> None:
        """Record an exec that is about to be started."""
        self._ids[exec_id] = None
        while len(self._ids) > REMEMBERED:
            self._ids.pop(next(iter(self._ids)), None)

    def discard(self, exec_id: str) -> bool:
        """Forget an exec that was started; return whether it was ours."""
        return self._ids.pop(exec_id, self) is None


async def execs_of_others(
    client: DockerClient, own: OwnExecs, filters: Mapping[str, list[str]]
) -> AsyncGenerator[StartedExec]:
    """Yield each command that another client starts, Docker's health checks included.

    If the engine's events have no exec IDs, none is yielded, as they might be ours.
    `filters` selects the containers. Raises when the stream breaks.
    """
    wanted = {**filters, "type": ["container"], "event": [STARTED]}
    async with aclosing(client.events(wanted)) as events:
        async for event in events:
            exec_id = event["Actor"]["Attributes"].get("execID")
            if exec_id and not own.discard(exec_id):
                yield started_exec(event)


def started_exec(event: Mapping[str, Any]) -> StartedExec:
    """Parse an event, as `exec_start: sh -c date`."""
    command = str(event["Action"]).partition(":")[2].strip()
    return StartedExec(to_container_id(event["Actor"]["ID"]), command)
