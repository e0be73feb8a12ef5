"""The snapshot builder: rebuilds only the pods that changed."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

from probetui.debugger.active_faults import ActiveFaults
from probetui.debugger.dry_runs import DryRuns
from probetui.debugger.overrides import ProbeOverrides
from probetui.debugger.scope import Scope
from probetui.debugger.stepping import tick_queue
from probetui.engine.snapshot import (
    BackoffSnapshot,
    ContainerSnapshot,
    LastStep,
    NodeSnapshot,
    PodSnapshot,
    PodWorkerSnapshot,
    ProbeSnapshot,
    QueuedTick,
    Snapshot,
    SourceSnapshot,
    Upcoming,
)
from probetui.engine.upcoming import predict_skip, upcoming
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
)
from probetui.kubelet.effects import (
    CreateContainer,
    GetImageStatus,
    GetImageUser,
    GetPodSandboxStatus,
    InjectFault,
    MountVolume,
    Operation,
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
from probetui.kubelet.facts import OperationFinished, OperationProgress, RuntimeFact
from probetui.kubelet.images.image_manager import pull_key
from probetui.kubelet.journal import (
    DryRunEntry,
    EventEntry,
    FindingEntry,
    JournalEntry,
    ListenersEntry,
    NoteEntry,
    TickEntry,
    UnfinishedTickEntry,
    UserEntry,
)
from probetui.kubelet.kubelet import Kubelet
from probetui.kubelet.kuberuntime.restart import is_restarted_after
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.kubelet.runtime.turn import Turn
from probetui.kubelet.runtime_health import NETWORK_NOT_READY, node_ready_message
from probetui.kubelet.status.status_manager import NO_STATUS

ENTRIES_SHOWN = 500
PROBES_SHOWN = (ProbeType.LIVENESS, ProbeType.READINESS, ProbeType.STARTUP)


class SnapshotBuilder:
    """Builds snapshots, and tracks what changed since the last; owned by the engine.

    Args:
        started_at: when the session began.
        kubelet: what is shown.
        overrides: the user's changes to probes.
        dry_runs: the dry runs in flight.
        faults: frozen and disconnected containers.
    """

    def __init__(
        self,
        started_at: datetime,
        kubelet: Kubelet,
        overrides: ProbeOverrides,
        dry_runs: DryRuns,
        faults: ActiveFaults,
    ) -> None:
        self._started_at = started_at
        self._kubelet = kubelet
        self._overrides = overrides
        self._dry_runs = dry_runs
        self._active_faults = faults
        self._was_paused = False
        self._entries: deque[JournalEntry] = deque(maxlen=ENTRIES_SHOWN)
        self._sequence = 0
        self._faults = 0
        self._tail: tuple[JournalEntry, ...] = ()
        self._changed: set[str] = set()
        self._made: dict[str, PodSnapshot] = {}
        self._progress: dict[int, str] = {}
        self._operation_pods: dict[int, str] = {}
        self._workers: tuple[PodWorkerSnapshot, ...] = ()
        self._sources: tuple[SourceSnapshot, ...] = ()
        self._workers_of = -1

    # -- what changed

    def on_turn(self, turn: Turn) -> None:
        """Record the entries of a turn and the changed pods."""
        for entry in turn.entries:
            if isinstance(entry, TickEntry):  # as nearly all are
                self._changed.add(entry.key.pod_uid)
                continue
            pod_uid = _pod_uid(entry)
            if pod_uid:
                self._changed.add(pod_uid)
            if isinstance(entry, EventEntry) and entry.event.type == "Warning":
                self._faults += 1
        for effect in turn.effects:
            if isinstance(effect, RunOperation):
                self._changed.add(effect.pod_uid)
                self._operation_pods[effect.operation_id] = effect.pod_uid
        if turn.entries:
            self._entries.extend(turn.entries)
            self._sequence = turn.entries[-1].sequence

    def on_operation(self, fact: RuntimeFact) -> None:
        """Record the progress of an operation until it ends."""
        match fact:
            case OperationProgress(operation_id, text):
                pod_uid = self._operation_pods.get(operation_id)
                if pod_uid is not None:
                    self._progress[operation_id] = text
                    self._changed.add(pod_uid)
            case OperationFinished(operation_id):
                self._progress.pop(operation_id, None)
                pod_uid = self._operation_pods.pop(operation_id, None)
                if pod_uid is not None:
                    self._changed.add(pod_uid)
            case _:
                pass

    def forget(self, pod_uid: str) -> None:
        """Forget a removed pod."""
        self._made.pop(pod_uid, None)

    # -- making one

    def build(self, now: datetime, *, last_step: LastStep | None = None) -> Snapshot:
        """Return a snapshot of the kubelet and its debugger."""
        kubelet = self._kubelet
        overrides, scheduler = self._overrides, kubelet.probes.scheduler
        changed = self._changed | kubelet.changed_pods | scheduler.changed_pods
        if overrides.holds_ticks is not self._was_paused:
            self._was_paused = overrides.holds_ticks
            changed.update(self._made)
        made = tuple(self._pod(pod, changed) for pod in kubelet.pods.values())
        self._changed.clear()
        kubelet.changed_pods.clear()
        scheduler.changed_pods.clear()
        if not self._tail or self._tail[-1].sequence != self._sequence:
            self._tail = tuple(self._entries)
        queue: tuple[QueuedTick, ...] = ()
        to_come: tuple[Upcoming, ...] = ()
        if overrides.holds_ticks:
            ticks = tick_queue(scheduler, now)
            queue = tuple(QueuedTick(key, at) for at, key in ticks)
            resyncs = kubelet.workers.queue.in_order()
            to_come = upcoming(scheduler, resyncs, made, now)
        return Snapshot(
            taken_at=now,
            started_at=self._started_at,
            sequence=self._sequence,
            pods=made,
            entries=self._tail,
            queue=queue,
            is_paused=overrides.holds_ticks,
            restarts=sum(_restarts(snapshot.status) for snapshot in made),
            faults=self._faults,
            runtime_lost_since=kubelet.relists.lost_since,
            runtime_error=kubelet.relists.lost_error,
            upcoming=to_come,
            stopped_by=overrides.breakpoints.stopped_by,
            last_step=last_step,
            is_running_to_change=overrides.breakpoints.target is not None,
            rules=kubelet.config.rules,
            node=self._node(now),
            acts=kubelet.config.kills,
        )

    def _node(self, now: datetime) -> NodeSnapshot:
        kubelet, health = self._kubelet, self._kubelet.health
        if self._workers_of != kubelet.workers.changes:
            self._workers_of = kubelet.workers.changes
            self._sources = tuple(
                SourceSnapshot(*source) for source in kubelet.sources()
            )
            self._workers = tuple(
                PodWorkerSnapshot(uid, *kubelet.workers.activity(uid))
                for uid in kubelet.workers.uids()
            )
        relisted_at = kubelet.relists.relisted_at
        errors = health.runtime_errors(relisted_at, now)
        images = health.images
        return NodeSnapshot(
            kubelet.config.node.name,
            self._sources,
            health.conditions,
            health.checked_at,
            health.status_error,
            node_ready_message(errors, health.network_error),
            relisted_at,
            images.images,
            images.count,
            images.size_bytes,
            health.images_at,
            health.images_error,
            self._workers,
        )

    def _pod(self, pod: Pod, changed: set[str]) -> PodSnapshot:
        known = self._made.get(pod.uid)
        if known is not None and pod.uid not in changed and known.pod is pod:
            return known
        status = self._kubelet.last_status(pod.uid) or NO_STATUS
        made = PodSnapshot(
            pod,
            status,
            self._kubelet.workers.state(pod.uid) or PodWorkerState.SYNC,
            self._operation_words(pod),
            tuple(
                self._container(pod, container, status, is_init=is_init)
                for is_init, containers in (
                    (True, pod.init_containers),
                    (False, pod.containers),
                )
                for container in containers
            ),
            self._kubelet.statuses.in_api(pod.uid),
            self._operation_container(pod),
        )
        self._made[pod.uid] = made
        return made

    def _container(
        self, pod: Pod, container: Container, status: PodStatus, *, is_init: bool
    ) -> ContainerSnapshot:
        own = status.container(container.name)
        container_id = ContainerID("" if own is None else own.container_id)
        frozen, cut_off = self._active_faults_of(pod.uid, container_id, own)
        return ContainerSnapshot(
            container,
            is_init,
            own,
            tuple(
                self._probe(pod, container, probe, kind, status, own)
                for kind in PROBES_SHOWN
                if (probe := container.probe(kind)) is not None
            ),
            self._kubelet.runtime.lifecycle.stopping_of(container_id),
            self._backoff(pod, container, status),
            self._kubelet.runtime.lifecycle.last_exit(pod.uid, container.name),
            frozen,
            self._overrides.breakpoints.points.of(Scope(pod.uid, container.name)),
            cut_off,
            self._kubelet.runtime.image_backoff.until(pull_key(pod, container)),
        )

    def _active_faults_of(
        self, pod_uid: str, container_id: ContainerID, status: ContainerStatus | None
    ) -> tuple[datetime | None, datetime | None]:
        """Return since when a running instance has been frozen, and disconnected."""
        if not _runs(status):
            return None, None
        return (
            self._active_faults.frozen_since(container_id),
            self._active_faults.cut_off_since(pod_uid, container_id),
        )

    def _backoff(
        self, pod: Pod, container: Container, status: PodStatus
    ) -> BackoffSnapshot | None:
        """Return the last back-off decision, with its end while the container waits.

        Quirk, kept: one that a probe has killed is started in the same sync, so that
        there is a decision even if its exit code then is one without a restart.
        """
        decision = self._kubelet.runtime.syncer.backoff_decisions.get(
            (pod.uid, container.name)
        )
        if decision is None:
            return None
        waits = _may_wait(pod, container, status)
        return BackoffSnapshot(
            decision.window,
            decision.since,
            decision.until if waits else None,
            decision.next_window,
            decision.latest if waits else None,
        )

    def _probe(
        self,
        pod: Pod,
        container: Container,
        probe: Probe,
        kind: ProbeType,
        status: PodStatus,
        own: ContainerStatus | None,
    ) -> ProbeSnapshot:
        key = ProbeKey(pod.uid, container.name, kind)
        overrides = self._overrides
        manifest, probe = probe, overrides.apply_timing(key, probe)
        loop = self._kubelet.probes.worker(key)
        manifest_probe = None if probe is manifest else manifest
        if loop is None:
            return ProbeSnapshot(
                key,
                probe,
                muted=overrides.is_muted(key),
                injections=overrides.injections.pending(key),
                manifest_probe=manifest_probe,
                trying_since=self._dry_runs.since(key),
                delay=overrides.delay_of(key),
            )
        worker = loop.worker
        next_at = None if loop.in_flight is not None else loop.next_tick_at
        return ProbeSnapshot(
            key=key,
            probe=probe,
            worker_alive=True,
            stored_result=self._kubelet.probes.results[kind].get(worker.container_id),
            last_result=worker.last_result,
            result_run=worker.result_run,
            on_hold=worker.on_hold,
            in_flight_since=(
                None if loop.in_flight is None else loop.in_flight.start.at
            ),
            next_tick_at=next_at,
            is_held_back=overrides.holds_ticks,
            upcoming_skip=predict_skip(loop, status),
            delay_until=_delay_until(probe, own),
            ticks=loop.ticks,
            successes=loop.successes,
            failures=loop.failures,
            errors=loop.errors,
            error_run=loop.error_run,
            skips=loop.skips,
            last_run=loop.last_run,
            history=tuple(loop.history),
            muted=overrides.is_muted(key),
            injections=overrides.injections.pending(key),
            manifest_probe=manifest_probe,
            trying_since=self._dry_runs.since(key),
            is_result_held=key in self._kubelet.probes.scheduler.held,
            delay=overrides.delay_of(key),
        )

    def _operation_words(self, pod: Pod) -> str:
        """Describe the first operation in progress for a pod."""
        for operation_id, operation in self._kubelet.runner.operations(pod.uid).items():
            text = _words(operation)
            progress = self._progress.get(operation_id, "")
            return f"{text} {progress}".rstrip()
        if self._waits_for_network(pod):
            return NETWORK_NOT_READY
        return ""

    def _operation_container(self, pod: Pod) -> str:
        """Return the container of that operation, empty if none is known."""
        for operation in self._kubelet.runner.operations(pod.uid).values():
            match operation:
                case (
                    CreateContainer(container=container) | RunHook(container=container)
                ):
                    return container.name
                case StopContainer(_, name, _) | InjectFault(_, name, _):
                    return name
                case _:
                    return ""
        return ""

    def _waits_for_network(self, pod: Pod) -> bool:
        return (
            bool(self._kubelet.health.network_error)
            and not pod.host_network
            and self._kubelet.workers.state(pod.uid) is PodWorkerState.SYNC
        )


def _delay_until(probe: Probe, status: ContainerStatus | None) -> datetime | None:
    """Return the end of the running container's initial delay."""
    if status is None or not isinstance(status.state, Running):
        return None
    started_at = status.state.started_at
    if started_at is None or not probe.initial_delay_seconds:
        return None
    return started_at + timedelta(seconds=probe.initial_delay_seconds)


def _restarts(status: PodStatus) -> int:
    return sum(
        container_status.restart_count
        for container_status in (
            *(status.container_statuses or ()),
            *(status.init_container_statuses or ()),
        )
    )


def _pod_uid(entry: JournalEntry) -> str:
    """Return the UID of an entry's pod, empty if it is about none."""
    match entry:
        case (
            TickEntry(key=key)
            | DryRunEntry(key=key)
            | ListenersEntry(key=key)
            | FindingEntry(key=key)
            | UnfinishedTickEntry(key=key)
        ):
            return key.pod_uid
        case EventEntry(event=event):
            return event.pod_uid
        case NoteEntry() | UserEntry():
            return ""
        case _:
            return entry.pod_uid


def _words(operation: Operation) -> str:  # noqa: C901, PLR0912  # one arm each
    match operation:
        case RunPodSandbox() | GetPodSandboxStatus():
            return "creating the sandbox"
        case StopPodSandbox():
            return "stopping the sandbox"
        case RemovePodSandbox():
            return "removing the sandbox"
        case MountVolume(volume=volume):
            return f"mounting volume {volume.name}"
        case UnmountVolume(_, name):
            return f"unmounting volume {name}"
        case GetImageStatus(image) | GetImageUser(image):
            return f"looking for {image}"
        case PullImage(image=image):
            return f"pulling {image}"
        case CreateContainer(container=container):
            return f"creating container {container.name}"
        case StartContainer():
            return "starting a container"
        case InjectFault(_, name, fault):
            return f"{fault} {name}"
        case StopContainer(_, name, grace):
            return f"stopping {name} (grace {grace}s)"
        case RemoveContainer():
            return "removing a container"
        case RunHook(container=container):
            return f"hook of {container.name} runs"


def _may_wait(pod: Pod, container: Container, status: PodStatus) -> bool:
    """Return whether a container may wait for its restart."""
    own = status.container(container.name)
    if status.phase in {PodPhase.SUCCEEDED, PodPhase.FAILED} or _runs(own):
        return False
    ended = own.state if own is not None and isinstance(own.state, Terminated) else None
    return ended is None or is_restarted_after(pod, container, ended.exit_code)


def _runs(status: ContainerStatus | None) -> bool:
    return status is not None and isinstance(status.state, Running)
