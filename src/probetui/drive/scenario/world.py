"""World: simulated containers and probes that follow a scenario.

It answers the engine's effects on virtual time, some of them after a delay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from operator import attrgetter

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.drive.logs import LAST_LINES
from probetui.drive.scenario.behavior import (
    NO_TIME,
    InstanceBehavior,
    ProbeAnswer,
    ProbeBehavior,
    RuntimeBehavior,
    answer_calls_at_once,
    answer_success,
    answer_too_late,
)
from probetui.engine.inputs import Fact, LastOutputRead, ListenersFound
from probetui.errors import GoError
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.runtime import (
    ANYWHERE,
    ContainerID,
    Listeners,
    ListenerScope,
    LogLine,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
    SocketAddress,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Effect,
    Fault,
    FindListeners,
    GetImageStatus,
    GetImageUser,
    GetPodSandboxStatus,
    GetRuntimeStatus,
    InjectFault,
    ListImages,
    MountVolume,
    Operation,
    PulledImage,
    PullImage,
    ReadLastOutput,
    Relist,
    RemoveContainer,
    RemovePodSandbox,
    RunHook,
    RunOperation,
    RunPodSandbox,
    RunProbe,
    StartContainer,
    StopContainer,
    StopPodSandbox,
    UnmountVolume,
)
from probetui.kubelet.facts import (
    ImagesListed,
    OperationFinished,
    OperationValue,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RuntimeStatusRead,
)
from probetui.kubelet.kuberuntime.container_hash import hash_of_new
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.prober.container_port import resolve_port
from probetui.kubelet.prober.timeout_text import (
    exited,
    http_failure,
    request_url,
)
from probetui.kubelet.runtime_health import READY_CONDITIONS

SIGKILL_EXIT_CODE = 137
START_ERROR_EXIT_CODE = 128
ALL_IS_WELL = InstanceBehavior()


class _Pod(Struct):
    """The sandboxes and containers of one pod.

    `ips` are those of a pod that was put into the world without a sandbox.
    """

    uid: str
    name: str
    namespace: str
    host_network: bool
    ip: str
    sandboxes: list[SandboxStatus] = field(default_factory=list)
    containers: list[RuntimeContainerStatus] = field(default_factory=list)
    seen: RuntimePodStatus | None = None
    ips: tuple[str, ...] = ()


class World:
    """Simulated containers and probes; owned by the simulation.

    Args:
        lives: the behavior of the instances of each container, by container name or
            `pod/container`; the last one repeats. A container that is not listed runs
            for ever.
        init_life: the behavior of an init container that is not listed, and is no
            sidecar; None for that of the others.
        probing: answers the probes that `lives` has no answers for.
        images: the images that exist; None for all.
        dealing: how the runtime answers calls.
        absent: images that have to be pulled first.
        series: of its IDs; those of two series are never the same.

    `unreachable` is the error of every runtime call while it is not empty. `volumes`
    are those that are mounted, by pod UID and name.
    """

    def __init__(
        self,
        lives: Mapping[str, Sequence[InstanceBehavior]] | None = None,
        probing: ProbeBehavior = answer_success,
        images: frozenset[str] | None = None,
        dealing: RuntimeBehavior = answer_calls_at_once,
        absent: Iterable[str] = (),
        series: str = "",
        init_life: InstanceBehavior | None = None,
    ) -> None:
        self.unreachable = ""
        self._lives = lives or {}
        self._init_life = init_life or InstanceBehavior()
        self._inits: set[ContainerID] = set()
        self._probing = probing
        self._images = images
        self._dealing = dealing
        self._absent = set(absent)
        self.volumes: dict[tuple[str, str], MountVolume] = {}
        self._pods: dict[str, _Pod] = {}
        self._pod_of: dict[ContainerID, str] = {}
        self._sandbox_of: dict[ContainerID, str] = {}
        self._ends: dict[ContainerID, tuple[datetime, int]] = {}
        self._phases: dict[tuple[ContainerID, ProbeType], tuple[int, int]] = {}
        self._hooks: dict[int, tuple[datetime, RunHook]] = {}
        self._interrupted: list[tuple[datetime, OperationFinished]] = []
        self._frozen: set[ContainerID] = set()
        self._cut_off: set[str] = set()
        self._series = series
        self._last_id = 0

    def answer(self, effect: Effect, now: datetime) -> tuple[datetime, Fact]:
        """Return the fact that answers an effect, and its instant."""
        self._end_due_containers(now)
        match effect:
            case Relist():
                return self._relist(now)
            case RunProbe():
                answer = self._answer_probe(effect, now)
                at = now + answer.takes
                tries = 1 if answer.attempt.error is None else 3
                outcome = ProbeOutcome((answer.attempt,) * tries, now, answer.takes)
                return at, ProbeFinished(effect.probe_id, outcome)
            case RunOperation(operation_id, pod_uid, operation):
                return self._operate(operation_id, pod_uid, operation, now)
            case GetRuntimeStatus():
                return now, RuntimeStatusRead(READY_CONDITIONS)
            case ListImages():
                return now, ImagesListed()
            case FindListeners(container_id):
                return now, self._find_listeners(container_id)
            case ReadLastOutput(container_id):
                return now, self._last_output(container_id)

    def _last_output(self, container_id: ContainerID) -> LastOutputRead:
        """Return the end of what the script says that an instance prints."""
        is_here = container_id in self._pod_of
        printed = self._life(container_id).prints if is_here else None
        if printed is None:
            return LastOutputRead(container_id, None)
        at = self._container(container_id).finished_at
        lines = printed.splitlines()[-LAST_LINES:]
        return LastOutputRead(container_id, tuple(LogLine(at, line) for line in lines))

    def take_interrupted_hooks(self) -> list[tuple[datetime, OperationFinished]]:
        """Return the facts, and instants, of hooks that end before their planned time.

        Their container ends first. Each is returned once.
        """
        interrupted, self._interrupted = self._interrupted, []
        return interrupted

    def pods(self, now: datetime) -> tuple[RuntimePodStatus, ...]:
        """Return all pods; unchanged ones are the same objects."""
        self._end_due_containers(now)
        return tuple(_seen(pod, now) for pod in self._pods.values())

    # -- a world that was there before

    def put_in(self, statuses: Iterable[RuntimePodStatus]) -> None:
        """Add pods that a runtime has listed."""
        for status in statuses:
            addresses = (
                *status.ips,
                *(sandbox.ip for sandbox in status.sandboxes if sandbox.ip),
            )
            on_host = any(sandbox.host_network for sandbox in status.sandboxes)
            pod = _Pod(
                status.pod_uid,
                status.name,
                status.namespace,
                on_host,
                next(iter(addresses), ""),
                list(status.sandboxes),
                list(status.containers),
                ips=status.ips if on_host or not status.sandboxes else (),
            )
            self._pods[status.pod_uid] = pod
            for container in status.containers:
                container_id = container.container_id
                self._pod_of[container_id] = status.pod_uid
                self._sandbox_of[container_id] = _sandbox_at(pod, container)
                self._plan_end(container)

    def repeat(  # noqa: C901  # one arm per operation
        self,
        pod_uid: str,
        operation: Operation,
        outcome: OperationFinished,
        now: datetime,
    ) -> None:
        """Apply an operation that another runtime carried out, as of `now`.

        An operation that has been applied already changes nothing.
        """
        if outcome.error is not None:
            return
        pod = self._pods.get(pod_uid)
        match operation, outcome.value:
            case RunPodSandbox(), str(sandbox_id):
                known = [] if pod is None else pod.sandboxes
                if all(sandbox.sandbox_id != sandbox_id for sandbox in known):
                    self._run_sandbox(operation, now, sandbox_id)
            case GetPodSandboxStatus(), SandboxStatus() as seen if pod is not None:
                pod.sandboxes = [
                    seen if sandbox.sandbox_id == seen.sandbox_id else sandbox
                    for sandbox in pod.sandboxes
                ]
                pod.ip = seen.ip or pod.ip
                pod.seen = None
            case CreateContainer(), str(text) if pod is not None:
                container_id = ContainerID(text)
                if container_id not in self._pod_of:
                    self._add_created(operation, container_id, now)
            case StartContainer(container_id), _:
                if (
                    container_id in self._pod_of
                    and self._container(container_id).state is RuntimeState.CREATED
                ):
                    self._start(container_id, now)
            case StopContainer(container_id), RuntimeContainerStatus() as ended:
                if container_id in self._pod_of:
                    self._ends.pop(container_id, None)
                    self._set(ended)
            case (CreateContainer() | StopContainer(), _):
                return
            case _:
                self._change(pod_uid, operation, now)

    def _end_due_containers(self, now: datetime) -> None:
        for container_id, (at, exit_code) in list(self._ends.items()):
            if at <= now:
                self._end(container_id, at, exit_code)

    def _answer_probe(self, effect: RunProbe, now: datetime) -> ProbeAnswer:
        handler = effect.probe.handler
        if isinstance(handler, HTTPGetAction | TCPSocketAction):
            try:
                resolve_port(handler.port, effect.container, effect.rules)
            except GoError as error:
                # The prober detects these itself, whatever the script says.
                return ProbeAnswer(Attempt(ProbeResult.UNKNOWN, error=str(error)))
        elsewhere = getattr(handler, "host", "")
        if self._has_exited(effect.container_id) and not elsewhere:
            attempt = exited(effect.probe, effect.container, effect.pod_ip)
            return ProbeAnswer(attempt, attempt.duration)
        if self._is_unreachable(effect):
            return answer_too_late(effect)
        age = self._age(effect.container_id, now)
        kind = effect.key.probe_type
        if effect.container_id not in self._pod_of:
            return self._probing(effect, age)
        if (refusal := self._refusal(effect)) is not None:
            return refusal
        answers = self._life(effect.container_id).answers.get(kind)
        if answers is None:
            return self._probing(effect, age)
        place = effect.container_id, kind
        index, times = self._phases.get(place, (0, 0))
        last = len(answers.phases) - 1
        while answers.phases[index].is_over(times, age) and (
            index < last or answers.repeat
        ):
            index, times = (index + 1) % (last + 1), 0
        self._phases[place] = index, times + 1
        return answers.phases[index].answer(effect, age)

    def _has_exited(self, container_id: ContainerID) -> bool:
        if container_id not in self._pod_of:
            return False
        return self._container(container_id).state is RuntimeState.EXITED

    def _is_unreachable(self, effect: RunProbe) -> bool:
        """Return whether a container is frozen, or cut off from the network.

        Commands run in a container that is cut off, as they do not use its network.
        """
        if effect.container_id in self._frozen:
            return True
        is_command = isinstance(effect.probe.handler, ExecAction)
        return effect.key.pod_uid in self._cut_off and not is_command

    def _relist(self, now: datetime) -> tuple[datetime, Fact]:
        manner = self._dealing(Relist())
        error = self.unreachable or manner.error
        fact = RelistFailed(error) if error else Relisted(self.pods(now), now)
        return now + manner.takes, fact

    def _operate(
        self, operation_id: int, pod_uid: str, operation: Operation, now: datetime
    ) -> tuple[datetime, Fact]:
        manner = self._dealing(operation)
        refused = self.unreachable or manner.error
        missing = self._find_missing(pod_uid, operation)
        if isinstance(operation, StartContainer) and not (refused or missing):
            refused = self._fail_start(operation.container_id, now)
        elif isinstance(operation, CreateContainer) and not (refused or missing):
            name, number = operation.container.name, operation.attempt
            refused = self._find_life(operation.pod.name, name, number).create_error
        if refused or missing:
            return now + manner.takes, OperationFinished(
                operation_id, error=refused or missing, not_found=not refused
            )
        if isinstance(operation, StopContainer):
            stopped = self._stop(operation, now)
            done_at = now if stopped is None else stopped.finished_at or now
            finished = OperationFinished(operation_id, stopped)
            return max(done_at, now) + manner.takes, finished
        value = self._change(pod_uid, operation, now)
        finished = OperationFinished(operation_id, value)
        if isinstance(operation, RunHook):
            return self._answer_hook(operation, finished, now + manner.takes, now)
        return now + manner.takes, finished

    def _answer_hook(
        self, hook: RunHook, finished: OperationFinished, at: datetime, now: datetime
    ) -> tuple[datetime, OperationFinished]:
        """Return when and how a hook ends that is planned to end at an instant."""
        self._hooks = {key: kept for key, kept in self._hooks.items() if kept[0] > now}
        end = self._ends.get(hook.container_id)
        if end is not None and end[0] < at and _runs_in_container(hook):
            return end[0], _interrupted(hook, finished.operation_id)
        self._hooks[finished.operation_id] = at, hook
        return at, finished

    def _set_end(self, container_id: ContainerID, at: datetime, exit_code: int) -> None:
        """Schedule the end of a container, which interrupts hooks in it."""
        self._ends[container_id] = at, exit_code
        for operation_id, (hook_ends_at, hook) in list(self._hooks.items()):
            if (
                hook.container_id == container_id
                and at < hook_ends_at
                and _runs_in_container(hook)
            ):
                self._hooks[operation_id] = at, hook
                self._interrupted.append((at, _interrupted(hook, operation_id)))

    def _find_missing(self, pod_uid: str, operation: Operation) -> str:
        """Return why an operation fails for a missing object, empty if none is missing.

        Stopping or removing what is gone is no error.
        """
        match operation:
            case PullImage(image=image) if not self._has(image):
                return f"{image}: not found"
            case (
                GetPodSandboxStatus(sandbox_id) | CreateContainer(sandbox_id=sandbox_id)
            ) if sandbox_id not in self._ready_sandboxes(pod_uid):
                return f"{sandbox_id}: no such sandbox"
            case StartContainer(container_id) if container_id not in self._pod_of:
                return f"{container_id}: no such container"
            case _:
                return ""

    def _ready_sandboxes(self, pod_uid: str) -> dict[str, SandboxStatus]:
        pod = self._pods.get(pod_uid)
        sandboxes = [] if pod is None else pod.sandboxes
        return {
            sandbox.sandbox_id: sandbox for sandbox in sandboxes if sandbox.is_ready
        }

    def _change(  # noqa: C901, PLR0912  # one arm per operation
        self, pod_uid: str, operation: Operation, now: datetime
    ) -> OperationValue:
        match operation:
            case RunPodSandbox():
                return self._run_sandbox(operation, now)
            case GetPodSandboxStatus(sandbox_id):
                return self._ready_sandboxes(pod_uid)[sandbox_id]
            case StopPodSandbox(sandbox_id):
                self._stop_sandbox(pod_uid, sandbox_id, now)
            case RemovePodSandbox(sandbox_id):
                self._remove_sandbox(pod_uid, sandbox_id)
            case MountVolume(pod, volume):
                self.volumes[pod.uid, volume.name] = operation
            case UnmountVolume(uid, name):
                self.volumes.pop((uid, name), None)
            case GetImageStatus(image):
                is_here = self._has(image) and image not in self._absent
                return image if is_here else None
            case PullImage(image=image):
                self._absent.discard(image)
                return PulledImage(image, 0)
            case CreateContainer():
                return self._create(operation, now)
            case StartContainer(container_id):
                self._start(container_id, now)
            case RemoveContainer(container_id):
                self._remove(container_id)
            case InjectFault(container_id, _, disruption):
                self._inject_fault(pod_uid, container_id, disruption, now)
            case StopContainer() | RunHook() | GetImageUser():
                return None
        return None

    def _has(self, image: str) -> bool:
        return self._images is None or image in self._images

    def _age(self, container_id: ContainerID, now: datetime) -> timedelta:
        if container_id not in self._pod_of:
            return NO_TIME
        started_at = self._container(container_id).started_at
        return NO_TIME if started_at is None else now - started_at

    def _find_listeners(self, container_id: ContainerID) -> ListenersFound:
        is_known = container_id in self._pod_of
        endpoints = self._life(container_id).listens if is_known else None
        if endpoints is None:
            problem = "a scripted container has no network"
            return ListenersFound(container_id, None, problem)
        by_port = sorted(set(endpoints), key=attrgetter("port", "address"))
        listeners = Listeners(tuple(by_port), ListenerScope.CONTAINER)
        return ListenersFound(container_id, listeners)

    def _refusal(self, effect: RunProbe) -> ProbeAnswer | None:
        """Return the answer where a container listens elsewhere; None if it may."""
        handler = effect.probe.handler
        endpoints = self._life(effect.container_id).listens
        if endpoints is None or not isinstance(
            handler, HTTPGetAction | TCPSocketAction | GRPCAction
        ):
            return None
        host = getattr(handler, "host", "") or effect.pod_ip
        port = resolve_port(handler.port, effect.container, effect.rules)
        if any(
            (endpoint.port, endpoint.address) in {(port, host), (port, anywhere)}
            for endpoint in endpoints
            for anywhere in ANYWHERE
        ):
            return None
        attempt = exited(effect.probe, effect.container, effect.pod_ip)
        refused = replace(attempt, refused_at=SocketAddress(host, port))
        return ProbeAnswer(refused, attempt.duration)

    # -- sandboxes

    def _run_sandbox(
        self, operation: RunPodSandbox, now: datetime, sandbox_id: str = ""
    ) -> str:
        spec = operation.pod
        if spec.uid not in self._pods:
            ip = f"10.0.{len(self._pods) // 250}.{len(self._pods) % 250 + 1}"
            self._pods[spec.uid] = _Pod(
                spec.uid, spec.name, spec.namespace, spec.host_network, ip
            )
        pod = self._pods[spec.uid]
        sandbox = SandboxStatus(
            sandbox_id or self._new_id("sandbox"),
            is_ready=True,
            attempt=operation.attempt,
            created_at=now,
            host_network=spec.host_network,
            ip=pod.ip,
        )
        pod.sandboxes.insert(0, sandbox)
        pod.seen = None
        return sandbox.sandbox_id

    def _stop_sandbox(self, pod_uid: str, sandbox_id: str, now: datetime) -> None:
        """Stop a sandbox; containers that run in it are killed."""
        pod = self._pods.get(pod_uid)
        if pod is None:
            return
        for container in self._containers_in(pod, sandbox_id):
            if container.state is RuntimeState.RUNNING:
                self._set_end(container.container_id, now, SIGKILL_EXIT_CODE)
        pod.sandboxes = [
            replace(sandbox, is_ready=False)
            if sandbox.sandbox_id == sandbox_id
            else sandbox
            for sandbox in pod.sandboxes
        ]
        pod.seen = None

    def _remove_sandbox(self, pod_uid: str, sandbox_id: str) -> None:
        pod = self._pods.get(pod_uid)
        if pod is None:
            return
        for container in self._containers_in(pod, sandbox_id):
            self._remove(container.container_id)
        pod.sandboxes = [
            sandbox for sandbox in pod.sandboxes if sandbox.sandbox_id != sandbox_id
        ]
        pod.seen = None
        if not pod.sandboxes:
            del self._pods[pod_uid]

    def _containers_in(
        self, pod: _Pod, sandbox_id: str
    ) -> tuple[RuntimeContainerStatus, ...]:
        return tuple(
            container
            for container in pod.containers
            if self._sandbox_of[container.container_id] == sandbox_id
        )

    # -- containers

    def _create(self, operation: CreateContainer, now: datetime) -> ContainerID:
        container_id = ContainerID(f"sim://{self._new_id('container')}")
        self._add_created(operation, container_id, now)
        return container_id

    def _add_created(
        self, operation: CreateContainer, container_id: ContainerID, now: datetime
    ) -> None:
        pod = self._pods[operation.pod.uid]
        pod.containers.insert(
            0,
            RuntimeContainerStatus(
                container_id,
                operation.container.name,
                RuntimeState.CREATED,
                created_at=now,
                image=operation.container.image,
                restart_count=operation.attempt,
                hash=hash_of_new(operation),
            ),
        )
        pod.seen = None
        self._pod_of[container_id] = pod.uid
        self._sandbox_of[container_id] = operation.sandbox_id
        is_init = operation.container in operation.pod.init_containers
        if is_init and not operation.container.is_sidecar:
            self._inits.add(container_id)

    def _start(self, container_id: ContainerID, now: datetime) -> None:
        created = self._container(container_id)
        started = replace(created, state=RuntimeState.RUNNING, started_at=now)
        self._set(started)
        self._plan_end(started)

    def _fail_start(self, container_id: ContainerID, now: datetime) -> str:
        """Return why a container cannot be started, empty if it can; it has ended."""
        error = self._life(container_id).start_error
        if error:
            ended = _ended(self._container(container_id), now, START_ERROR_EXIT_CODE)
            self._set(replace(ended, reason="StartError", message=error))
        return error

    def _plan_end(self, container: RuntimeContainerStatus) -> None:
        """Schedule the exit of a running container at the end of its scripted life."""
        life = self._life(container.container_id)
        if (
            container.state is RuntimeState.RUNNING
            and container.started_at is not None
            and life.lasts is not None
        ):
            end = container.started_at + life.lasts
            self._set_end(container.container_id, end, life.exit_code)

    def _stop(
        self, operation: StopContainer, now: datetime
    ) -> RuntimeContainerStatus | None:
        """Stop a container and return its final status; None if it is gone."""
        container_id = operation.container_id
        if container_id not in self._pod_of:
            return None
        container = self._container(container_id)
        if container.state is not RuntimeState.RUNNING:
            return container
        life = self._life(container_id)
        stops_after = None if container_id in self._frozen else life.stops_after
        grace = timedelta(seconds=operation.grace_period_seconds)
        if stops_after is None or stops_after > grace:
            end, exit_code = now + grace, SIGKILL_EXIT_CODE
        else:
            end, exit_code = now + stops_after, life.stop_code
        by_itself = self._ends.get(container_id)
        if by_itself is not None and by_itself[0] < end:
            return _ended(container, *by_itself)
        self._set_end(container_id, end, exit_code)
        return _ended(container, end, exit_code)

    def _inject_fault(
        self,
        pod_uid: str,
        container_id: ContainerID,
        disruption: Fault,
        now: datetime,
    ) -> None:
        """Inject a fault; a frozen container's script goes on.

        A frozen main process does not handle SIGTERM.
        """
        match disruption:
            case Fault.FREEZE:
                self._frozen.add(container_id)
            case Fault.UNFREEZE:
                self._frozen.discard(container_id)
            case Fault.CUT_NETWORK:
                self._cut_off.add(pod_uid)
            case Fault.RESTORE_NETWORK:
                self._cut_off.discard(pod_uid)
            case Fault.KILL:
                if container_id in self._pod_of:
                    self._set_end(container_id, now, SIGKILL_EXIT_CODE)
            case Fault.STOP:
                self._terminate(container_id, now)

    def _terminate(self, container_id: ContainerID, now: datetime) -> None:
        if container_id not in self._pod_of or container_id in self._frozen:
            return
        life = self._life(container_id)
        if life.stops_after is not None:
            self._set_end(container_id, now + life.stops_after, life.stop_code)

    def _end(self, container_id: ContainerID, at: datetime, exit_code: int) -> None:
        del self._ends[container_id]
        self._frozen.discard(container_id)
        ended = _ended(self._container(container_id), at, exit_code)
        life = self._life(container_id)
        if life.oom_killed and exit_code == life.exit_code:
            ended = replace(ended, reason="OOMKilled", oom_killed=True)
        self._set(ended)

    def _remove(self, container_id: ContainerID) -> None:
        pod_uid = self._pod_of.pop(container_id, None)
        if pod_uid is None:
            return
        del self._sandbox_of[container_id]
        self._ends.pop(container_id, None)
        for kind in ProbeType:
            self._phases.pop((container_id, kind), None)
        pod = self._pods[pod_uid]
        pod.containers = [
            container
            for container in pod.containers
            if container.container_id != container_id
        ]
        pod.seen = None

    def _life(self, container_id: ContainerID) -> InstanceBehavior:
        container = self._container(container_id)
        pod = self._pods[self._pod_of[container_id]]
        unlisted = (
            self._init_life if container_id in self._inits else InstanceBehavior()
        )
        return self._find_life(
            pod.name, container.name, container.restart_count, unlisted
        )

    def _find_life(
        self,
        pod_name: str,
        name: str,
        number: int,
        unlisted: InstanceBehavior = ALL_IS_WELL,
    ) -> InstanceBehavior:
        """Return the life of an instance; `number` counts those before it."""
        lives = self._lives.get(f"{pod_name}/{name}")
        if lives is None:
            lives = self._lives.get(name, (unlisted,))
        return lives[min(number, len(lives) - 1)]

    def _container(self, container_id: ContainerID) -> RuntimeContainerStatus:
        pod = self._pods[self._pod_of[container_id]]
        return next(
            container
            for container in pod.containers
            if container.container_id == container_id
        )

    def _set(self, changed: RuntimeContainerStatus) -> None:
        pod = self._pods[self._pod_of[changed.container_id]]
        pod.containers = [
            changed if container.container_id == changed.container_id else container
            for container in pod.containers
        ]
        pod.seen = None

    def _new_id(self, kind: str) -> str:
        """Return an ID in a runtime's form; users see the first twelve digits."""
        self._last_id += 1
        return sha256(f"{self._series}{kind} {self._last_id}".encode()).hexdigest()


def _runs_in_container(hook: RunHook) -> bool:
    """Return whether a hook ends with its container; one on another host does not."""
    return not getattr(hook.handler, "host", "")


def _interrupted(hook: RunHook, operation_id: int) -> OperationFinished:
    """Return the result of a hook whose container ends before it.

    A command is killed with its container; a server closes the connection.
    """
    match hook.handler:
        case ExecAction(command):
            joined = " ".join(command)
            error = f"command '{joined}' exited with {SIGKILL_EXIT_CODE}: "
        case HTTPGetAction() as action:
            url = request_url(action, hook.container, hook.pod_ip)
            error = http_failure(url, "EOF")
        case handler:
            error = f"invalid handler: {handler}"
    return OperationFinished(operation_id, error=error)


def _sandbox_at(pod: _Pod, container: RuntimeContainerStatus) -> str:
    """Return the sandbox of a listed container."""
    for sandbox in pod.sandboxes:  # newest first
        if (
            sandbox.created_at is None
            or container.created_at is None
            or sandbox.created_at <= container.created_at
        ):
            return sandbox.sandbox_id
    return ""


def _ended(
    container: RuntimeContainerStatus, at: datetime, exit_code: int
) -> RuntimeContainerStatus:
    return replace(
        container,
        state=RuntimeState.EXITED,
        finished_at=at,
        exit_code=exit_code,
        reason="Completed" if exit_code == 0 else "Error",
    )


def _seen(pod: _Pod, now: datetime) -> RuntimePodStatus:
    if pod.seen is None:
        ready = bool(pod.sandboxes) and pod.sandboxes[0].is_ready
        pod.seen = RuntimePodStatus(
            pod.uid,
            pod.name,
            pod.namespace,
            tuple(pod.sandboxes),
            tuple(pod.containers),
            (pod.ip,) if ready and not pod.host_network else pod.ips,
            now,
        )
    return pod.seen
