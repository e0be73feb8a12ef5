"""Container commands: restart, kill, freeze, cut the network, clear back-off."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from probetui.debugger.active_faults import ActiveFaults
from probetui.debugger.commands import (
    ClearBackoff,
    ContainerCommand,
    InjectContainerFault,
    KillContainer,
    RestartContainer,
)
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import Fault, InjectFault, StopContainer
from probetui.kubelet.images.image_manager import pull_key
from probetui.kubelet.journal import ExitCause
from probetui.kubelet.kubelet import Kubelet
from probetui.kubelet.kuberuntime.container_hash import stable_key
from probetui.kubelet.kuberuntime.grace_period import GraceSource
from probetui.kubelet.kuberuntime.killing import Kill
from probetui.kubelet.runtime.routines import Routine

_ACTIONS = {
    Fault.FREEZE: "freeze",
    Fault.UNFREEZE: "unfreeze",
    Fault.STOP: "stop main process",
    Fault.KILL: "kill main process",
    Fault.CUT_NETWORK: "cut network",
    Fault.RESTORE_NETWORK: "restore network",
}
_ENDS = {Fault.STOP, Fault.KILL}


class ContainerCommands:
    """Carries out container commands; owned by the engine.

    Args:
        kubelet: whose containers they are.
        faults: records freezes and network cuts.
    """

    def __init__(self, kubelet: Kubelet, faults: ActiveFaults) -> None:
        self._kubelet = kubelet
        self._turn = kubelet.turn
        self._faults = faults

    def dispatch(self, command: ContainerCommand, now: datetime) -> None:
        """Carry out a command; a container that does not run is left alone."""
        pod = self._kubelet.pods.get(command.pod_uid)
        if pod is None:
            return
        name = command.container_name
        if isinstance(command, ClearBackoff):
            self._clear_backoff(pod, name, now)
            return
        instance = self._running(pod, name)
        if instance is None:
            text = f"{pod.name}/{name} does not run: nothing was done to it"
            self._turn.refuse(now, text)
            return
        if not self._kubelet.config.kills:
            self._turn.note(now, f"{pod.name}/{name} is only watched")
            return
        match command:
            case RestartContainer():
                self._restart(pod, instance, now)
            case KillContainer():
                self._kill(pod, instance, now)
            case InjectContainerFault(fault=fault):
                self._inject_fault(pod, instance, fault, now)

    def _running(self, pod: Pod, name: str) -> RuntimeContainerStatus | None:
        instance = self._kubelet.cache.get(pod.uid).newest(name)
        if instance is None or instance.state is not RuntimeState.RUNNING:
            return None
        return instance

    def _restart(
        self, pod: Pod, instance: RuntimeContainerStatus, now: datetime
    ) -> None:
        """Stop a container; its pod worker starts it again."""
        self._turn.user_command(now, "restart", f"{pod.name}/{instance.name}")
        kill = Kill(instance, by=ExitCause.USER, is_announced=False)
        ips = self._kubelet.cache.get(pod.uid).ips
        routine = self._kubelet.runtime.killer.kill_container(
            pod, kill, ips[0] if ips else "", now
        )
        self._kubelet.runner.start(pod.uid, routine, self._note_failure("restart"), now)

    def _kill(self, pod: Pod, instance: RuntimeContainerStatus, now: datetime) -> None:
        """Kill a container at once; the kubelet would allow at least two seconds."""
        self._turn.user_command(now, "kill", f"{pod.name}/{instance.name}")
        self._kubelet.runtime.lifecycle.stopping(
            pod, instance, ExitCause.USER, 0, GraceSource.KILL.value, now
        )
        stop = StopContainer(instance.container_id, instance.name, 0)
        routine = self._kubelet.runtime.killer.stop_container(pod, stop)
        self._kubelet.runner.start(pod.uid, routine, self._note_failure("kill"), now)

    def _clear_backoff(self, pod: Pod, name: str, now: datetime) -> None:
        container = pod.container(name)
        if container is None:
            return
        self._turn.user_command(now, "clear back-off", f"{pod.name}/{name}")
        self._kubelet.runtime.backoff.forget(
            stable_key(pod, container, self._kubelet.config.rules)
        )
        self._kubelet.runtime.image_backoff.forget(pull_key(pod, container))
        self._kubelet.sync(pod.uid, now)

    def _inject_fault(
        self,
        pod: Pod,
        instance: RuntimeContainerStatus,
        fault: Fault,
        now: datetime,
    ) -> None:
        action = _ACTIONS[fault]
        self._turn.user_command(now, action, f"{pod.name}/{instance.name}")
        if fault in _ENDS:
            self._kubelet.runtime.lifecycle.signalled(instance.container_id)

        def done(error: str | None, at: datetime) -> None:
            self._note_failure(action)(error, at)
            if error is None:
                self._faults.record_fault(fault, pod.uid, instance.container_id, at)
            self._kubelet.changed_pods.add(pod.uid)

        operation = InjectFault(instance.container_id, instance.name, fault)
        self._kubelet.runner.start(pod.uid, _once(operation), done, now)

    def _note_failure(self, action: str) -> Callable[[str | None, datetime], None]:
        def note_failure(error: str | None, now: datetime) -> None:
            if error is not None:
                self._turn.refuse(now, f"{action} failed: {error}")

        return note_failure


def _once(operation: InjectFault) -> Routine[str | None]:
    """Carry out one operation and return its error, if it had one."""
    outcome = yield operation
    return None if outcome.not_found else outcome.error
