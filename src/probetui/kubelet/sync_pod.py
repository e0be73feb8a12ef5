"""Bringing the containers of one pod to where they should be.

Source: kuberuntime_manager.go, v1.32.10, SyncPod.
"""

from __future__ import annotations

from datetime import datetime

from probetui.k8s.event import EventType
from probetui.k8s.node import NOWHERE, Node
from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import (
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
from probetui.kubelet.container_start import ContainerStarter, RunningSandbox
from probetui.kubelet.effects import (
    GetPodSandboxStatus,
    RemoveContainer,
    RunPodSandbox,
)
from probetui.kubelet.grace_period import KillReason
from probetui.kubelet.images import ImageManager
from probetui.kubelet.init_actions import Beliefs, ContainerToKill
from probetui.kubelet.journal import BackoffEntry, By
from probetui.kubelet.killing import Kill, Killer
from probetui.kubelet.lifetimes import Lifetimes
from probetui.kubelet.objects import Objects
from probetui.kubelet.pod_actions import PodActions, compute_pod_actions
from probetui.kubelet.reason_cache import StartFailure
from probetui.kubelet.restraint import Restraint
from probetui.kubelet.routine import NOW, Routine
from probetui.kubelet.snapshot import BackoffSnapshot
from probetui.kubelet.sync_result import PodSyncResult
from probetui.kubelet.turn import Ledger

KILL_CONTAINER_ERROR = "KillContainerError"
KILL_POD_SANDBOX_ERROR = "KillPodSandboxError"
CREATE_POD_SANDBOX_ERROR = "CreatePodSandboxError"
CONFIG_POD_SANDBOX_ERROR = "ConfigPodSandboxError"

KILLED_BY = {
    KillReason.LIVENESS_PROBE: By.LIVENESS,
    KillReason.STARTUP_PROBE: By.STARTUP,
    KillReason.NONE: By.DEFINITION,
}


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
        self._backoff = backoff
        self._liveness = liveness
        self._startup = startup
        self._starter = ContainerStarter(
            ledger, killer, images, lifetimes, objects or Objects(), node
        )
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
    ) -> Routine[RunningSandbox | None]:
        """Return the sandbox to start containers in; None if there is none."""
        pod_ip = status.ips[0] if status.ips else ""
        sandbox = RunningSandbox(actions.sandbox_id, pod_ip)
        if actions.create_sandbox:
            created = yield from self._create_sandbox(pod, actions, result)
            if created is None:
                return None
            sandbox = created
        result.add("ConfigPodSandbox", sandbox.sandbox_id)
        return sandbox

    def _create_sandbox(
        self, pod: Pod, actions: PodActions, result: PodSyncResult
    ) -> Routine[RunningSandbox | None]:
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
        return RunningSandbox(sandbox_id, pod_ip)

    # -- starting

    def _start_listed(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        actions: PodActions,
        sandbox: RunningSandbox,
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
        sandbox: RunningSandbox,
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
            failure = yield from self._starter.start(
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
