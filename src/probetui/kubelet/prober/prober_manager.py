"""The probe manager: probe workers, and the effect of results on a pod's status.

Source: prober/prober_manager.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from random import Random

from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import parse_container_id
from probetui.k8s.status import ContainerStatus, PodStatus, Running, Terminated
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import Trigger
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.hooks import NoHooks, ProbeHooks
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet.prober.tick_journal import TickJournal
from probetui.kubelet.prober.worker import Worker, outlives_kubelet
from probetui.kubelet.prober.worker_loop import WorkerLoop, start_jitter
from probetui.kubelet.prober.worker_scheduler import WorkerScheduler
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet.status.conditions import is_ready
from probetui.kubelet.status.status_manager import NO_STATUS

ORDER = (ProbeType.STARTUP, ProbeType.READINESS, ProbeType.LIVENESS)
"""The order in which the kubelet handles a container's probes."""


class ProbeManager:
    """The probe workers of all pods; owned by the engine.

    Args:
        config: the kubelet's periods and switches.
        started_at: when the kubelet's clock of this session began.
        status_of: the pod status as the status manager holds it, by pod UID.
        source_status_of: the status of a pod that its source has.
        turn: where effects and journal entries go.
        rng: the engine's random source.
        hooks: change probing from outside.

    Attributes:
        results: the stored results, by probe type.
        scheduler: steps the workers.
    """

    def __init__(
        self,
        config: KubeletConfig,
        started_at: datetime,
        *,
        status_of: Callable[[str], PodStatus | None] = lambda _pod_uid: None,
        source_status_of: Callable[[Pod], PodStatus] = lambda _pod: NO_STATUS,
        turn: TurnBuilder | None = None,
        rng: Random | None = None,
        hooks: ProbeHooks | None = None,
    ) -> None:
        self._rules = config.rules
        self._source_status_of = source_status_of
        self._born_at = started_at - config.age
        self._rng = rng or Random(config.seed)  # noqa: S311  # jitter, not secrets
        self._hooks = hooks or NoHooks()
        self.results = {
            probe_type: ResultsManager(probe_type) for probe_type in ProbeType
        }
        turn = turn or TurnBuilder()
        self.scheduler = WorkerScheduler(
            self.results,
            status_of,
            turn,
            TickJournal(turn).on_tick,
            self._rng,
            self._hooks,
            kills=config.kills,
            rules=self._rules,
        )

    # -- workers come and go

    def add_pod(self, pod: Pod, now: datetime) -> None:
        """Create the missing workers of a pod.

        Quirk, kept: the whole call ends at the first worker that exists, so a container
        behind one that has workers never gets its own.

        Source: prober_manager.go, v1.32.10, AddPod.
        """
        for container in (*pod.containers, *pod.sidecars):
            for probe_type in ORDER:
                probe = container.probe(probe_type)
                if probe is None:
                    continue
                key = ProbeKey(pod.uid, container.name, probe_type)
                if key in self.scheduler.loops:
                    return
                worker = Worker(
                    key,
                    pod,
                    container,
                    self._hooks.apply_timing(key, probe),
                    rules=self._rules,
                    kubelet_started_at=self._born_at,
                )
                jitter = start_jitter(
                    worker.period, now - self._born_at, self._rng, self._rules
                )
                self.scheduler.add(worker, now + jitter)

    def replace_pod(self, pod: Pod) -> None:
        """Pass the changed definition of a pod to its workers."""
        for key, loop in self.scheduler.loops.items():
            if key.pod_uid == pod.uid:
                loop.worker.pod = pod

    def stop_liveness_and_startup(self, pod: Pod) -> None:
        """Stop these workers of the regular containers, not those of sidecars.

        Source: prober_manager.go, v1.32.10, StopLivenessAndStartup.
        """
        for container in pod.containers:
            for probe_type in (ProbeType.LIVENESS, ProbeType.STARTUP):
                self.scheduler.stop(ProbeKey(pod.uid, container.name, probe_type))

    def cancel_commands(self, pod: Pod, now: datetime) -> None:
        """Cancel current and future commands of a pod's probes.

        Source: pod_workers.go, v1.35.0, cleanupPodUpdates, whose context the workers
        have; k/k#140881.
        """
        self.scheduler.cancel_commands(pod.uid, now)

    def remove_pod(self, pod: Pod) -> None:
        """Stop all workers of the containers and sidecars of this pod object.

        Source: prober_manager.go, v1.32.10, RemovePod.
        """
        for container in (*pod.containers, *pod.sidecars):
            for probe_type in ProbeType:
                self.scheduler.stop(ProbeKey(pod.uid, container.name, probe_type))

    def cleanup_pods(self, desired_pod_uids: Collection[str]) -> None:
        """Stop the workers of pods that are no longer desired.

        Source: prober_manager.go, v1.32.10, CleanupPods.
        """
        for key in self.scheduler.loops:
            if key.pod_uid not in desired_pod_uids:
                self.scheduler.stop(key)

    def worker(self, key: ProbeKey) -> WorkerLoop | None:
        """Return the loop of one worker, None if it does not exist."""
        return self.scheduler.loops.get(key)

    # -- what the results mean

    def update_pod_status(self, pod: Pod, status: PodStatus) -> PodStatus:
        """Return the status with `started` and `ready` of its containers filled in.

        A started container that is not ready, and has a readiness worker, makes that
        worker probe at once.

        Source: prober_manager.go, v1.32.10, UpdatePodStatus.
        """
        regular, inits = status.container_statuses, status.init_container_statuses
        if regular is not None:
            regular = tuple(
                self._with_readiness(pod, self._with_started(pod.uid, container))
                for container in regular
            )
        if inits is not None:
            inits = tuple(
                self._init_status(pod, index, container)
                for index, container in enumerate(inits)
            )
        return replace(
            status, container_statuses=regular, init_container_statuses=inits
        )

    def _with_started(self, pod_uid: str, status: ContainerStatus) -> ContainerStatus:
        """Return a container's status with `started` set, if the version has it.

        Source: prober_manager.go, v1.32.10, isContainerStarted.
        """
        if not self._rules.reports_started:
            return status
        started = False
        if isinstance(status.state, Running):
            container_id = parse_container_id(status.container_id)
            stored = self.results[ProbeType.STARTUP].get(container_id)
            if stored is not None:
                started = stored is Result.SUCCESS
            else:
                key = ProbeKey(pod_uid, status.name, ProbeType.STARTUP)
                started = self.worker(key) is None or (
                    bool(status.started) and self._rules.inherits_started
                )
        return status if status.started is started else replace(status, started=started)

    def _with_readiness(self, pod: Pod, status: ContainerStatus) -> ContainerStatus:
        """Return a container's status with `ready` filled in.

        Source: prober_manager.go, v1.32.10, setReadyStateOnContainerStatus; v1.36.2,
        setReadyStateOnKubeletRestart.
        """
        if not status.has_started:
            return status
        container_id = parse_container_id(status.container_id)
        key = ProbeKey(pod.uid, status.name, ProbeType.READINESS)
        stored = self.results[ProbeType.READINESS].get(container_id)
        ready = stored is Result.SUCCESS
        if not ready:
            ready = self.worker(key) is None
            if self._rules.triggers_readiness:
                self.scheduler.trigger(key, Trigger.READINESS)
            container = pod.container(status.name)
            if container and outlives_kubelet(status, self._born_at, self._rules):
                ready = ready or stored is None
                if container.readiness_probe is not None:
                    ready = ready and is_ready(self._source_status_of(pod))
        return status if status.ready is ready else replace(status, ready=ready)

    def _init_status(
        self, pod: Pod, index: int, status: ContainerStatus
    ) -> ContainerStatus:
        """Return an init container's status with `ready` filled in.

        Quirk, kept: the container is looked up by its index in the list.
        """
        if self._rules.starts_inits:
            status = self._with_started(pod.uid, status)
        elif self._rules.reports_started and status.started is not False:
            status = replace(status, started=False)
        spec: Container | None = None
        if index < len(pod.init_containers):
            spec = pod.init_containers[index]
        if spec is None or spec.name != status.name:
            return status
        if spec.is_sidecar:
            return self._with_readiness(pod, status)
        if isinstance(status.state, Terminated) and status.state.exit_code == 0:
            return replace(status, ready=True)
        return status
