"""SyncPod: kill, create and start the containers of one pod.

Source: kuberuntime_manager.go, v1.32.10, SyncPod.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct, field

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import (
    UNKNOWN_NODE,
    Node,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.effects import GetPodSandboxStatus, RemoveContainer, RunPodSandbox
from probetui.kubelet.images.image_manager import ImageManager
from probetui.kubelet.journal import BackoffEntry, ExitCause
from probetui.kubelet.kuberuntime.action_policy import ActionPolicy
from probetui.kubelet.kuberuntime.backoff import (
    CRASH_LOOP_BACK_OFF,
    BackoffDecision,
    do_back_off,
)
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.init_actions import ContainerToKill, StoredResults
from probetui.kubelet.kuberuntime.killing import Kill, Killer
from probetui.kubelet.kuberuntime.pod_actions import PodActions, compute_pod_actions
from probetui.kubelet.kuberuntime.reason_cache import StartFailure
from probetui.kubelet.kuberuntime.start_container import (
    ContainerStarter,
    RunningSandbox,
)
from probetui.kubelet.object_store import ObjectStore
from probetui.kubelet.runtime.backoff import Backoff
from probetui.kubelet.runtime.go_format import aggregate_errors, go_quote
from probetui.kubelet.runtime.routines import NOW, Routine
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import PORTED_RULES, KubeletRules


class SyncResult(NamedTuple):
    """The result of one action of a sync; `reason` is empty if it succeeded.

    `until` is the end of a crash loop's back-off, None if it failed otherwise.
    """

    action: str
    target: str
    reason: str = ""
    message: str = ""
    until: datetime | None = None


class PodSyncResult(Struct):
    """The results of a sync's actions; owned by the sync until it ends.

    `sync_error` is an error of the sync as a whole.

    Source: container/sync_result.go, v1.32.10, PodSyncResult.
    """

    results: list[SyncResult] = field(default_factory=list)
    sync_error: str | None = None

    def add(
        self,
        action: str,
        target: str,
        reason: str = "",
        message: str = "",
        until: datetime | None = None,
    ) -> None:
        """Add the result of an action."""
        self.results.append(SyncResult(action, target, reason, message, until))

    @property
    def back_off_until(self) -> datetime | None:
        """When the first back-off ends, None unless all failures are back-offs.

        Source: container/sync_result.go, v1.36.2, MinBackoffExpiration.
        """
        ends = [result.until for result in self.results if result.reason]
        if self.sync_error is not None or not ends:
            return None
        known = [end for end in ends if end is not None]
        return min(known) if len(known) == len(ends) else None

    @property
    def has_acted(self) -> bool:
        """Whether containers were started or killed without any failure.

        Source: kubelet.go, v1.36.2, SyncPod, postSync.
        """
        acted = any(result.action in _ACTS for result in self.results)
        return acted and self.error is None

    @property
    def has_removed(self) -> bool:
        """Whether a container was removed for a restart of all."""
        return any(
            result.action == REMOVE_CONTAINER and not result.reason
            for result in self.results
        )

    @property
    def errors(self) -> list[str]:
        """The errors in the kubelet's words, in order."""
        texts = []
        if self.sync_error is not None:
            texts.append(f"failed to SyncPod: {self.sync_error}")
        texts += [
            f"failed to {go_quote(result.action)} for {go_quote(result.target)} "
            f"with {result.reason}: {go_quote(result.message)}"
            for result in self.results
            if result.reason
        ]
        return texts

    @property
    def error(self) -> str | None:
        """All errors in one text as Go prints a list of them, None without any."""
        errors = self.errors
        return aggregate_errors(errors) if errors else None


START_CONTAINER, KILL_CONTAINER = "StartContainer", "KillContainer"
REMOVE_CONTAINER = "RemoveContainer"
_ACTS = {START_CONTAINER, KILL_CONTAINER, REMOVE_CONTAINER}
KILL_CONTAINER_ERROR = "KillContainerError"
KILL_POD_SANDBOX_ERROR = "KillPodSandboxError"
CREATE_POD_SANDBOX_ERROR = "CreatePodSandboxError"
CONFIG_POD_SANDBOX_ERROR = "ConfigPodSandboxError"
REMOVE_CONTAINER_ERROR = "RemoveContainerError"
RESET_MESSAGE = "killing"
"""The message of the event of a container that is restarted with all others."""

KILLED_BY = {
    KillReason.LIVENESS_PROBE: ExitCause.LIVENESS,
    KillReason.STARTUP_PROBE: ExitCause.STARTUP,
    KillReason.NONE: ExitCause.DEFINITION,
    KillReason.RESTART_ALL: ExitCause.RESTART_ALL,
}


class PodSyncer:
    """Creates the routines that sync a pod; owned by the runtime manager.

    Args:
        turn: collects events, entries and effects.
        killer: stops containers.
        images: image pulls.
        backoff: crash-loop back-off of all containers.
        lifecycle: records the starts and ends of containers.
        liveness: the results of liveness probes.
        startup: the results of startup probes.
        objects: the ConfigMaps and Secrets there are.
        node: the facts about the machine that pods may refer to.
        policy: the actions that are allowed; None allows all.
        rules: those of the kubelet's version.
    """

    def __init__(
        self,
        turn: TurnBuilder,
        killer: Killer,
        images: ImageManager,
        backoff: Backoff,
        lifecycle: ContainerLifecycle,
        liveness: StoredResults,
        startup: StoredResults,
        objects: ObjectStore | None = None,
        node: Node = UNKNOWN_NODE,
        policy: ActionPolicy | None = None,
        rules: KubeletRules = PORTED_RULES,
    ) -> None:
        self._rules = rules
        self._policy = policy or ActionPolicy()
        self._turn = turn
        self._killer = killer
        self._backoff = backoff
        self._liveness = liveness
        self._startup = startup
        self._starter = ContainerStarter(
            turn, killer, images, lifecycle, objects or ObjectStore(), node, rules
        )
        self.backoff_decisions: dict[tuple[str, str], BackoffDecision] = {}
        """The last back-off decisions, by pod UID and container name."""
        self.on_sandbox_ready: Callable[[Pod, datetime], None] = _ignore
        """Called with each sandbox as soon as it runs."""
        self._attempts_after_reset: dict[tuple[str, str], int] = {}

    def forget_pod(self, pod_uid: str) -> None:
        """Forget the shown back-off of a removed pod; back-off itself stays."""
        for key in [wait for wait in self.backoff_decisions if wait[0] == pod_uid]:
            del self.backoff_decisions[key]
        for key in [
            reset for reset in self._attempts_after_reset if reset[0] == pod_uid
        ]:
            del self._attempts_after_reset[key]
        self._policy.forget_pod(pod_uid)

    def sync_pod(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        now: datetime,
        *,
        restarts_all: bool = False,
    ) -> Routine[PodSyncResult]:
        """Kill containers that must stop, then start those that should run.

        `status` is read once, before the sync: containers killed here still run in it.
        With `restarts_all` all containers are removed; the next sync begins anew.
        """
        result = PodSyncResult()
        actions = compute_pod_actions(
            pod,
            status,
            self._liveness,
            self._startup,
            restarts_all=restarts_all,
            rules=self._rules,
        )
        self._policy.register_containers(pod, status)
        if actions.kill_pod and not self._policy.may_kill(
            pod, status.running(), ExitCause.POD, now
        ):
            return result
        if actions.create_sandbox and actions.sandbox_id:
            self._turn.normal(
                pod,
                "SandboxChanged",
                "Pod sandbox changed, it will be killed and re-created.",
                now,
            )
        if actions.kill_pod:
            goes_on = yield from self._kill_pod(pod, status, actions, result, now)
        else:
            goes_on = yield from self._kill_listed(pod, status, actions, result)
            goes_on = goes_on and (
                yield from self._reset_listed(pod, status, actions, result)
            )
        if not goes_on:
            return result
        if not actions.create_sandbox:
            yield from self._prune_init_containers(pod, status)
        ready = yield from self._ensure_sandbox(pod, status, actions, result)
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
            result.add(KILL_CONTAINER, name, reason, error or "")
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
            by = KILLED_BY.get(victim.reason, ExitCause.POD)
            if not self._policy.may_kill(
                pod,
                (instance,),
                by,
                now,
                reason=victim.reason,
                message=victim.message,
            ):
                continue
            kill = Kill(instance, victim.message, victim.reason, by)
            error = yield from self._killer.kill_container(pod, kill, pod_ip, now)
            if error is not None:
                result.add(KILL_CONTAINER, instance.name, KILL_CONTAINER_ERROR, error)
                return False
            result.add(KILL_CONTAINER, instance.name)
        return True

    def _reset_listed(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        actions: PodActions,
        result: PodSyncResult,
    ) -> Routine[bool]:
        """Remove containers one by one; stop running ones without grace.

        Restart counts are kept: the kubelet reads them from the logs, which remain.
        """
        pod_ip = status.ips[0] if status.ips else ""
        by = ExitCause.RESTART_ALL
        running = status.running() if actions.containers_to_reset else ()
        if not self._policy.may_kill(pod, running, by, (yield NOW).at):
            return False
        for instance in actions.containers_to_reset:
            if instance.state is not RuntimeState.EXITED:
                kill = Kill(instance, RESET_MESSAGE, KillReason.RESTART_ALL, by, 0)
                now = (yield NOW).at
                error = yield from self._killer.kill_container(pod, kill, pod_ip, now)
                if error is not None:
                    result.add(
                        REMOVE_CONTAINER, instance.name, KILL_CONTAINER_ERROR, error
                    )
                    return False
            removed = yield RemoveContainer(instance.container_id)
            if removed.error is not None and not removed.not_found:
                result.add(
                    REMOVE_CONTAINER,
                    instance.name,
                    REMOVE_CONTAINER_ERROR,
                    removed.error,
                )
                return False
            key = (pod.uid, instance.name)
            attempt = max(
                instance.restart_count + 1, self._attempts_after_reset.get(key, 0)
            )
            self._attempts_after_reset[key] = attempt
            result.add(REMOVE_CONTAINER, instance.name)
        return True

    def _remove_all_init_containers(
        self, pod: Pod, status: RuntimePodStatus
    ) -> Routine[None]:
        names = {container.name for container in pod.init_containers}
        for instance in status.containers:
            if instance.name in names:
                yield RemoveContainer(instance.container_id)

    def _prune_init_containers(
        self, pod: Pod, status: RuntimePodStatus
    ) -> Routine[None]:
        """Remove the dead instances of init containers, except the newest of each.

        Source: kuberuntime_container.go, v1.32.10, pruneInitContainersBeforeStart.
        """
        for container in pod.init_containers:
            dead = [
                runtime_container_status
                for runtime_container_status in status.containers
                if runtime_container_status.name == container.name
                and runtime_container_status.state
                in {RuntimeState.EXITED, RuntimeState.UNKNOWN}
            ]
            for instance in dead[1:]:
                yield RemoveContainer(instance.container_id)

    # -- the sandbox

    def _ensure_sandbox(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        actions: PodActions,
        result: PodSyncResult,
    ) -> Routine[RunningSandbox | None]:
        """Return the sandbox for new containers; None if it could not be created."""
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
            self._turn.warning(
                pod,
                "FailedCreatePodSandBox",
                f"{self._rules.sandbox_failure_text}: {run.error}",
                run.at,
            )
            return None
        result.add("CreatePodSandbox", where)
        self.on_sandbox_ready(pod, run.at)
        sandbox_id = str(run.value)
        looked = yield GetPodSandboxStatus(sandbox_id)
        if looked.error is not None:
            self._turn.warning(
                pod,
                "FailedPodSandBoxStatus",
                f"Unable to get pod sandbox status: {looked.error}",
                looked.at,
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

        A failed regular container or sidecar does not prevent the start of the others;
        a failed plain init container ends the sync.
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
        if not self._policy.may_start(newest):
            missing = self._policy.withhold_start(pod, container, newest, now)
            if missing is None:
                return False
            result.add(START_CONTAINER, container.name, missing.reason, missing.message)
            return True
        decision = do_back_off(self._backoff, pod, container, status, now, self._rules)
        self._record_backoff(pod, container, status, decision, now)
        failure: StartFailure | None
        if decision.waits:
            failure = StartFailure(CRASH_LOOP_BACK_OFF, decision.message)
        else:
            key = (pod.uid, container.name)
            attempt = self._attempts_after_reset.get(key, 0)
            if newest is not None:
                attempt = newest.restart_count + 1
            failure = yield from self._starter.start(
                pod, container, attempt, sandbox, now
            )
        if failure is None:
            result.add(START_CONTAINER, container.name)
            return False
        result.add(
            START_CONTAINER,
            container.name,
            failure.reason,
            failure.message,
            decision.until,
        )
        return True

    def _record_backoff(
        self,
        pod: Pod,
        container: Container,
        status: RuntimePodStatus,
        decision: BackoffDecision,
        now: datetime,
    ) -> None:
        """Record a back-off decision: an event every time, an entry if it is new."""
        key = (pod.uid, container.name)
        before = self.backoff_decisions.get(key)
        self.backoff_decisions[key] = decision
        if decision.waits:
            self._turn.warning(
                pod, "BackOff", decision.event_message, now, container.name
            )
        is_first_start = status.newest(container.name) is None
        if is_first_start or (decision.waits and before == decision):
            return
        self._turn.write(
            BackoffEntry(
                self._turn.next_sequence(),
                now,
                pod.uid,
                container.name,
                decision.window,
                decision.since,
                decision.waits,
                decision.until,
                decision.next_window,
                decision.is_reset,
                decision.latest,
            )
        )


def _ignore(_pod: Pod, _now: datetime) -> None:
    """Do nothing."""


def _instance(
    status: RuntimePodStatus, victim: ContainerToKill
) -> RuntimeContainerStatus:
    for container in status.containers:
        if container.container_id == victim.container_id:
            return container
    msg = f"{victim.container_id} is to be killed, but is not in the status"
    raise AssertionError(msg)
