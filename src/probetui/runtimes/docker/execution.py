"""Running a command in a container, with the time limit that Docker lacks."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from typing import Any, Literal, NamedTuple

import requests

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.ports import ExecResult
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.execs import OwnExecs
from probetui.runtimes.docker.faults import refuse_undecodable
from probetui.runtimes.docker.hijack import HijackedStream
from probetui.runtimes.docker.processes import HostProcesses
from probetui.runtimes.docker.streams import Outputs
from probetui.runtimes.missing import is_missing, refused_command

State = dict[str, Any]
"""What Docker says of an exec: Running, ExitCode, Pid."""

ExecErrors = Literal["cri", "docker"]

OUTPUT_LIMIT_BYTES = 64 * 1024
"""How much of each stream is kept; the kubelet looks at 10 KiB."""

KILL_LIMIT_SECONDS = 5
"""How long killing may hold up the news that a command timed out."""

FIRST_LOOK_SECONDS = 0.005
LAST_LOOK_SECONDS = 0.5
"""How soon and how rarely is looked whether a silent command has ended."""

NEVER_RAN = frozenset({126, 127})
"""The exit codes of commands that could not be started."""

MARK = "PROBETUI_EXEC"

KILL_BY_NUMBER = 'kill -9 "$@"'
KILL_BY_MARK = """
for round in 1 2 3; do
  for each in /proc/[0-9]*; do
    grep -qs "$1" "$each/environ" && kill -9 "${each#/proc/}"
  done
done
"""


class Started(NamedTuple):
    """An exec on its way; `at` is the event loop's time."""

    exec_id: str
    response: requests.Response
    at: float


class Executor:
    """Runs commands in containers.

    Three calls make up an exec: create, start, and a look at what became of it. No
    thread waits for the command itself.

    Args:
        client: the connection to the daemon.
        processes: this machine's, where the daemon's containers may show; None if
            they cannot.
        exec_errors: `cri` takes a command that cannot be started for an error, as
            CRI runtimes do; `docker` for a result with exit code 126 or 127.
        own: is told of every exec before it is started.
        keeps_numbers: the number of a process is known when it has ended. Where it is
            not, a command that ends with 126 or 127 counts as one that never ran.
    """

    def __init__(
        self,
        client: Client,
        processes: HostProcesses | None,
        exec_errors: ExecErrors = "cri",
        own: OwnExecs | None = None,
        *,
        keeps_numbers: bool = True,
    ) -> None:
        self._client = client
        self._processes = processes
        self._exec_errors = exec_errors
        self._own = own or OwnExecs()
        self._keeps_numbers = keeps_numbers
        self._sees_processes: bool | None = None if processes else False

    async def run(
        self, container_id: str, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        """Run a command; 0 seconds is no limit.

        The limit begins when the command is started: the wait for a thread is ours,
        not the container's. A command that is cancelled or too slow is killed.
        """
        refuse_undecodable(command)
        mark = await self._mark(container_id)
        started = await self._begin_surely(container_id, command, mark)
        stream = HijackedStream(started.response)
        limit = started.at + timeout_seconds if timeout_seconds else None
        try:
            async with asyncio.timeout_at(limit):
                outputs = await _drain(stream)
            # Outside the limit: what this waits for, a thread, is not the command.
            state = await self._inspect(started.exec_id)
            if state["Running"]:
                async with asyncio.timeout_at(limit):
                    state = await self._ended(started.exec_id)
        except TimeoutError:
            killed = await self._kill(container_id, started.exec_id, mark)
            words = " ".join(command)
            message = f'command "{words}" timed out'
            raise ExecTimeoutError(message, killed=killed) from None
        except asyncio.CancelledError:
            await self._kill(container_id, started.exec_id, mark)
            raise
        finally:
            stream.close()
        return self._result(state, outputs)

    async def _begin_surely(
        self, container_id: str, command: tuple[str, ...], mark: str
    ) -> Started:
        """Start a command; if cancelled meanwhile, kill what may have started."""
        beginning = asyncio.ensure_future(self._begin(container_id, command, mark))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            with contextlib.suppress(TimeoutError, ContainerRuntimeError):
                async with asyncio.timeout(KILL_LIMIT_SECONDS):
                    started = await beginning
                    started.response.close()
                    await self._kill(container_id, started.exec_id, mark)
            raise

    async def _begin(
        self, container_id: str, command: tuple[str, ...], mark: str
    ) -> Started:
        time = asyncio.get_running_loop().time
        environment = {MARK: mark} if mark else {}

        def begin(api: Api) -> Started:
            exec_id = api.create_exec(container_id, command, environment)
            self._own.add(exec_id)
            at = time()
            return Started(exec_id, api.begin_exec(exec_id), at)

        return await self._client.call(
            begin, unheard=lambda started: started.response.close()
        )

    async def _ended(self, exec_id: str) -> State:
        """Return what became of an exec; it may have closed its output long before."""
        async for _ in _looks():
            state = await self._inspect(exec_id)
            if not state["Running"]:
                return state
        raise AssertionError("it is looked for ever")

    async def _inspect(self, exec_id: str) -> State:
        state: State = await self._client.call(lambda api: api.exec_inspect(exec_id))
        return state

    def _result(self, state: State, outputs: Outputs) -> ExecResult:
        # A process that ran had a number. A failed start answers with exit code 126 or
        # 127 and its reason as output, as a command could do by itself.
        code, stdout, stderr = state["ExitCode"] or 0, outputs.stdout, outputs.stderr
        if has_run(state, keeps_numbers=self._keeps_numbers):
            return ExecResult(code, stdout, stderr)
        reason = (stdout + stderr).decode(errors="replace").strip()
        if self._exec_errors == "cri":
            raise refused_command(reason or "the command could not be started")
        return ExecResult(code, stdout, stderr, is_missing=is_missing(reason))

    # -- killing

    async def _mark(self, container_id: str) -> str:
        """Return what to find a command by where its process cannot be seen.

        Difference: such a command has one variable more, by which it can be killed
        when it takes too long; a kubelet's runtime knows its processes, and sets none.
        """
        if self._sees_processes is None:
            self._sees_processes = await self._look_for_processes(container_id)
        return "" if self._sees_processes else secrets.token_hex(8)

    async def _look_for_processes(self, container_id: str) -> bool | None:
        """Tell whether a container's processes show here; None if it has none."""
        processes = self._processes
        if processes is None:
            return False

        def look(api: Api) -> bool | None:
            found = api.inspect_container(container_id)
            process_id = found["State"]["Pid"]
            return processes.shows(process_id, found["Id"]) if process_id else None

        return await self._client.call(look)

    async def _kill(self, container_id: str, exec_id: str, mark: str) -> bool:
        """Kill a command, by whatever way is open; True once it is gone."""
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
        """Return the daemon's number of a command's process, 0 if it never ran.

        A command that was only just started has no number yet. One that has ended
        keeps it, and may have left children.
        """
        async for _ in _looks():
            state = await self._inspect(exec_id)
            if state["Pid"] or not state["Running"]:
                return int(state["Pid"])
        raise AssertionError("it is looked for ever")

    async def _kill_tree(self, container_id: str, process_id: int) -> None:
        """Kill what is left of a command, from here if that is permitted."""
        processes = self._processes
        if processes is None:
            return

        def kill(_api: Api) -> tuple[int, ...]:
            """Return, by their numbers in the container, those that still live."""
            alive = processes.kill_tree(process_id, container_id)
            return tuple(filter(None, map(processes.inner_id, alive)))

        async for _ in _looks():
            alive = await self._client.call(kill)
            if not alive:
                return
            await self._kill_inside(container_id, KILL_BY_NUMBER, *map(str, alive))

    async def _kill_inside(self, container_id: str, script: str, *words: str) -> None:
        """Let a shell in the container do it, if it has one."""
        command = ("sh", "-c", script, "kill", *words)
        started = await self._begin(container_id, command, mark="")
        stream = HijackedStream(started.response)
        try:
            await _drain(stream)
        finally:
            stream.close()


def has_run(state: State, *, keeps_numbers: bool) -> bool:
    """Tell by what became of an exec whether its command was started at all."""
    if keeps_numbers or state["Pid"]:
        return bool(state["Pid"])
    return state["ExitCode"] not in NEVER_RAN


async def _looks() -> AsyncIterator[None]:
    """Yield now, then after ever longer pauses, until nobody asks any more."""
    delay = FIRST_LOOK_SECONDS
    while True:
        yield
        await asyncio.sleep(delay)
        delay = min(2 * delay, LAST_LOOK_SECONDS)


async def _drain(stream: HijackedStream) -> Outputs:
    outputs = Outputs(OUTPUT_LIMIT_BYTES)
    while data := await stream.read():
        outputs.feed(data)
    return outputs
