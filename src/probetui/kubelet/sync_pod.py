"""Bringing the containers of one pod to where they should be.

Source: kuberuntime_manager.go, kuberuntime_container.go, v1.32.10, SyncPod,
startContainer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from probetui.k8s.event import EventType
from probetui.k8s.node import NOWHERE, Node
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, HTTPGetAction, SleepAction, TCPSocketAction
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.backoff import (
    CRASH_LOOP_BACK_OFF,
    Backoff,
    BackoffDecision,
    do_back_off,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.container_config import make_container_config
from probetui.kubelet.downward_api import Whereabouts
from probetui.kubelet.effects import (
    CreateContainer,
    GetImageUser,
    GetPodSandboxStatus,
    RemoveContainer,
    RunHook,
    RunPodSandbox,
    StartContainer,
)
from probetui.kubelet.go_text import go_list, go_quote
from probetui.kubelet.grace_period import KillReason
from probetui.kubelet.hooks import CANNOT_RUN_HANDLER, tell_fallback
from probetui.kubelet.images import ImageManager
from probetui.kubelet.init_actions import Beliefs, ContainerToKill
from probetui.kubelet.journal import BackoffEntry, By
from probetui.kubelet.killing import Kill, Killer
from probetui.kubelet.lifetimes import Lifetimes
from probetui.kubelet.objects import Objects, Refusal
from probetui.kubelet.pod_actions import PodActions, compute_pod_actions
from probetui.kubelet.reason_cache import StartFailure
from probetui.kubelet.restraint import Restraint
from probetui.kubelet.routine import NOW, Await, Outcome, Routine
from probetui.kubelet.security_context import needs_image_user, parse_image_user
from probetui.kubelet.snapshot import BackoffSnapshot
from probetui.kubelet.turn import Ledger

KILL_CONTAINER_ERROR = "KillContainerError"
KILL_POD_SANDBOX_ERROR = "KillPodSandboxError"
CREATE_POD_SANDBOX_ERROR = "CreatePodSandboxError"
CONFIG_POD_SANDBOX_ERROR = "ConfigPodSandboxError"
CREATE_CONTAINER_CONFIG_ERROR = "CreateContainerConfigError"
CREATE_CONTAINER_ERROR = "CreateContainerError"
RUN_CONTAINER_ERROR = "RunContainerError"
POST_START_HOOK_ERROR = "PostStartHookError"

KILLED_BY = {
    KillReason.LIVENESS_PROBE: By.LIVENESS,
    KillReason.STARTUP_PROBE: By.STARTUP,
    KillReason.NONE: By.DEFINITION,
}


class SyncResult(NamedTuple):
    """What came of one action of a sync; `reason` is empty if it went well."""

    action: str
    target: str
    reason: str = ""
    message: str = ""


@dataclass(slots=True)
class PodSyncResult:
    """What came of a sync, action by action; owned by the sync until it ends.

    `sync_error` is one that belongs to no single action.
    """

    results: list[SyncResult] = field(default_factory=list)
    sync_error: str | None = None

    def add(
        self, action: str, target: str, reason: str = "", message: str = ""
    ) -> None:
        """Add what came of an action."""
        self.results.append(SyncResult(action, target, reason, message))

    @property
    def errors(self) -> list[str]:
        """Each error in the kubelet's words, in order."""
        texts = [] if self.sync_error is None else [self.sync_error]
        texts += [
            f"failed to {go_quote(each.action)} for {go_quote(each.target)} "
            f"with {each.reason}: {go_quote(each.message)}"
            for each in self.results
            if each.reason
        ]
        return texts

    @property
    def error(self) -> str | None:
        """All errors in one text as Go prints a list of them, None without any."""
        unique = list(dict.fromkeys(self.errors))
        if not unique:
            return None
        return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


class PodSyncer:
    """Writes the routines that sync a pod; owned by the engine.

    Args:
        ledger: where events, entries and effects go.
        killer: how containers are stopped.
        images: how images are had.
        backoff: crash-loop back-off of all containers.
        lifetimes: who is told of containers' lives.
        liveness: what the liveness probes have found.
        startup: what the startup probes have found.
        objects: the ConfigMaps and Secrets there are.
        node: what pods are told of the machine.
        restraint: what is only told and not done; None where all is done.
    """

    def __init__(
        self,
        ledger: Ledger,
        killer: Killer,
        images: ImageManager,
        backoff: Backoff,
        lifetimes: Lifetimes,
        liveness: Beliefs,
        startup: Beliefs,
        objects: Objects | None = None,
        node: Node = NOWHERE,
        restraint: Restraint | None = None,
    ) -> None:
        self._restraint = restraint or Restraint(
            KubeletConfig(), lifetimes, lambda _container_id, _now: None
        )
        self._ledger = ledger
        self._killer = killer
        self._images = images
        self._backoff = backoff
        self._lifetimes = lifetimes
        self._liveness = liveness
        self._startup = startup
        self._objects = objects or Objects()
        self._node = node
        self.waits: dict[tuple[str, str], BackoffSnapshot] = {}
        """What back-off last said, by pod UID and container name."""

    def forget_pod(self, pod_uid: str) -> None:
        """Drop what is kept to be shown of a gone pod; back-off itself stays."""
        for key in [each for each in self.waits if each[0] == pod_uid]:
            del self.waits[key]
        self._restraint.forget_pod(pod_uid)

    def sync_pod(
        self, pod: Pod, status: RuntimePodStatus, now: datetime
    ) -> Routine[PodSyncResult]:
        """Kill what must go, then start what should run.

        `status` is read once, before the sync: what is killed here still runs in it.
        """
        result = PodSyncResult()
        actions = compute_pod_actions(pod, status, self._liveness, self._startup)
        self._restraint.look_at(pod, status)
        if actions.kill_pod and not self._restraint.kills:
            running = _running(status)
            if running:
                self._restraint.tell_stops(pod, running, By.POD, now)
                return result
        if actions.create_sandbox and actions.sandbox_id:
            self._ledger.event(
                pod,
                EventType.NORMAL,
                "SandboxChanged",
                "Pod sandbox changed, it will be killed and re-created.",
                now=now,
            )
        if actions.kill_pod:
            goes_on = yield from self._kill_pod(pod, status, actions, result, now)
        else:
            goes_on = yield from self._kill_listed(pod, status, actions, result)
        if not goes_on:
            return result
        if not actions.create_sandbox:
            yield from self._prune_init_containers(pod, status)
        ready = yield from self._have_sandbox(pod, status, actions, result)
        if ready is None:
            return result
        yield from self._start_listed(pod, status, actions, ready, result)
        return result

    # -- killing

    def _kill_pod(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        actions: PodActions,
        result: PodSyncResult,
        now: datetime,
    ) -> Routine[bool]:
        killed = yield from self._killer.kill_pod(pod, status, now)
        for name, error in killed.errors:
            reason = KILL_CONTAINER_ERROR if error is not None else ""
            result.add("KillContainer", name, reason, error or "")
        reason = KILL_POD_SANDBOX_ERROR if killed.sandbox_error is not None else ""
        result.add("KillPodSandbox", pod.uid, reason, killed.sandbox_error or "")
        if killed.error is not None:
            return False
        if actions.create_sandbox:
            yield from self._remove_all_init_containers(pod, status)
        return True

    def _kill_listed(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        actions: PodActions,
        result: PodSyncResult,
    ) -> Routine[bool]:
        pod_ip = status.ips[0] if status.ips else ""
        for victim in actions.containers_to_kill:
            now = (yield NOW).at
            instance = _instance(status, victim)
            by = KILLED_BY.get(victim.reason, By.POD)
            if not self._restraint.kills:
                self._restraint.tell_stop(
                    pod, instance, by, now, why=victim.message, reason=victim.reason
                )
                continue
            kill = Kill(instance, victim.message, victim.reason, by)
            error = yield from self._killer.kill_container(pod, kill, pod_ip, now)
            if error is not None:
                result.add("KillContainer", instance.name, KILL_CONTAINER_ERROR, error)
                return False
            result.add("KillContainer", instance.name)
        return True

    def _remove_all_init_containers(
        self, pod: Pod, status: RuntimePodStatus
    ) -> Routine[None]:
        names = {each.name for each in pod.init_containers}
        for instance in status.containers:
            if instance.name in names:
                yield RemoveContainer(instance.container_id)

    def _prune_init_containers(
        self, pod: Pod, status: RuntimePodStatus
    ) -> Routine[None]:
        """Remove the dead instances of init containers but the newest of each.

        Source: kuberuntime_container.go, v1.32.10, pruneInitContainersBeforeStart.
        """
        for container in pod.init_containers:
            dead = [
                each
                for each in status.containers
                if each.name == container.name
                and each.state in {RuntimeState.EXITED, RuntimeState.UNKNOWN}
            ]
            for instance in dead[1:]:
                yield RemoveContainer(instance.container_id)

    # -- the sandbox

    def _have_sandbox(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        actions: PodActions,
        result: PodSyncResult,
    ) -> Routine[_Sandbox | None]:
        """Return the sandbox to start containers in; None if there is none."""
        pod_ip = status.ips[0] if status.ips else ""
        sandbox = _Sandbox(actions.sandbox_id, pod_ip)
        if actions.create_sandbox:
            created = yield from self._create_sandbox(pod, actions, result)
            if created is None:
                return None
            sandbox = created
        result.add("ConfigPodSandbox", sandbox.sandbox_id)
        return sandbox

    def _create_sandbox(
        self, pod: Pod, actions: PodActions, result: PodSyncResult
    ) -> Routine[_Sandbox | None]:
        where = f"{pod.full_name}({pod.uid})"
        run = yield RunPodSandbox(pod, actions.attempt)
        if run.error is not None:
            message = f'Failed to create sandbox for pod "{where}": {run.error}'
            result.add("CreatePodSandbox", where, CREATE_POD_SANDBOX_ERROR, message)
            self._ledger.event(
                pod,
                EventType.WARNING,
                "FailedCreatePodSandBox",
                f"Failed to create pod sandbox: {run.error}",
                now=run.at,
            )
            return None
        result.add("CreatePodSandbox", where)
        sandbox_id = str(run.value)
        looked = yield GetPodSandboxStatus(sandbox_id)
        if looked.error is not None:
            self._ledger.event(
                pod,
                EventType.WARNING,
                "FailedPodSandBoxStatus",
                f"Unable to get pod sandbox status: {looked.error}",
                now=looked.at,
            )
            result.sync_error = looked.error
            return None
        has_ip = isinstance(looked.value, SandboxStatus) and not pod.host_network
        pod_ip = looked.value.ip or "" if has_ip else ""  # type: ignore[union-attr]  # has_ip says so
        return _Sandbox(sandbox_id, pod_ip)

    # -- starting

    def _start_listed(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        actions: PodActions,
        sandbox: _Sandbox,
        result: PodSyncResult,
    ) -> Routine[None]:
        """Start init containers, then regular ones.

        A regular container's failure does not keep the others from starting, nor a
        sidecar's; that of a plain init container ends the sync.
        """
        for index in actions.ephemeral_containers_to_start:
            yield from self._start(
                pod, pod.ephemeral_containers[index], status, sandbox, result
            )
        init_containers = [
            pod.init_containers[index] for index in actions.init_containers_to_start
        ]
        if actions.next_init_container is not None:
            init_containers.append(actions.next_init_container)
        for container in init_containers:
            failed = yield from self._start(pod, container, status, sandbox, result)
            if failed and not container.is_sidecar:
                return
        for index in actions.containers_to_start:
            yield from self._start(pod, pod.containers[index], status, sandbox, result)

    def _start(
        self,
        pod: Pod,
        container: Container,
        status: RuntimePodStatus,
        sandbox: _Sandbox,
        result: PodSyncResult,
    ) -> Routine[bool]:
        """Start one container unless it is in back-off; True if it did not start."""
        now = (yield NOW).at
        newest = status.newest(container.name)
        if not self._restraint.may_start(newest):
            return self._leave(pod, container, newest, result, now)
        decision = do_back_off(self._backoff, pod, container, status, now)
        self._tell_back_off(pod, container, status, decision, now)
        failure: StartFailure | None
        if decision.waits:
            failure = StartFailure(CRASH_LOOP_BACK_OFF, decision.message)
        else:
            failure = yield from self._start_container(
                pod, container, status, sandbox, now
            )
        if failure is None:
            result.add("StartContainer", container.name)
            return False
        result.add("StartContainer", container.name, failure.reason, failure.message)
        return True

    def _leave(
        self,
        pod: Pod,
        container: Container,
        newest: RuntimeContainerStatus | None,
        result: PodSyncResult,
        now: datetime,
    ) -> bool:
        """Start nothing, and say so; True if there is nothing that could run."""
        if newest is not None and newest.state is RuntimeState.RUNNING:
            return False
        missing = self._restraint.tell_start(pod, container, newest, now)
        if missing is None:
            return False
        result.add("StartContainer", container.name, missing.reason, missing.message)
        return True

    def _tell_back_off(
        self,
        pod: Pod,
        container: Container,
        status: RuntimePodStatus,
        decision: BackoffDecision,
        now: datetime,
    ) -> None:
        """Record what back-off said; the event comes every time, the entry if new."""
        key = (pod.uid, container.name)
        before = self.waits.get(key)
        self.waits[key] = BackoffSnapshot(
            decision.window, decision.since, decision.until, decision.next_window
        )
        if decision.waits:
            self._ledger.event(
                pod,
                EventType.WARNING,
                "BackOff",
                decision.event_message,
                now=now,
                container_name=container.name,
            )
        is_first_start = status.newest(container.name) is None
        if is_first_start or (decision.waits and before == self.waits[key]):
            return
        self._ledger.write(
            BackoffEntry(
                self._ledger.next_sequence(),
                now,
                pod.uid,
                container.name,
                decision.window,
                decision.since,
                decision.waits,
                decision.until,
                decision.next_window,
                decision.is_reset,
            )
        )

    def _start_container(
        self,
        pod: Pod,
        container: Container,
        status: RuntimePodStatus,
        sandbox: _Sandbox,
        now: datetime,
    ) -> Routine[StartFailure | None]:
        """Pull, create, start, and run the postStart hook.

        Source: kuberuntime_container.go, v1.32.10, startContainer.
        """
        image = yield from self._images.ensure_image(pod, container, now)
        if image.reason:
            now = (yield NOW).at
            self._fail(pod, container, image.reason, now)
            return StartFailure(image.reason, image.message)
        config = yield from self._make_config(pod, container, sandbox, image.image_id)
        if isinstance(config, Refusal):
            now = (yield NOW).at
            self._fail(pod, container, config.message, now)
            return StartFailure(CREATE_CONTAINER_CONFIG_ERROR, config.message)
        newest = status.newest(container.name)
        attempt = 0 if newest is None else newest.restart_count + 1
        created = yield CreateContainer(
            pod, config, sandbox.sandbox_id, attempt, image.image_id
        )
        if created.error is not None:
            self._fail(pod, container, created.error, created.at)
            return StartFailure(CREATE_CONTAINER_ERROR, created.error)
        container_id = ContainerID(str(created.value))
        self._tell(
            pod, container, "Created", f"Created container: {container.name}", created
        )
        self._lifetimes.created(pod, container.name, container_id, attempt, created.at)
        started = yield StartContainer(container_id)
        if started.error is not None:
            self._fail(pod, container, started.error, started.at)
            return StartFailure(RUN_CONTAINER_ERROR, started.error)
        self._tell(
            pod, container, "Started", f"Started container {container.name}", started
        )
        self._lifetimes.started(pod, container.name, container_id, attempt, started.at)
        instance = RuntimeContainerStatus(
            container_id,
            container.name,
            RuntimeState.RUNNING,
            restart_count=attempt,
        )
        return (
            yield from self._run_post_start(
                pod, container, instance, sandbox, started.at
            )
        )

    def _make_config(
        self, pod: Pod, container: Container, sandbox: _Sandbox, image_id: str
    ) -> Routine[Container | Refusal]:
        """Return the container as it is to be created, or why it cannot be."""
        user = None
        if needs_image_user(pod, container):
            asked = yield GetImageUser(image_id)
            if asked.error is not None:
                return Refusal(asked.error)
            if isinstance(asked.value, str):
                user = parse_image_user(asked.value)
        where = self._whereabouts(pod, sandbox)
        return make_container_config(pod, container, self._objects, where, user)

    def _whereabouts(self, pod: Pod, sandbox: _Sandbox) -> Whereabouts:
        pod_ip = self._node.ip if pod.host_network else sandbox.pod_ip
        return Whereabouts(self._node, (pod_ip,) if pod_ip else ())

    def _run_post_start(
        self,
        pod: Pod,
        container: Container,
        instance: RuntimeContainerStatus,
        sandbox: _Sandbox,
        now: datetime,
    ) -> Routine[StartFailure | None]:
        """Run the postStart hook; one that fails kills the container.

        The pod's IP is that of the status read before the sync, as in the kubelet, or
        of the sandbox that was just made.
        """
        handler = container.post_start
        if handler is None:
            return None
        outcome: Outcome
        if isinstance(handler, SleepAction):
            outcome = yield Await((), now + timedelta(seconds=handler.seconds))
        elif isinstance(handler, TCPSocketAction):
            outcome = Outcome(now, error=CANNOT_RUN_HANDLER)
        else:
            outcome = yield RunHook(
                pod, container, instance.container_id, handler, sandbox.pod_ip
            )
            tell_fallback(self._ledger, pod, outcome, outcome.at)
        if outcome.error is None:
            return None
        message = post_start_failure(pod, container, outcome)
        self._ledger.event(
            pod,
            EventType.WARNING,
            "FailedPostStartHook",
            "PostStartHook failed",
            now=outcome.at,
            container_name=container.name,
        )
        kill = Kill(
            instance,
            KillReason.FAILED_POST_START_HOOK,
            KillReason.FAILED_POST_START_HOOK,
        )
        # The kubelet logs an error of this kill and goes on; so do the events.
        yield from self._killer.kill_container(pod, kill, sandbox.pod_ip, outcome.at)
        return StartFailure(POST_START_HOOK_ERROR, message)

    def _tell(
        self,
        pod: Pod,
        container: Container,
        reason: str,
        message: str,
        outcome: Outcome,
    ) -> None:
        self._ledger.event(
            pod,
            EventType.NORMAL,
            reason,
            message,
            now=outcome.at,
            container_name=container.name,
        )

    def _fail(self, pod: Pod, container: Container, error: str, now: datetime) -> None:
        self._ledger.event(
            pod,
            EventType.WARNING,
            "Failed",
            f"Error: {error}",
            now=now,
            container_name=container.name,
        )


class _Sandbox(NamedTuple):
    """Where containers are started."""

    sandbox_id: str
    pod_ip: str


def post_start_failure(pod: Pod, container: Container, outcome: Outcome) -> str:
    """Say how a postStart hook failed.

    Source: kubelet/lifecycle/handlers.go, v1.32.10, Run.
    """
    where = f'"{container.name}" in Pod "{pod.full_name}({pod.uid})"'
    error = outcome.error
    match container.post_start:
        case ExecAction(command):
            output = outcome.value if isinstance(outcome.value, str) else ""
            return (
                f"Exec lifecycle hook ({go_list(command)}) for Container {where} "
                f"failed - error: {error}, message: {go_quote(output)}"
            )
        case HTTPGetAction(path=path):
            return (
                f"HTTP lifecycle hook ({path}) for Container {where} "
                f"failed - error: {error}"
            )
        case SleepAction(seconds):
            return (
                f"Sleep lifecycle hook ({seconds}) for Container {where} "
                f"failed - error: {error}"
            )
        case _:
            return f"Cannot run handler: {error}"


def _running(status: RuntimePodStatus) -> list[RuntimeContainerStatus]:
    return [each for each in status.containers if each.state is RuntimeState.RUNNING]


def _instance(
    status: RuntimePodStatus, victim: ContainerToKill
) -> RuntimeContainerStatus:
    for each in status.containers:
        if each.container_id == victim.container_id:
            return each
    msg = f"{victim.container_id} is to be killed, but is not in the status"
    raise AssertionError(msg)
