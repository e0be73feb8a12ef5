"""A fake CRI in virtual time, for the judges of syncing and killing.

It follows the program that generated the vectors: IDs are built from names, stops end
a container with 137, images exist or do not.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from probetui.errors import GoError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ExecAction, HTTPGetAction
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.effects import (
    CreateContainer,
    GetImageStatus,
    GetImageUser,
    GetPodSandboxStatus,
    InjectFault,
    MountVolume,
    Operation,
    PulledImage,
    PullImage,
    RemoveContainer,
    RemovePodSandbox,
    RunHook,
    RunOperation,
    RunPodSandbox,
    StartContainer,
    StopContainer,
    StopPodSandbox,
    UnmountVolume,
)
from probetui.kubelet.facts import OperationFinished, OperationValue
from probetui.kubelet.journal import EventEntry
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.kubelet.prober.container_port import resolve_port
from probetui.kubelet.runtime.routines import Routine, RoutineRunner
from probetui.kubelet.runtime.turn import TurnBuilder

START = datetime(2024, 1, 1, tzinfo=UTC)
IP = "192.168.192.168"

Call = dict[str, Any]


@dataclass
class FakeCRI:
    """Sandboxes, containers and images of one pod, and a log of calls and events."""

    uid: str
    now: datetime = START
    sandboxes: list[SandboxStatus] = field(default_factory=list)
    containers: list[RuntimeContainerStatus] = field(default_factory=list)
    images: dict[str, int] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    exec_errors: dict[str, str] = field(default_factory=dict)
    stop_seconds: dict[str, float] = field(default_factory=dict)
    hook_seconds: dict[str, float] = field(default_factory=dict)
    log: list[Call] = field(default_factory=list)
    turn_builder: TurnBuilder = field(default_factory=TurnBuilder)
    names: dict[str, str] = field(default_factory=dict)
    """The names of the started containers, by ID."""

    def __post_init__(self) -> None:
        self.runner = RoutineRunner(self.turn_builder)
        self._answers: list[tuple[datetime, int, Callable[[], OperationFinished]]] = []

    def status(self, pod: Pod) -> RuntimePodStatus:
        newest = self.sandboxes[0] if self.sandboxes else None
        ready = newest is not None and newest.is_ready and not pod.host_network
        return RuntimePodStatus(
            self.uid,
            pod.name,
            pod.namespace,
            tuple(self.sandboxes),
            tuple(self.containers),
            (IP,) if ready else (),
        )

    def run(self, routine: Routine[Any]) -> Any:
        """Run a routine to its end, advance time, and return its result."""
        ended: list[Any] = []
        self.runner.start(
            self.uid, routine, lambda value, _at: ended.append(value), self.now
        )
        self._carry_out()
        while not ended:
            deadlines = (
                [self.runner.next_deadline()] if self.runner.next_deadline() else []
            )
            if self._answers:
                deadlines.append(self._answers[0][0])
            self.now = max(
                self.now, min(deadline for deadline in deadlines if deadline)
            )
            if self._answers and self._answers[0][0] <= self.now:
                _, _, answer = heapq.heappop(self._answers)
                self.runner.finish(answer(), self.now)
            else:
                self.runner.run_due(self.now)
            self._carry_out()
        return ended[0]

    def _carry_out(self) -> None:
        while True:
            turn = self.turn_builder.finish()
            if not turn.effects and not turn.entries:
                return
            for entry in turn.entries:
                if isinstance(entry, EventEntry):
                    self._log_event(entry)
            for effect in turn.effects:
                assert isinstance(effect, RunOperation)
                self._begin(effect)

    def _log_event(self, entry: EventEntry) -> None:
        event = entry.event
        call = {
            "op": "event",
            "type": str(event.type),
            "reason": event.reason,
            "message": event.message,
        }
        if event.field_path:
            call["fieldPath"] = event.field_path
        self._log(call)

    def _log(self, call: Call) -> None:
        self.log.append({**call, "t": (self.now - START).total_seconds()})

    def _begin(self, effect: RunOperation) -> None:
        operation = effect.operation
        seconds = self._seconds(operation)
        call = self._call(operation)
        error = self.errors.pop(_call_name(operation, call), None)
        if call is not None:
            if error is not None:
                call["error"] = error
            self._log(call)
        error = self._hook_error(operation) or error

        def answer() -> OperationFinished:
            if error is not None:
                return OperationFinished(effect.operation_id, error=error)
            return OperationFinished(effect.operation_id, self._act(operation))

        if seconds:
            due = self.now + timedelta(seconds=seconds)
            heapq.heappush(self._answers, (due, effect.operation_id, answer))
            return
        self.runner.finish(answer(), self.now)

    def _hook_error(self, operation: Operation) -> str | None:
        match operation:
            case RunHook(handler=ExecAction(command)):
                return self.exec_errors.get(next(iter(command), ""))
            case RunHook(
                container=container, handler=HTTPGetAction(port=port), rules=rules
            ):
                try:
                    resolve_port(port, container, rules)
                except GoError as error:
                    return str(error)
                return None
            case _:
                return None

    def _seconds(self, operation: Operation) -> float:
        match operation:
            case StopContainer(_, name, grace):
                return min(self.stop_seconds.get(name, 0), grace)
            case RunHook(container=container):
                return self.hook_seconds.get(container.name, 0)
            case _:
                return 0

    def _call(  # noqa: C901, PLR0912  # one arm per kind of call
        self, operation: Operation
    ) -> Call | None:
        match operation:
            case RunPodSandbox(pod, attempt):
                call = {"op": "RunPodSandbox", "attempt": attempt}
                if "RunPodSandbox" not in self.errors:
                    call["sandboxID"] = sandbox_id(pod, attempt)
                return call
            case GetPodSandboxStatus(which):
                return {"op": "PodSandboxStatus", "sandboxID": which}
            case StopPodSandbox(which):
                return {"op": "StopPodSandbox", "sandboxID": which}
            case PullImage(image=image):
                return {"op": "PullImage", "image": image}
            case CreateContainer(pod, container, where, attempt, image_id):
                call = {
                    "op": "CreateContainer",
                    "attempt": attempt,
                    "image": image_id,
                    "name": container.name,
                    "sandboxID": where,
                    "userSpecifiedImage": container.image,
                }
                if "CreateContainer" not in self.errors:
                    call["containerID"] = f"{where}_{container.name}_{attempt}"
                return call
            case StartContainer(which):
                return {"op": "StartContainer", "containerID": bare(which)}
            case StopContainer(which, _, grace):
                return {
                    "op": "StopContainer",
                    "containerID": bare(which),
                    "timeout": grace,
                }
            case RemoveContainer(which):
                return {"op": "RemoveContainer", "containerID": bare(which)}
            case RunHook(container_id=which, handler=ExecAction(command)):
                return {
                    "op": "ExecSync",
                    "cmd": list(command),
                    "containerID": bare(which),
                    "timeout": 0,
                }
            case RunHook(handler=HTTPGetAction()) if not self._hook_error(operation):
                return {"op": "HTTP"}
            case _:
                return None

    def _act(  # noqa: C901  # one arm per kind of call
        self, operation: Operation
    ) -> OperationValue:
        match operation:
            case RunPodSandbox(pod, attempt):
                sandbox = SandboxStatus(
                    sandbox_id(pod, attempt),
                    is_ready=True,
                    attempt=attempt,
                    created_at=self.now,
                    host_network=pod.host_network,
                    ip=IP,
                )
                self.sandboxes.insert(0, sandbox)
                return sandbox.sandbox_id
            case GetPodSandboxStatus(which):
                return next(
                    status for status in self.sandboxes if status.sandbox_id == which
                )
            case StopPodSandbox(which):
                self.sandboxes = [
                    replace(
                        status, is_ready=status.is_ready and status.sandbox_id != which
                    )
                    for status in self.sandboxes
                ]
            case GetImageStatus(image):
                return image if image in self.images else None
            case PullImage(image=image):
                self.images.setdefault(image, 0)
                return PulledImage(image, self.images[image])
            case CreateContainer(_, container, where, attempt):
                which = ContainerID(f"containerd://{where}_{container.name}_{attempt}")
                self.containers = [
                    status for status in self.containers if status.container_id != which
                ]
                self.containers.insert(
                    0,
                    RuntimeContainerStatus(
                        which,
                        container.name,
                        RuntimeState.CREATED,
                        created_at=self.now,
                        image=container.image,
                        restart_count=attempt,
                        hash=container_hash(container),
                    ),
                )
                return which
            case StartContainer(which):
                self.change(which, state=RuntimeState.RUNNING, started_at=self.now)
            case StopContainer(which):
                if self.stop_seconds:
                    self._log(
                        {"op": "StopContainerReturned", "containerID": bare(which)}
                    )
                self.exit(which, 137, "Error")
            case RemoveContainer(which):
                self.containers = [
                    status for status in self.containers if status.container_id != which
                ]
            case RunHook():
                return ""
            case (
                RemovePodSandbox()
                | MountVolume()
                | UnmountVolume()
                | GetImageUser()
                | InjectFault()
            ):
                raise AssertionError(operation)
        return None

    def exit(self, which: ContainerID, exit_code: int, reason: str) -> None:
        self.change(
            which,
            state=RuntimeState.EXITED,
            exit_code=exit_code,
            reason=reason,
            finished_at=self.now,
        )

    def change(self, which: ContainerID, **fields: Any) -> None:
        self.containers = [
            replace(container, **fields)
            if container.container_id == which
            else container
            for container in self.containers
        ]


def _call_name(operation: Operation, call: Call | None) -> str:
    """Return the CRI's name of a call; image status calls are not recorded."""
    if isinstance(operation, GetImageStatus | GetImageUser):
        return "ImageStatus"
    return "" if call is None else str(call["op"])


def sandbox_id(pod: Pod, attempt: int) -> str:
    return f"{pod.name}_{pod.namespace}_{pod.uid}_{attempt}"


def known_parts(call: Call) -> Call:
    """Return what of a call is the kubelet's: not the answer to a hook.

    A null command is the empty list; of a request, only that there was one is
    compared.
    """
    match call:
        case {"op": "ExecSync"}:
            known = {key: value for key, value in call.items() if key != "error"}
            return {**known, "cmd": call.get("cmd") or []}
        case {"op": "HTTP"}:
            return {"op": "HTTP"}
        case _:
            return call


def bare(container_id: ContainerID) -> str:
    return container_id.rpartition("://")[2]
