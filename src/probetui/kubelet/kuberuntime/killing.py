"""Stopping containers: grace periods, preStop hooks, and the order within a pod.

Source: kuberuntime_container.go, kuberuntime_termination_order.go, v1.32.10,
killContainer, killContainersWithSyncResult, newTerminationOrdering.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    LifecycleHandler,
    SleepAction,
    TCPSocketAction,
)
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus
from probetui.kubelet.effects import RunHook, StopContainer, StopPodSandbox
from probetui.kubelet.journal import ExitCause, HookType
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.grace_period import (
    GraceSource,
    KillReason,
    termination_grace_period,
)
from probetui.kubelet.runtime.go_format import go_list, go_quote
from probetui.kubelet.runtime.routines import (
    Gather,
    OneShotEvent,
    Routine,
    StepResult,
    WaitFor,
    WithTimeout,
)
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

ONE_SECOND = timedelta(seconds=1)


class Kill(Struct, frozen=True):
    """One container to stop, and why.

    `message` is that of the Killing event, empty for the usual one. `override_seconds`
    replaces the grace period. Without `is_announced` there is no event, as the kubelet
    did not cause the end.
    """

    instance: RuntimeContainerStatus
    message: str = ""
    reason: KillReason = KillReason.NONE
    by: ExitCause = ExitCause.POD
    override_seconds: int | None = None
    is_announced: bool = True


class KilledPod(Struct, frozen=True):
    """The result of killing a pod: errors by container, and of the sandboxes."""

    errors: tuple[tuple[str, str | None], ...]
    sandbox_error: str | None

    @property
    def error(self) -> str | None:
        """The errors in one text, None if there were none."""
        texts = [text for _, text in self.errors if text is not None]
        if self.sandbox_error is not None:
            texts.append(self.sandbox_error)
        return ", ".join(texts) or None


class TerminationOrder:
    """The order of stops: other containers first, then sidecars in reverse order.

    Containers that do not run at the start count as stopped.

    Source: kuberuntime_termination_order.go, v1.32.10, terminationOrdering.
    """

    def __init__(self, pod: Pod, running: frozenset[str]) -> None:
        self._stopped = {
            container.name: OneShotEvent() for container in pod.all_containers()
        }
        for name, event in self._stopped.items():
            if name not in running:
                event.set()
        self._before: dict[str, tuple[OneShotEvent, ...]] = {}
        regular = tuple(self._stopped[container.name] for container in pod.containers)
        later: tuple[OneShotEvent, ...] = ()
        for sidecar in reversed(pod.sidecars):
            self._before[sidecar.name] = (*regular, *later)
            later = (self._stopped[sidecar.name],)

    def containers_before(self, name: str) -> tuple[OneShotEvent, ...]:
        """Return the containers that must stop before this one."""
        return self._before.get(name, ())

    def mark_stopped(self, name: str) -> None:
        """Release the containers that wait for this one."""
        event = self._stopped.get(name)
        if event is not None:
            event.set()


class Killer:
    """Creates the routines that stop containers and pods."""

    def __init__(
        self,
        turn: TurnBuilder,
        lifecycle: ContainerLifecycle,
        minimum_seconds: int = 2,
        rules: KubeletRules = PORTED_RULES,
    ) -> None:
        self._rules = rules
        self._turn = turn
        self._lifecycle = lifecycle
        self._minimum_seconds = minimum_seconds

    def kill_container(
        self,
        pod: Pod,
        kill: Kill,
        pod_ip: str,
        now: datetime,
        order: TerminationOrder | None = None,
    ) -> Routine[str | None]:
        """Stop one container and return the runtime's error, if any.

        A container that no longer exists counts as stopped. Whole seconds spent on the
        preStop hook and on waiting for its turn are taken off the grace period.

        Source: kuberuntime_container.go, v1.32.10, killContainer.
        """
        name = kill.instance.name
        container = pod.container(name)
        if container is None:
            return (
                f'failed to get containerSpec "{name}" '
                f'(id="{kill.instance.container_id}") in pod '
                f'"{pod.full_name}({pod.uid})" '
                f'when killing container for reason "{kill.message}"'
            )
        seconds, source = termination_grace_period(
            pod, container, kill.reason, self._rules
        )
        if kill.is_announced:
            message = kill.message or f"Stopping container {name}"
            self._turn.normal(pod, "Killing", message, now, name)
        override = kill.override_seconds
        # In some versions, the override replaces the time that the hook left over.
        shares = override is None or self._rules.hook_time_counts
        hook_seconds = seconds
        if override is not None:
            seconds, source = override, GraceSource.DELETION
            if kill.reason is KillReason.RESTART_ALL:
                source = GraceSource.RESTART_ALL
        if shares:
            hook_seconds = seconds
        is_of_hook = kill.reason is KillReason.FAILED_POST_START_HOOK
        self._lifecycle.stopping(
            pod,
            kill.instance,
            kill.by,
            seconds,
            source.value,
            now,
            kill.reason if is_of_hook else "",
        )
        hook = container.pre_stop
        if hook is not None and hook_seconds > 0:
            spent = yield from self._run_pre_stop(
                pod, container, hook, kill.instance, pod_ip, hook_seconds, now
            )
            seconds -= spent // ONE_SECOND if shares else 0
            now += spent
        waits_for = () if order is None else order.containers_before(name)
        if waits_for and seconds > 0:
            turn = yield WaitFor(waits_for, now + timedelta(seconds=seconds))
            seconds -= (turn.at - now) // ONE_SECOND
        if shares:
            seconds = max(seconds, self._minimum_seconds)
        stop = StopContainer(kill.instance.container_id, name, seconds)
        error = yield from self.stop_container(pod, stop)
        if order is not None:
            order.mark_stopped(name)
        return error

    def stop_container(self, pod: Pod, stop: StopContainer) -> Routine[str | None]:
        """Stop a container, journal its exit, and return the runtime's error."""
        stopped = yield stop
        if isinstance(stopped.value, RuntimeContainerStatus):
            # Before the next step: a relist would report it after the restart.
            self._lifecycle.journal_exits(pod.uid, (stopped.value,), stopped.at)
        return None if stopped.not_found else stopped.error

    def kill_pod(
        self,
        pod: Pod,
        status: RuntimePodStatus,
        now: datetime,
        *,
        by: ExitCause = ExitCause.POD,
        override_seconds: int | None = None,
        is_announced: bool = True,
    ) -> Routine[KilledPod]:
        """Stop all running containers concurrently, then every sandbox of the pod.

        Without `is_announced` no container has a Killing event.

        Source: kuberuntime_manager.go, v1.32.10, killPodWithSyncResult.
        """
        running = status.running()
        order = TerminationOrder(
            pod,
            frozenset(
                runtime_container_status.name for runtime_container_status in running
            ),
        )
        is_ordered = bool(pod.sidecars) and self._rules.orders_sidecar_ends
        pod_ip = status.ips[0] if status.ips else ""
        kills = [
            Kill(
                runtime_container_status,
                by=by,
                override_seconds=override_seconds,
                is_announced=is_announced,
            )
            for runtime_container_status in running
        ]
        outcome = yield Gather(
            tuple(
                self.kill_container(
                    pod, kill, pod_ip, now, order if is_ordered else None
                )
                for kill in kills
            )
        )
        errors = tuple(
            (runtime_container_status.name, error)
            for runtime_container_status, error in zip(
                running, outcome.results, strict=True
            )
        )
        for sandbox in status.sandboxes:
            stopped = yield StopPodSandbox(sandbox.sandbox_id)
            if stopped.error is not None and not stopped.not_found:
                return KilledPod(errors, stopped.error)
        return KilledPod(errors, None)

    def _run_pre_stop(
        self,
        pod: Pod,
        container: Container,
        handler: LifecycleHandler,
        instance: RuntimeContainerStatus,
        pod_ip: str,
        seconds: int,
        now: datetime,
    ) -> Routine[timedelta]:
        """Run the hook for at most the grace period and return its duration.

        Quirk, kept: a hook that takes longer is neither awaited nor stopped. It fails
        when its container ends, and that is reported then.

        Source: kuberuntime_container.go, v1.32.10, executePreStopHook; recorded in
        1.36.2.
        """
        until = now + timedelta(seconds=seconds)
        report = partial(self._report_pre_stop, pod, container, handler)
        if isinstance(handler, SleepAction):
            journal = partial(
                self._lifecycle.hook_sleeps,
                pod,
                container,
                instance.container_id,
                HookType.PRE_STOP,
                now,
            )
            journal()
            event = now + timedelta(seconds=handler.seconds)
            outcome = yield WaitFor((), min(event, until))
            if event <= until:
                journal(outcome.at)
            return outcome.at - now
        if isinstance(handler, TCPSocketAction):
            outcome = StepResult(now, error=CANNOT_RUN_HANDLER)
        else:
            hook = RunHook(
                pod,
                container,
                instance.container_id,
                handler,
                pod_ip,
                self._rules,
                is_pre_stop=True,
            )
            outcome = yield WithTimeout(hook, until, report)
        report(outcome)
        return outcome.at - now

    def _report_pre_stop(
        self,
        pod: Pod,
        container: Container,
        handler: LifecycleHandler,
        outcome: StepResult,
    ) -> None:
        """Record the events of a hook that has ended or exceeded its limit."""
        record_https_fallback(self._turn, pod, outcome, outcome.at)
        if outcome.error is not None:
            self._turn.warning(
                pod,
                "FailedPreStopHook",
                hook_failure(pod, container, handler, outcome, self._rules)
                if self._rules.tells_hook_errors
                else "PreStopHook failed",
                outcome.at,
                container.name,
            )


CANNOT_RUN_HANDLER = "invalid handler"
"""A hook may have tcpSocket, but cannot be run.

Source: kubelet/lifecycle/handlers.go, v1.32.10, Run.
"""


def hook_failure(
    pod: Pod,
    container: Container,
    handler: LifecycleHandler,
    outcome: StepResult,
    rules: KubeletRules = PORTED_RULES,
) -> str:
    """Return the message of a hook that failed.

    Source: kubelet/lifecycle/handlers.go, v1.20.2, v1.32.10, Run.
    """
    where = f'"{container.name}" in Pod "{pod.full_name}({pod.uid})"'
    error = outcome.error
    match handler:
        case ExecAction(command):
            output = outcome.value if isinstance(outcome.value, str) else ""
            return (
                f"Exec lifecycle hook ({go_list(command)}) for Container {where} "
                f"failed - error: {error}, message: {go_quote(output)}"
            )
        case HTTPGetAction(path=path) if not rules.consistent_http_hooks:
            return (
                f"Http lifecycle hook ({path}) for Container {where} "
                f'failed - error: {error}, message: ""'
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
        case TCPSocketAction():
            return f"Cannot run handler: {error}"


def record_https_fallback(
    turn: TurnBuilder, pod: Pod, outcome: StepResult, now: datetime
) -> None:
    """Record an event if a hook's server does not speak TLS.

    Source: kubelet/lifecycle/handlers.go, v1.32.10, runHTTPHandler.
    """
    if outcome.fallback_host:
        turn.warning(
            pod,
            "LifecycleHTTPFallback",
            f"request to HTTPS lifecycle hook {outcome.fallback_host} got HTTP "
            "response, retry with HTTP succeeded",
            now,
        )
