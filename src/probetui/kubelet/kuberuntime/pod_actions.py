"""Pod actions: which containers to kill and which to start.

Source: kuberuntime/kuberuntime_manager.go, v1.32.10, computePodActions.
"""

from __future__ import annotations

from msgspec import Struct

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus, RuntimeState
from probetui.kubelet.kuberuntime.container_hash import has_changed
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.init_actions import (
    ContainerToKill,
    StoredResults,
    any_regular_container_created,
    compute_init_actions,
    find_next_init_container,
)
from probetui.kubelet.kuberuntime.restart import (
    UNKNOWN_FAILURE,
    effective_restart_policy,
    is_restarted_after,
    restarts_all_after,
    should_container_be_restarted,
    should_restart_on_failure,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import PORTED_RULES, KubeletRules


class SandboxChange(Struct, frozen=True):
    """Whether a new sandbox is needed, its attempt, and the present one.

    `sandbox_id` is empty if there is none, or if the pod moved between the node's
    network and its own.
    """

    is_needed: bool
    attempt: int
    sandbox_id: str


def pod_sandbox_changed(pod: Pod, status: RuntimePodStatus) -> SandboxChange:
    """Return whether a pod needs a new sandbox.

    Source: kuberuntime/util/util.go, v1.32.10, PodSandboxChanged.
    """
    if not status.sandboxes:
        return SandboxChange(is_needed=True, attempt=0, sandbox_id="")
    newest = status.sandboxes[0]
    sandbox_id, following = newest.sandbox_id, newest.attempt + 1
    if not newest.is_ready or sum(sandbox.is_ready for sandbox in status.sandboxes) > 1:
        return SandboxChange(is_needed=True, attempt=following, sandbox_id=sandbox_id)
    if newest.host_network is not pod.host_network:
        return SandboxChange(is_needed=True, attempt=following, sandbox_id="")
    # None is from a runtime that does not report the network; no reason to change.
    if not pod.host_network and newest.ip == "":
        return SandboxChange(is_needed=True, attempt=following, sandbox_id=sandbox_id)
    return SandboxChange(is_needed=False, attempt=newest.attempt, sandbox_id=sandbox_id)


class PodActions(Struct, frozen=True):
    """The actions of a sync, in this order; indexes are into lists of the spec.

    Attributes:
        kill_pod: kill all containers of the pod, and its sandbox.
        create_sandbox: create a new sandbox.
        sandbox_id: the present sandbox, empty if none can be reused.
        attempt: that of the new sandbox, or of the present one.
        next_init_container: the one to start, in pods without sidecars.
        init_containers_to_start: those to start, in pods with sidecars.
        containers_to_start: the regular ones to start.
        ephemeral_containers_to_start: those to start, whatever else is done.
        containers_to_kill: those to kill first if `kill_pod` is not set.
        containers_to_reset: those to remove, after a kill if running, for a restart of
            all containers; nothing else is done then.
    """

    kill_pod: bool
    create_sandbox: bool
    sandbox_id: str
    attempt: int
    next_init_container: Container | None = None
    init_containers_to_start: tuple[int, ...] = ()
    containers_to_start: tuple[int, ...] = ()
    ephemeral_containers_to_start: tuple[int, ...] = ()
    containers_to_kill: tuple[ContainerToKill, ...] = ()
    containers_to_reset: tuple[RuntimeContainerStatus, ...] = ()


def compute_pod_actions(
    pod: Pod,
    status: RuntimePodStatus,
    liveness: StoredResults,
    startup: StoredResults,
    *,
    restarts_all: bool = False,
    rules: KubeletRules = PORTED_RULES,
) -> PodActions:
    """Compute the actions of a sync for a pod.

    Args:
        pod: the desired state.
        status: the actual state, as the runtime last reported it.
        liveness: the results of liveness probes, by container ID.
        startup: the results of startup probes, by container ID.
        restarts_all: remove all containers, so that the pod starts anew.
        rules: those of the kubelet's version.
    """
    sandbox = pod_sandbox_changed(pod, status)
    if restarts_all:
        return PodActions(
            kill_pod=sandbox.is_needed,
            create_sandbox=sandbox.is_needed,
            sandbox_id=sandbox.sandbox_id,
            attempt=sandbox.attempt,
            containers_to_reset=tuple(_instances_to_reset(pod, status)),
        )
    if sandbox.is_needed:
        return _with_new_sandbox(pod, status, sandbox, rules)
    plan = _Plan(sandbox)
    plan.ephemeral_containers_to_start = tuple(
        index
        for index, container in enumerate(pod.ephemeral_containers)
        if status.newest(container.name) is None
    )
    if pod.sidecars:
        inits = compute_init_actions(pod, status, liveness, startup, rules)
        plan.init_containers_to_start = inits.to_start
        plan.containers_to_kill.extend(inits.to_kill)
        plan.kill_pod = inits.kills_pod
        is_initialized = inits.is_initialized
    else:
        is_initialized = _plan_plain_init(plan, pod, status)
    if is_initialized and not plan.kill_pod:
        _plan_regular(plan, pod, status, liveness, startup, rules)
    return plan.actions()


class _Plan:
    """The builder of the actions for one decision."""

    __slots__ = (
        "containers_to_kill",
        "containers_to_start",
        "ephemeral_containers_to_start",
        "init_containers_to_start",
        "kill_pod",
        "next_init_container",
        "sandbox",
    )

    def __init__(self, sandbox: SandboxChange) -> None:
        self.sandbox = sandbox
        self.kill_pod = False
        self.next_init_container: Container | None = None
        self.init_containers_to_start: tuple[int, ...] = ()
        self.containers_to_start: list[int] = []
        self.ephemeral_containers_to_start: tuple[int, ...] = ()
        self.containers_to_kill: list[ContainerToKill] = []

    def kill(
        self,
        container: Container,
        newest: RuntimeContainerStatus,
        message: str,
        reason: KillReason,
    ) -> None:
        """Add an instance to those to kill."""
        self.containers_to_kill.append(
            ContainerToKill(newest.container_id, container, message, reason)
        )

    def actions(self) -> PodActions:
        """Return the actions."""
        return PodActions(
            kill_pod=self.kill_pod,
            create_sandbox=False,
            sandbox_id=self.sandbox.sandbox_id,
            attempt=self.sandbox.attempt,
            next_init_container=self.next_init_container,
            init_containers_to_start=self.init_containers_to_start,
            containers_to_start=tuple(self.containers_to_start),
            ephemeral_containers_to_start=self.ephemeral_containers_to_start,
            containers_to_kill=tuple(self.containers_to_kill),
        )


def _with_new_sandbox(
    pod: Pod, status: RuntimePodStatus, sandbox: SandboxChange, rules: KubeletRules
) -> PodActions:
    """Kill what remains and start anew, unless the pod has finished.

    Quirks, kept: a container with its own policy Never also starts again; in older
    versions a finished pod gets an empty sandbox.
    """
    only_kill = PodActions(
        kill_pod=True,
        create_sandbox=False,
        sandbox_id=sandbox.sandbox_id,
        attempt=sandbox.attempt,
    )
    # Without any container, the pod never started, and may still do so.
    has_begun = bool(status.containers) or not rules.retries_sandbox
    if not should_restart_on_failure(pod) and sandbox.attempt and has_begun:
        return only_kill
    to_start = tuple(
        index
        for index, container in enumerate(pod.containers)
        if effective_restart_policy(pod, container) is not RestartPolicy.ON_FAILURE
        or not _has_succeeded(container, status)
    )
    is_over = not to_start and _has_been_initialized(pod, status)
    if is_over and not rules.renews_ended_sandbox:
        return only_kill
    first_init = pod.init_containers[0] if pod.init_containers else None
    has_sidecars = bool(pod.sidecars)
    return PodActions(
        kill_pod=True,
        create_sandbox=True,
        sandbox_id=sandbox.sandbox_id,
        attempt=sandbox.attempt,
        next_init_container=None if has_sidecars else first_init,
        init_containers_to_start=(0,) if has_sidecars else (),
        containers_to_start=to_start if first_init is None else (),
    )


def _instances_to_reset(
    pod: Pod, status: RuntimePodStatus
) -> list[RuntimeContainerStatus]:
    """Return the instances to remove; those that requested the restart come last.

    They come last, so that the cause stays known until the end of the removal.

    Source: kuberuntime_manager.go, v1.36.2, getContainersToReset.
    """
    sources: list[RuntimeContainerStatus] = []
    targets: list[RuntimeContainerStatus] = []
    for container in (*pod.containers, *pod.init_containers):
        for instance in status.containers:
            if instance.name != container.name:
                continue
            is_source = instance.state is RuntimeState.EXITED and restarts_all_after(
                container, instance.exit_code
            )
            (sources if is_source else targets).append(instance)
    return [*targets, *sources]


def _has_succeeded(container: Container, status: RuntimePodStatus) -> bool:
    newest = status.newest(container.name)
    if newest is None or newest.state is not RuntimeState.EXITED:
        return False
    return newest.exit_code == 0


def _has_been_initialized(pod: Pod, status: RuntimePodStatus) -> bool:
    if pod.sidecars:
        return any_regular_container_created(pod, status)
    return find_next_init_container(pod, status).is_done


def _plan_plain_init(plan: _Plan, pod: Pod, status: RuntimePodStatus) -> bool:
    """Plan the plain init containers; return whether they have completed."""
    upcoming = find_next_init_container(pod, status)
    container, failed = upcoming.container, upcoming.failed
    if upcoming.is_done or container is None:
        return upcoming.is_done
    if failed is not None and not is_restarted_after(
        pod, container, failed.exit_code or UNKNOWN_FAILURE
    ):
        plan.kill_pod = True
        return False
    # An instance in an unknown state may be running: never run two of one container.
    if failed is not None and failed.state is RuntimeState.UNKNOWN:
        message = (
            f'Init container is in "{failed.state}" state, '
            "try killing it before restart"
        )
        plan.kill(container, failed, message, KillReason.UNKNOWN)
    plan.next_init_container = container
    return False


def _plan_regular(
    plan: _Plan,
    pod: Pod,
    status: RuntimePodStatus,
    liveness: StoredResults,
    startup: StoredResults,
    rules: KubeletRules,
) -> None:
    """Plan the regular containers of an initialized pod."""
    running = 0
    for index, container in enumerate(pod.containers):
        newest = status.newest(container.name)
        if newest is None or newest.state is not RuntimeState.RUNNING:
            if should_container_be_restarted(container.name, pod, status):
                plan.containers_to_start.append(index)
                if newest is not None and newest.state is RuntimeState.UNKNOWN:
                    message = (
                        f'Container is in "{newest.state}" state, '
                        "try killing it before restart"
                    )
                    plan.kill(container, newest, message, KillReason.UNKNOWN)
            continue
        failing = _find_kill_reason(container, newest, liveness, startup, rules)
        if failing is None:
            running += 1
            continue
        cause, reason = failing
        message = f"Container {container.name} {cause}"
        # A changed definition is started, whatever the restart policy.
        if should_restart_on_failure(pod, container) or reason is KillReason.NONE:
            message += ", will be restarted"
            plan.containers_to_start.append(index)
        plan.kill(container, newest, message, reason)
    if not running and not plan.containers_to_start:
        # Sidecars alone do not keep a pod alive.
        plan.kill_pod = True
        plan.init_containers_to_start = ()


def _find_kill_reason(
    container: Container,
    newest: RuntimeContainerStatus,
    liveness: StoredResults,
    startup: StoredResults,
    rules: KubeletRules,
) -> tuple[str, KillReason] | None:
    """Return why a running container is to be killed, None if it is not.

    Quirk, kept: a result counts whether or not the spec has such a probe.
    """
    if has_changed(container, newest, rules):
        return "definition changed", KillReason.NONE
    if liveness.get(newest.container_id) is Result.FAILURE:
        return "failed liveness probe", KillReason.LIVENESS_PROBE
    if startup.get(newest.container_id) is Result.FAILURE:
        return "failed startup probe", KillReason.STARTUP_PROBE
    return None
