"""What people do to containers: restart, kill, freeze, cut off, and start anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.backoff import Backoff
from probetui.kubelet.container_hash import stable_key
from probetui.kubelet.disrupted import Disrupted
from probetui.kubelet.effects import Disrupt, Disruption, StopContainer
from probetui.kubelet.grace_period import GraceSource
from probetui.kubelet.images import pull_key
from probetui.kubelet.inputs import (
    ClearBackoff,
    ContainerCommand,
    DisruptContainer,
    KillContainer,
    RestartContainer,
)
from probetui.kubelet.journal import By, NoteEntry, UserEntry
from probetui.kubelet.killing import Kill, Killer
from probetui.kubelet.lifetimes import Lifetimes
from probetui.kubelet.pleg import PodCache
from probetui.kubelet.routine import Routine, Runner
from probetui.kubelet.turn import Ledger

_WORDS = {
    Disruption.FREEZE: "freeze",
    Disruption.UNFREEZE: "unfreeze",
    Disruption.STOP: "stop main process",
    Disruption.KILL: "kill main process",
    Disruption.CUT_NETWORK: "cut network",
    Disruption.RESTORE_NETWORK: "restore network",
}
_ENDS = {Disruption.STOP, Disruption.KILL}


class ContainerCommands:
    """Takes the commands about containers; owned by the engine.

    Args:
        ledger: where entries go.
        runner: carries out what takes time.
        killer: the normal way to stop a container.
        lifetimes: who asked for which end.
        cache: what the runtime has.
        disrupted: told of what was frozen and cut off.
        backoffs: those of containers, and of images.
        pods: the pods that are known, by UID.
        sync: lets a pod be synced.
        changed: says that a pod does not look as it did.
        acts: whether containers may be stopped at all; else they are only watched.
    """

    def __init__(
        self,
        ledger: Ledger,
        runner: Runner,
        killer: Killer,
        lifetimes: Lifetimes,
        cache: PodCache,
        disrupted: Disrupted,
        backoffs: tuple[Backoff, Backoff],
        pods: Mapping[str, Pod],
        sync: Callable[[str, datetime], None],
        changed: Callable[[str], None],
        *,
        acts: bool,
    ) -> None:
        self._ledger = ledger
        self._runner = runner
        self._killer = killer
        self._lifetimes = lifetimes
        self._cache = cache
        self._disrupted = disrupted
        self._backoff, self._image_backoff = backoffs
        self._pods = pods
        self._sync = sync
        self._changed = changed
        self._acts = acts

    def take(self, command: ContainerCommand, now: datetime) -> None:
        """Do what a person asks for; to a container that does not run, nothing."""
        pod = self._pods.get(command.pod_uid)
        if pod is None:
            return
        name = command.container_name
        if isinstance(command, ClearBackoff):
            self._clear_backoff(pod, name, now)
            return
        instance = self._running(pod, name)
        if instance is None:
            text = f"{pod.name}/{name} does not run: nothing was done to it"
            self._note(now, text)
            return
        if not self._acts:
            self._note(now, f"{pod.name}/{name} is only watched", is_fault=False)
            return
        match command:
            case RestartContainer():
                self._restart(pod, instance, now)
            case KillContainer():
                self._kill(pod, instance, now)
            case DisruptContainer(disruption=disruption):
                self._disrupt(pod, instance, disruption, now)

    def _running(self, pod: Pod, name: str) -> RuntimeContainerStatus | None:
        instance = self._cache.get(pod.uid).newest(name)
        if instance is None or instance.state is not RuntimeState.RUNNING:
            return None
        return instance

    def _restart(
        self, pod: Pod, instance: RuntimeContainerStatus, now: datetime
    ) -> None:
        """Stop a container; that it is started again is the pod worker's doing."""
        self._write_user(now, "restart", pod, instance.name)
        kill = Kill(instance, by=By.USER, is_announced=False)
        ips = self._cache.get(pod.uid).ips
        routine = self._killer.kill_container(pod, kill, ips[0] if ips else "", now)
        self._runner.start(pod.uid, routine, self._tell_failed("restart"), now)

    def _kill(self, pod: Pod, instance: RuntimeContainerStatus, now: datetime) -> None:
        """Kill a container; the kubelet itself gives two seconds at least."""
        self._write_user(now, "kill", pod, instance.name)
        self._lifetimes.stopping(pod, instance, By.USER, 0, GraceSource.KILL.value, now)
        stop = StopContainer(instance.container_id, instance.name, 0)
        self._runner.start(pod.uid, _once(stop), self._tell_failed("kill"), now)

    def _clear_backoff(self, pod: Pod, name: str, now: datetime) -> None:
        container = pod.container(name)
        if container is None:
            return
        self._write_user(now, "clear back-off", pod, name)
        self._backoff.forget(stable_key(pod, container))
        self._image_backoff.forget(pull_key(pod, container))
        self._sync(pod.uid, now)

    def _disrupt(
        self,
        pod: Pod,
        instance: RuntimeContainerStatus,
        disruption: Disruption,
        now: datetime,
    ) -> None:
        words = _WORDS[disruption]
        self._write_user(now, words, pod, instance.name)
        if disruption in _ENDS:
            self._lifetimes.signalled(instance.container_id)

        def done(error: str | None, at: datetime) -> None:
            self._tell_failed(words)(error, at)
            if error is None:
                self._disrupted.note(disruption, pod.uid, instance.container_id, at)
            self._changed(pod.uid)

        operation = Disrupt(instance.container_id, instance.name, disruption)
        self._runner.start(pod.uid, _once(operation), done, now)

    def _tell_failed(self, what: str) -> Callable[[str | None, datetime], None]:
        def tell(error: str | None, now: datetime) -> None:
            if error is not None:
                self._note(now, f"{what} failed: {error}")

        return tell

    def _note(self, now: datetime, text: str, *, is_fault: bool = True) -> None:
        sequence = self._ledger.next_sequence()
        self._ledger.write(NoteEntry(sequence, now, text, is_fault))

    def _write_user(self, now: datetime, command: str, pod: Pod, name: str) -> None:
        sequence = self._ledger.next_sequence()
        target = f"{pod.name}/{name}"
        self._ledger.write(UserEntry(sequence, now, command, target))


def _once(operation: StopContainer | Disrupt) -> Routine[str | None]:
    """Carry out one operation and return its error, if it had one."""
    outcome = yield operation
    return None if outcome.not_found else outcome.error
