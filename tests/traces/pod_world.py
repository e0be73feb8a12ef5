"""A simulated world for the pods of traces: their commands, files, servers and hooks.

The behavior of a container follows from its manifest, which `shell` interprets. Probes
and hooks go through the program's own handlers; this module simulates the other side
only: commands, connections, and responses with their delays. Time is virtual; no
command is run and no connection is made.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import httpx2
from msgspec.structs import replace

from probetui.drive.scenario.behavior import (
    CallBehavior,
    InstanceBehavior,
    answer_too_late,
)
from probetui.drive.scenario.world import SIGKILL_EXIT_CODE, World
from probetui.engine.inputs import Fact
from probetui.errors import (
    ContainerRuntimeError,
    ExecTimeoutError,
    ExecutableMissingError,
)
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, GRPCAction
from probetui.k8s.runtime import ContainerID, RuntimeState, SocketAddress
from probetui.kubelet.effects import (
    CreateContainer,
    Effect,
    Operation,
    Relist,
    RemoveContainer,
    RunHook,
    RunOperation,
    RunPodSandbox,
    RunProbe,
    StartContainer,
    StopContainer,
)
from probetui.kubelet.facts import OperationFinished, ProbeFinished
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.prober.timeout_text import grpc_connect_timeout
from probetui.kubelet.runtime.go_format import join_host_port
from probetui.kubelet_rules import KubeletRules
from probetui.ports import ExecResult
from probetui.probers.exec_probe import probe_exec
from probetui.probers.go.errors import DialRefusedError
from probetui.probers.http_probe import probe_http
from probetui.probers.http_request import ProbeRequest
from probetui.probers.lifecycle_hooks import LifecycleHookRunner
from probetui.probers.prober import ProbeDispatcher, ProbeHandlers
from probetui.probers.route import Route
from tests.builders import START
from tests.traces import shell
from tests.traces.files import FOLDER, Files, Mounts
from tests.traces.machine_pace import EMPTY_FAILURE, Pace
from tests.traces.shell import NotUnderstoodError, Run

EXEC_SECONDS = 0.03
REQUEST_SECONDS = 0.003
"""The shortest duration of a command in a container and of a request, in seconds."""

LONGEST_HOOK_SECONDS = 1e6
"""How long a hook without an end takes, in seconds, if its container does not end."""

CALL_SECONDS: Mapping[type, float] = {
    RunPodSandbox: 0.4,
    CreateContainer: 0.01,
    StartContainer: 0.05,
    StopContainer: 0.05,
    Relist: 0.03,
}
"""The duration of calls on an idle machine, in seconds, without what they wait for."""

CANNOT_START = "OCI runtime create failed: no such file or directory"
_OCI_EXEC_FAILED = b"OCI runtime exec failed: no such file or directory\r\n"

Timeouts = Mapping[tuple[str, int, str], Sequence[float]]
NO_TIMEOUTS: Timeouts = {}

_T = TypeVar("_T")


@dataclass(slots=True)
class _Instance:
    """One instance of a container and the files that it sees."""

    container: Container
    pod: Pod
    mounts: Mounts
    started_at: float = 0.0
    ended_at: float = math.inf
    run: Run = field(default_factory=Run)

    @property
    def owner(self) -> str:
        """The owner of the files that it writes."""
        return f"{self.container.name} {id(self)}"

    @property
    def ends_at(self) -> float:
        """The latest time at which it exits by itself."""
        lasts = math.inf if self.run.lasts is None else self.run.lasts
        return min(self.ended_at, self.started_at + lasts)


class PodWorld(World):
    """Runs the commands of pods on virtual time.

    Args:
        has_images: images can be pulled.
        is_docker: commands are run by Docker, not by a CRI runtime.
        listens_after: seconds from the start of a container until its programs begin.
        timeouts: when commands of probes ran into their time limits on a busy machine,
            as `Trace.timeouts`.
        pace: the pace of such a machine. The n-th probe of an instance has the n-th
            recorded result, and does not end before it.
    """

    def __init__(
        self,
        *,
        has_images: bool = True,
        is_docker: bool = False,
        listens_after: float = 0.0,
        timeouts: Timeouts = NO_TIMEOUTS,
        pace: Pace | None = None,
    ) -> None:
        super().__init__(
            images=None if has_images else frozenset(), dealing=self._call_behavior
        )
        self._is_docker = is_docker
        self._listens_after = listens_after
        self._timeouts = timeouts
        pace = pace or Pace()
        self._results = {key: iter(found) for key, found in pace.results.items()}
        self._starts, self._stops = pace.starts, pace.stops
        self._begins = pace.begins_at
        self._instances: dict[ContainerID, _Instance] = {}
        self._volumes: dict[tuple[str, str], Files] = {}
        self._machine = _Machine(self)
        self._now = START

    def close(self) -> None:
        """Close the event loop of the handlers."""
        self._machine.close()

    @staticmethod
    def _call_behavior(call: Operation | Relist) -> CallBehavior:
        return CallBehavior(timedelta(seconds=CALL_SECONDS.get(type(call), 0.0)))

    def answer(self, effect: Effect, now: datetime) -> tuple[datetime, Fact]:
        """Return the fact that an effect leads to, and its instant."""
        self._now = now
        match effect:
            case RunProbe():
                self._end_due_containers(now)
                outcome = self._machine.run(now, self._machine.dispatcher.probe(effect))
                if (recorded := self._recorded(effect)) is not None:
                    return self._recorded_answer(recorded, effect, outcome, now)
                fails = outcome.attempts[-1].result is ProbeResult.FAILURE
                is_empty = fails and not outcome.attempts[-1].output
                if not is_empty and self._runs_out_of_time(effect, now):
                    late = answer_too_late(effect)
                    outcome = ProbeOutcome((late.attempt,), now, late.takes)
                    return now + late.takes, ProbeFinished(effect.probe_id, outcome)
                return self._machine.now(), ProbeFinished(effect.probe_id, outcome)
            case RunOperation(number, _, RunHook() as hook):
                self._end_due_containers(now)
                result = self._machine.run(now, self._machine.hooks.run(hook))
                finished = OperationFinished(number, result.output, result.error)
                return self._answer_hook(hook, finished, self._machine.now(), now)
            case RunOperation(number, _, StartContainer(container_id)) if (
                self._is_missing(container_id)
            ):
                return self._refuse_start(number, container_id, now)
            case RunOperation(_, _, RunPodSandbox()):
                at, fact = super().answer(effect, now)
                return max(at, START + timedelta(seconds=self._begins)), fact
            case RunOperation(_, _, CreateContainer() as create):
                at, fact = super().answer(effect, now)
                took = self._starts.get((create.container.name, create.attempt), 0.0)
                return max(at, now + timedelta(seconds=took)), fact
            case RunOperation(_, _, StopContainer(container_id)):
                took = self._stop_seconds(container_id)
                at, fact = super().answer(effect, now)
                return max(at, now + timedelta(seconds=took)), fact
            case RunOperation(_, _, RemoveContainer(container_id)):
                answer = super().answer(effect, now)
                self._instances.pop(container_id, None)
                return answer
            case _:
                return super().answer(effect, now)

    def _stop_seconds(self, container_id: ContainerID) -> float:
        """Return how many seconds the machine of the trace took to stop a container."""
        instance = self._instances.get(container_id)
        if instance is None or not self._stops:
            return 0.0
        number = self._container(container_id).restart_count
        return self._stops.get((instance.container.name, number), 0.0)

    def _recorded(self, effect: RunProbe) -> tuple[datetime, str] | None:
        """Return when a probe ended in the trace, and its result."""
        instance = self._instances.get(effect.container_id)
        if instance is None or not isinstance(effect.probe.handler, ExecAction):
            return None
        age = _seconds(self._now) - instance.started_at
        for ended, result_word in self._results.get(self._key(effect), ()):
            if ended + effect.probe.period_seconds >= age:
                return START + timedelta(
                    seconds=instance.started_at + ended
                ), result_word
        return None

    def _recorded_answer(
        self,
        recorded: tuple[datetime, str],
        effect: RunProbe,
        outcome: ProbeOutcome,
        now: datetime,
    ) -> tuple[datetime, Fact]:
        """Return the answer to a probe with the result and time of the trace."""
        ended, result_word = recorded
        attempt = outcome.attempts[-1]
        is_failure = attempt.result is ProbeResult.FAILURE
        takes = outcome.duration
        if result_word == "succeeded":
            attempt = Attempt(ProbeResult.SUCCESS)
        elif result_word == EMPTY_FAILURE and (not is_failure or attempt.output):
            late = answer_too_late(effect)
            attempt, takes = late.attempt, late.takes
        elif not is_failure:
            attempt = Attempt(ProbeResult.FAILURE)
        takes = max(takes, ended - now)
        outcome = ProbeOutcome((attempt,), now, takes)
        return now + takes, ProbeFinished(effect.probe_id, outcome)

    def _key(self, effect: RunProbe) -> tuple[str, int, str]:
        number = self._container(effect.container_id).restart_count
        return effect.key.container_name, number, str(effect.key.probe_type)

    def _runs_out_of_time(self, effect: RunProbe, now: datetime) -> bool:
        """Return whether the machine of the trace was too busy for this command."""
        instance = self._instances.get(effect.container_id)
        if instance is None or not isinstance(effect.probe.handler, ExecAction):
            return False
        key = self._key(effect)
        half = effect.probe.period_seconds / 2
        age = _seconds(now) - instance.started_at
        return any(-half <= age - other < half for other in self._timeouts.get(key, ()))

    # -- containers

    def _create(self, operation: CreateContainer, now: datetime) -> ContainerID:
        container_id = super()._create(operation, now)
        pod, container = operation.pod, operation.container
        volumes = {
            mount.mount_path: self._volumes.setdefault((pod.uid, mount.name), Files())
            for mount in container.volume_mounts
        }
        instance = _Instance(container, pod, Mounts(Files(), volumes))
        self._instances[container_id] = instance
        return container_id

    def _is_missing(self, container_id: ContainerID) -> bool:
        instance = self._instances.get(container_id)
        return instance is not None and shell.is_missing(_command(instance.container))

    def _refuse_start(
        self, number: int, container_id: ContainerID, now: datetime
    ) -> tuple[datetime, Fact]:
        """Let a container without a program exit with the status of the runtime."""
        created = self._container(container_id)
        self._set(
            replace(
                created,
                state=RuntimeState.EXITED,
                started_at=now,
                finished_at=now,
                exit_code=127 if self._is_docker else 128,
                reason="ContainerCannotRun" if self._is_docker else "StartError",
            )
        )
        at = now + timedelta(seconds=CALL_SECONDS[StartContainer])
        return at, OperationFinished(number, error=CANNOT_START)

    def _start(self, container_id: ContainerID, now: datetime) -> None:
        instance = self._instances[container_id]
        instance.started_at = _seconds(now)
        instance.run = _run(instance, self._listens_after)
        super()._start(container_id, now)

    def _end(self, container_id: ContainerID, at: datetime, exit_code: int) -> None:
        instance = self._instances[container_id]
        instance.ended_at = _seconds(at)
        instance.mounts.end(instance.owner, instance.ended_at)
        super()._end(container_id, at, exit_code)

    def _life(self, container_id: ContainerID) -> InstanceBehavior:
        instance = self._instances[container_id]
        run = instance.run
        stopped = run.ends_after(_seconds(self._now) - instance.started_at)
        return InstanceBehavior(
            None if run.lasts is None else timedelta(seconds=run.lasts),
            run.exit_code,
            None if stopped is None else timedelta(seconds=stopped[0]),
            0 if stopped is None else stopped[1],
        )

    # -- commands and servers

    def exec(self, container_id: ContainerID, command: tuple[str, ...]) -> Run:
        """Run a command in a container; its times count from now.

        Raises:
            ContainerRuntimeError: the container does not run.
        """
        instance = self._running(container_id)
        if instance is None:
            raise ContainerRuntimeError("container is not running")
        before = instance.mounts.count
        now = _seconds(self._machine.now())
        owner = f"{instance.owner} {now}"
        run = shell.run(command, instance.mounts, now, owner)
        left = instance.ends_at - now
        if run.lasts is None or run.lasts > left:
            instance.mounts.end(owner, instance.ends_at)
            if left < math.inf:
                return Run(left, SIGKILL_EXIT_CODE)
        if instance.mounts.count != before:
            self._rerun_readers(instance)
        return run

    def _rerun_readers(self, changed: _Instance) -> None:
        """Run programs again that read the changed files."""
        shared = {id(files) for files in changed.mounts.all}
        for container_id, instance in self._instances.items():
            is_touched = any(id(files) in shared for files in instance.mounts.all)
            runs = instance.ends_at > _seconds(self._now)
            if not is_touched or not runs or not instance.run.reads:
                continue
            instance.mounts.forget(instance.owner)
            instance.run = _run(instance, self._listens_after)
            behavior = self._life(container_id)
            if behavior.lasts is not None and instance.ended_at == math.inf:
                ends = START + timedelta(seconds=instance.started_at) + behavior.lasts
                self._set_end(container_id, ends, behavior.exit_code)

    def _running(self, container_id: ContainerID) -> _Instance | None:
        instance = self._instances.get(container_id)
        if instance is None or instance.ends_at <= _seconds(self._machine.now()):
            return None
        is_running = self._container(container_id).state is RuntimeState.RUNNING
        return instance if is_running else None

    def listener(self, ip: str, port: int) -> tuple[_Instance, str | None] | None:
        """Return the instance that listens at an address, and its served folder."""
        now = _seconds(self._machine.now())
        for container_id, instance in self._instances.items():
            pod = self._pods.get(instance.pod.uid)
            found = instance.run.listens.get(port)
            if pod is None or pod.ip != ip or found is None:
                continue
            begin, end = (
                instance.started_at + found.begin,
                instance.started_at + found.end,
            )
            if self._running(container_id) and begin <= now < end:
                return instance, found.root
        return None


class _Machine:
    """Runs handlers on virtual time, which they advance; implements `ports.Clock`."""

    def __init__(self, world: PodWorld) -> None:
        self._world = world
        self._time = START
        self._loop = asyncio.Runner()
        handlers = ProbeHandlers(
            self._exec_probe, self._http_probe, self._tcp_probe, self._grpc_probe
        )
        self.dispatcher = ProbeDispatcher(self, self, handlers=handlers)
        self.hooks = LifecycleHookRunner(self, open_transport=self._transport)

    def run(self, now: datetime, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a handler that begins now; afterwards `now()` is its end."""
        self._time = now
        return self._loop.run(coroutine)

    def close(self) -> None:
        """Close the event loop."""
        self._loop.close()

    def now(self) -> datetime:
        """Return the virtual instant."""
        return self._time

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._time += timedelta(seconds=seconds)

    async def sleep_until(self, deadline: datetime) -> None:
        """Let time pass."""
        self._time = max(self._time, deadline)

    # -- commands

    async def exec_sync(
        self, container_id: ContainerID, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        """Run a command in a container, as a runtime does."""
        begun_at = self._time
        run = self._world.exec(container_id, command)
        self.wait(EXEC_SECONDS)
        if run.is_missing:
            if self._world._is_docker:
                return ExecResult(126, _OCI_EXEC_FAILED, b"", is_missing=True)
            raise ExecutableMissingError(CANNOT_START)
        limit = timeout_seconds or math.inf
        lasts = math.inf if run.lasts is None else run.lasts
        if lasts >= limit:
            self._time = begun_at + timedelta(seconds=limit)
            raise ExecTimeoutError("timed out", killed=not self._world._is_docker)
        self.wait(min(lasts, LONGEST_HOOK_SECONDS))
        return ExecResult(run.exit_code, run.stdout.encode(), run.stderr.encode())

    async def _exec_probe(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
        rules: KubeletRules,
    ) -> Attempt:
        return await probe_exec(self, container_id, command, timeout_seconds, rules)

    # -- servers

    async def _http_probe(
        self, request: ProbeRequest, time_limit: timedelta, route: Route
    ) -> Attempt:
        limit = time_limit.total_seconds() or math.inf
        return await probe_http(request, time_limit, _Transport(self, limit))

    def _transport(self, _route: Route) -> httpx2.AsyncBaseTransport:
        return _Transport(self, math.inf)

    async def _tcp_probe(
        self, host: str, port: int, time_limit: timedelta, route: Route
    ) -> Attempt:
        try:
            self.connect(host, port)
        except DialRefusedError as error:
            return Attempt(ProbeResult.FAILURE, str(error), refused_at=error.endpoint)
        return Attempt(ProbeResult.SUCCESS, detail="connected")

    async def _grpc_probe(
        self,
        host: str,
        action: GRPCAction,
        time_limit: timedelta,
        route: Route,
        rules: KubeletRules,
    ) -> Attempt:
        """Let the time limit pass: no server here speaks gRPC."""
        self.wait(time_limit.total_seconds())
        text = grpc_connect_timeout(host, action.port, time_limit)
        return Attempt(ProbeResult.FAILURE, text)

    def connect(self, host: str, port: int) -> tuple[_Instance, str | None]:
        """Connect to a server.

        Raises:
            DialRefusedError: nothing listens there.
        """
        self.wait(REQUEST_SECONDS)
        found = self._world.listener(host, port)
        if found is None:
            where = join_host_port(host, port)
            text = f"dial tcp {where}: connect: connection refused"
            raise DialRefusedError(text, SocketAddress(host, port))
        return found

    def serve(self, request: httpx2.Request) -> tuple[httpx2.Response, float]:
        """Return the response of a server, and its duration in seconds."""
        address = request.extensions["address"]
        instance, root = self.connect(*address)
        if root is None:
            raise NotUnderstoodError("a request to a server of which nothing is known")
        target = request.extensions["target"].decode()
        path, _, query = target.partition("?")
        file = f"{root.rstrip('/')}{path}"
        content = instance.mounts.read(file, _seconds(self._time))
        if content == FOLDER or path.endswith("/"):
            file = f"{file.rstrip('/')}/index.html"
            content = instance.mounts.read(file, _seconds(self._time))
        if content is None:
            return httpx2.Response(404, stream=_Stream(b"not found")), 0.0
        if "/cgi-bin/" not in path:
            return httpx2.Response(200, stream=_Stream(content.encode())), 0.0
        environment = {"REQUEST_METHOD": "GET", "QUERY_STRING": query}
        for name, value in request.headers.raw:
            variable = re.sub(r"\W", "_", name.decode()).upper()
            environment[f"HTTP_{variable}"] = value.decode()
        run = shell.run(
            [file],
            instance.mounts,
            _seconds(self._time),
            f"{instance.owner} {self._time}",
            environment,
        )
        lasts = math.inf if run.lasts is None else run.lasts
        return _cgi_response(run.stdout), lasts


class _Transport(httpx2.AsyncBaseTransport):
    """Answers requests as the servers of containers do.

    `limit` is the client's time limit for all its requests, in seconds.
    """

    def __init__(self, machine: _Machine, limit: float) -> None:
        self._machine = machine
        self._left = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response, takes = self._machine.serve(request)
        except DialRefusedError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        self._machine.wait(min(takes, self._left))
        if takes >= self._left:
            raise TimeoutError
        self._left -= takes
        return response


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def _cgi_response(printed: str) -> httpx2.Response:
    """Return the response of httpd for the output of a CGI script."""
    head, _, body = printed.partition("\n\n")
    headers = []
    status = 200
    for line in head.splitlines():
        name, _, value = line.partition(":")
        if name == "Status":
            status = int(value.split()[0])
        elif name:
            headers.append((name, value.strip()))
    return httpx2.Response(status, headers=headers, stream=_Stream(body.encode()))


def _run(instance: _Instance, delay: float) -> Run:
    """Return the run of the main process of an instance."""
    return shell.run(
        _command(instance.container),
        instance.mounts,
        instance.started_at,
        instance.owner,
        begins_after=delay,
    )


def _command(container: Container) -> tuple[str, ...]:
    return (*container.command, *container.args)


def _seconds(at: datetime) -> float:
    return (at - START).total_seconds()
