"""Making snapshots: what may be seen, built anew only where something changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import ContainerStatus, PodStatus, Running
from probetui.kubelet.disrupted import Disrupted
from probetui.kubelet.effects import (
    CreateContainer,
    Disrupt,
    GetImageStatus,
    GetImageUser,
    GetPodSandboxStatus,
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
from probetui.kubelet.interventions import Interventions
from probetui.kubelet.journal import (
    Entry,
    EventEntry,
    FindingEntry,
    ListenersEntry,
    NoteEntry,
    TickEntry,
    TryEntry,
    UserEntry,
)
from probetui.kubelet.lifetimes import Lifetimes
from probetui.kubelet.outcome import Result
from probetui.kubelet.pod_worker import PodWorkers
from probetui.kubelet.probe_manager import ProbeManager
from probetui.kubelet.routine import Runner
from probetui.kubelet.scope import Scope
from probetui.kubelet.snapshot import (
    BackoffSnapshot,
    ContainerSnapshot,
    LastStep,
    PodSnapshot,
    PodWorkerState,
    ProbeSnapshot,
    QueuedTick,
    Snapshot,
    Upcoming,
)
from probetui.kubelet.status_manager import NO_STATUS, StatusManager
from probetui.kubelet.sync_pod import PodSyncer
from probetui.kubelet.tries import Tries
from probetui.kubelet.turn import Turn
from probetui.kubelet.upcoming import upcoming
from probetui.kubelet.worker import foresee

ENTRIES_SHOWN = 500
PROBES_SHOWN = (ProbeType.LIVENESS, ProbeType.READINESS, ProbeType.STARTUP)


class SnapshotMaker:
    """Knows what changed since the last snapshot; owned by the engine."""

    def __init__(
        self,
        started_at: datetime,
        probes: ProbeManager,
        statuses: StatusManager,
        workers: PodWorkers,
        lifetimes: Lifetimes,
        syncer: PodSyncer,
        runner: Runner,
        interventions: Interventions,
        tries: Tries,
    ) -> None:
        self._started_at = started_at
        self._probes = probes
        self._statuses = statuses
        self._workers = workers
        self._lifetimes = lifetimes
        self._syncer = syncer
        self._runner = runner
        self._interventions = interventions
        self._tries = tries
        self._disrupted: Disrupted | None = None
        self._entries: deque[Entry] = deque(maxlen=ENTRIES_SHOWN)
        self._sequence = 0
        self._faults = 0
        self._tail: tuple[Entry, ...] = ()
        self._changed: set[str] = set()
        self._made: dict[str, PodSnapshot] = {}
        self._progress: dict[int, str] = {}
        self._operation_pods: dict[int, str] = {}

    # -- what changed

    def changed(self, pod_uid: str) -> None:
        """Say that a pod does not look as it did."""
        self._changed.add(pod_uid)

    def note(self, turn: Turn) -> None:
        """Take in what a turn brought."""
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

    def progress(self, operation_id: int, text: str) -> None:
        """Take in how far an operation has got."""
        pod_uid = self._operation_pods.get(operation_id)
        if pod_uid is not None:
            self._progress[operation_id] = text
            self._changed.add(pod_uid)

    def operation_over(self, operation_id: int) -> None:
        """Take in that an operation has ended."""
        self._progress.pop(operation_id, None)
        pod_uid = self._operation_pods.pop(operation_id, None)
        if pod_uid is not None:
            self._changed.add(pod_uid)

    def forget(self, pod_uid: str) -> None:
        """Drop what is kept of a pod."""
        self._made.pop(pod_uid, None)

    # -- making one

    def make(
        self,
        pods: Iterable[Pod],
        now: datetime,
        *,
        lost_since: datetime | None,
        lost_error: str,
        acts: bool = True,
        disrupted: Disrupted | None = None,
        last_step: LastStep | None = None,
    ) -> Snapshot:
        """Return what there is to see."""
        self._disrupted = disrupted
        breaker = self._interventions.breaker
        changed = self._changed | self._probes.changed_pods
        made = tuple(self._pod(each, changed) for each in pods)
        self._changed.clear()
        self._probes.changed_pods.clear()
        if not self._tail or self._tail[-1].sequence != self._sequence:
            self._tail = tuple(self._entries)
        queue: tuple[QueuedTick, ...] = ()
        to_come: tuple[Upcoming, ...] = ()
        if self._probes.paused:
            queue = tuple(QueuedTick(key, at) for at, key in self._probes.queue(now))
            resyncs = self._workers.queue.in_order()
            to_come = upcoming(self._probes, breaker.held, resyncs, made, now)
        return Snapshot(
            taken_at=now,
            started_at=self._started_at,
            sequence=self._sequence,
            pods=made,
            entries=self._tail,
            queue=queue,
            is_paused=self._probes.paused,
            restarts=sum(_restarts(each.status) for each in made),
            faults=self._faults,
            runtime_lost_since=lost_since,
            runtime_error=lost_error if lost_since is not None else "",
            upcoming=to_come,
            stopped_by=breaker.stopped_by,
            last_step=last_step,
            is_running_to_change=breaker.target is not None,
            acts=acts,
        )

    def _pod(self, pod: Pod, changed: set[str]) -> PodSnapshot:
        known = self._made.get(pod.uid)
        if known is not None and pod.uid not in changed and known.pod is pod:
            return known
        status = self._statuses.get(pod.uid) or NO_STATUS
        made = PodSnapshot(
            pod,
            status,
            self._workers.state(pod.uid) or PodWorkerState.SYNC,
            self._operation_words(pod.uid),
            tuple(
                self._container(pod, each, status, is_init=is_init)
                for is_init, containers in (
                    (True, pod.init_containers),
                    (False, pod.containers),
                )
                for each in containers
            ),
        )
        self._made[pod.uid] = made
        return made

    def _container(
        self, pod: Pod, container: Container, status: PodStatus, *, is_init: bool
    ) -> ContainerSnapshot:
        own = status.container(container.name)
        container_id = ContainerID("" if own is None else own.container_id)
        frozen, cut_off = self._done_to_it(pod.uid, container_id, own)
        return ContainerSnapshot(
            container,
            is_init,
            own,
            tuple(
                self._probe(pod, container, probe, kind, status, own)
                for kind in PROBES_SHOWN
                if (probe := container.probe(kind)) is not None
            ),
            self._lifetimes.stopping_of(container_id),
            self._backoff(pod, container, own),
            self._lifetimes.last_exit(pod.uid, container.name),
            frozen,
            self._interventions.breaker.points.of(Scope(pod.uid, container.name)),
            cut_off,
        )

    def _done_to_it(
        self, pod_uid: str, container_id: ContainerID, status: ContainerStatus | None
    ) -> tuple[datetime | None, datetime | None]:
        """Return since when an instance that runs is frozen, and is cut off."""
        if self._disrupted is None or not _runs(status):
            return None, None
        return (
            self._disrupted.frozen_since(container_id),
            self._disrupted.cut_off_since(pod_uid, container_id),
        )

    def _backoff(
        self, pod: Pod, container: Container, status: ContainerStatus | None
    ) -> BackoffSnapshot | None:
        """Return what back-off last said; a container that runs waits for nothing."""
        waits = self._syncer.waits.get((pod.uid, container.name))
        if waits is None or waits.until is None or status is None:
            return waits
        if isinstance(status.state, Running):
            return BackoffSnapshot(waits.window, waits.since, None, waits.next_window)
        return waits

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
        interventions = self._interventions
        manifest, probe = probe, interventions.probe(key, probe)
        loop = self._probes.worker(key)
        manifest_probe = None if probe is manifest else manifest
        if loop is None:
            return replace(
                _without_worker(key, probe),
                muted=interventions.is_muted(key),
                injections=interventions.injections.left(key),
                manifest_probe=manifest_probe,
                last_try=self._tries.last(key),
                trying_since=self._tries.since(key),
                delay=interventions.delay(key),
            )
        worker = loop.worker
        next_at = None if loop.in_flight is not None else loop.next_tick_at
        skip = foresee(worker, status, next_at or loop.next_tick_at)
        return ProbeSnapshot(
            key=key,
            probe=probe,
            worker_alive=True,
            believed=self._probes.results[kind].get(worker.container_id),
            last_result=worker.last_result,
            result_run=worker.result_run,
            on_hold=worker.on_hold,
            in_flight_since=(
                None if loop.in_flight is None else loop.in_flight.started_at
            ),
            next_tick_at=next_at,
            is_held_back=self._probes.paused,
            upcoming_skip=skip,
            delay_until=_delay_until(probe, own),
            ticks=loop.ticks,
            successes=loop.successes,
            failures=loop.failures,
            errors=loop.errors,
            skips=loop.skips,
            last_run=loop.last_run,
            history=tuple(loop.history),
            muted=worker.muted,
            injections=interventions.injections.left(key),
            manifest_probe=manifest_probe,
            last_try=self._tries.last(key),
            trying_since=self._tries.since(key),
            is_result_held=key in interventions.breaker.held,
            delay=interventions.delay(key),
        )

    def _operation_words(self, pod_uid: str) -> str:
        """Say what is being done for a pod; of several things the first."""
        for operation_id, operation in self._runner.operations(pod_uid).items():
            words = _words(operation)
            progress = self._progress.get(operation_id, "")
            return f"{words} {progress}".rstrip()
        return ""


def _without_worker(key: ProbeKey, probe: Probe) -> ProbeSnapshot:
    return ProbeSnapshot(
        key=key,
        probe=probe,
        worker_alive=False,
        believed=None,
        last_result=Result.SUCCESS,
        result_run=0,
        on_hold=False,
        in_flight_since=None,
        next_tick_at=None,
        is_held_back=False,
        upcoming_skip=None,
        delay_until=None,
        ticks=0,
        successes=0,
        failures=0,
        errors=0,
        skips=0,
        last_run=None,
        history=(),
    )


def _delay_until(probe: Probe, status: ContainerStatus | None) -> datetime | None:
    """Return when the initial delay of the running container is over."""
    if status is None or not isinstance(status.state, Running):
        return None
    started_at = status.state.started_at
    if started_at is None or not probe.initial_delay_seconds:
        return None
    return started_at + timedelta(seconds=probe.initial_delay_seconds)


def _restarts(status: PodStatus) -> int:
    return sum(
        each.restart_count
        for each in (
            *(status.container_statuses or ()),
            *(status.init_container_statuses or ()),
        )
    )


def _pod_uid(entry: Entry) -> str:
    """Return which pod an entry is about; empty if it is about none."""
    match entry:
        case (
            TickEntry(key=key)
            | TryEntry(key=key)
            | ListenersEntry(key=key)
            | FindingEntry(key=key)
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
        case PullImage(_, image):
            return f"pulling {image}"
        case CreateContainer(container=container):
            return f"creating {container.name}"
        case StartContainer():
            return "starting a container"
        case Disrupt(_, name, disruption):
            return f"{disruption} {name}"
        case StopContainer(_, name, grace):
            return f"stopping {name} (grace {grace}s)"
        case RemoveContainer():
            return "removing a container"
        case RunHook(container=container):
            return f"running a hook of {container.name}"


def _runs(status: ContainerStatus | None) -> bool:
    return status is not None and isinstance(status.state, Running)
