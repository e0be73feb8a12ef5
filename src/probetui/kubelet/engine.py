"""The engine: everything the kubelet decides, on instants that it is given.

Give it every fact and command with the instant it happened, wake it at its deadline,
do what it asks, tell it what came of it. It never waits and never looks. The same
inputs at the same instants give the same turns.

Source: kubelet.go, v1.32.10, syncLoopIteration, HandlePodCleanups.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random

from probetui.k8s.difference import differences
from probetui.k8s.event import EventType
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.api_status import past_active_deadline
from probetui.kubelet.backoff import Backoff
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.container_commands import ContainerCommands
from probetui.kubelet.disposal import Disposer
from probetui.kubelet.disrupted import Disrupted
from probetui.kubelet.freezer import Freezer
from probetui.kubelet.images import ImageManager
from probetui.kubelet.inputs import (
    AddPod,
    ClearBackoff,
    Command,
    DeletePod,
    DisruptContainer,
    ExecSeen,
    Input,
    KillContainer,
    ListenersFound,
    OperationFinished,
    OperationProgress,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RestartContainer,
    RuntimeChanged,
    RuntimeFact,
    SetObjects,
    SetPods,
)
from probetui.kubelet.interventions import Interventions
from probetui.kubelet.journal import NoteEntry, PodGoneEntry, UserEntry
from probetui.kubelet.killing import Killer
from probetui.kubelet.lifetimes import Lifetimes
from probetui.kubelet.objects import Objects
from probetui.kubelet.outcome import Result
from probetui.kubelet.play import Play
from probetui.kubelet.pleg import LifecycleChange, Pleg, PodCache, PodLifecycleEvent
from probetui.kubelet.pod_calls import PodCalls
from probetui.kubelet.pod_config import (
    FAILED_VALIDATION,
    PodConfig,
    PodOperation,
    SourcedPod,
)
from probetui.kubelet.pod_config import PodUpdate as SourceUpdate
from probetui.kubelet.pod_source import API_SOURCE
from probetui.kubelet.pod_update import Call, CallResult, PodUpdate, UpdateType
from probetui.kubelet.pod_worker import PodWorkers
from probetui.kubelet.probe_manager import ProbeManager
from probetui.kubelet.reason_cache import ReasonCache
from probetui.kubelet.relists import Relists
from probetui.kubelet.restraint import Restraint
from probetui.kubelet.results import Update
from probetui.kubelet.routine import Runner
from probetui.kubelet.sightings import Sightings
from probetui.kubelet.snapshot import PodSnapshot, Snapshot
from probetui.kubelet.snapshots import SnapshotMaker
from probetui.kubelet.status_manager import StatusManager
from probetui.kubelet.sync_pod import PodSyncer
from probetui.kubelet.timers import Timers
from probetui.kubelet.tries import Tries
from probetui.kubelet.turn import Ledger, Turn
from probetui.kubelet.volumes import VolumeManager


class Routinely(StrEnum):
    """What the engine does again and again."""

    SYNC = "sync"
    HOUSEKEEPING = "housekeeping"
    GARBAGE = "garbage"


class Engine:
    """All state of the kubelet; has one owner, the driver.

    Args:
        config: how this kubelet behaves.
        started_at: when this session begins.
    """

    def __init__(self, config: KubeletConfig, started_at: datetime) -> None:
        self.config = config
        self._long_before = started_at - timedelta(days=1)
        self._rng = Random(config.seed)  # noqa: S311  # jitter, not secrets
        self._ledger = Ledger()
        self._runner = Runner(self._ledger)
        self._cache = PodCache()
        self._pleg = Pleg(self._cache)
        self._relists = Relists(self._ledger, config.relist_period, started_at)
        self._pods: dict[str, Pod] = {}
        self._interventions = Interventions(self._pods)
        self._tries = Tries(self._ledger, self._interventions)
        self._sightings = Sightings(self._ledger, config, self._pods)
        self._statuses = StatusManager()
        self._reasons = ReasonCache()
        windows = (config.backoff_initial, config.backoff_max, config.backoff_expiry)
        self._backoff = Backoff(*windows)
        self._image_backoff = Backoff(*windows)
        self._lifetimes = Lifetimes(self._ledger, started_at)
        self._probes = ProbeManager(
            config,
            started_at,
            status_of=self._statuses.get,
            ledger=self._ledger,
            rng=self._rng,
            interventions=self._interventions,
        )
        self._killer = Killer(
            self._ledger, self._lifetimes, config.minimum_grace_period_seconds
        )
        self._restraint = Restraint(config, self._lifetimes, self._probes.spare)
        self._objects = Objects()
        self._syncer = PodSyncer(
            self._ledger,
            self._killer,
            ImageManager(self._ledger, self._image_backoff),
            self._backoff,
            self._lifetimes,
            self._probes.results[ProbeType.LIVENESS],
            self._probes.results[ProbeType.STARTUP],
            self._objects,
            config.node,
            self._restraint,
        )
        self._volumes = VolumeManager(
            self._ledger, self._runner, self._objects, config.node
        )
        self._calls = PodCalls(
            self._ledger,
            self._probes,
            self._statuses,
            self._cache,
            self._reasons,
            self._syncer,
            self._killer,
            self._relists.newer_than,
            self._volumes,
            self._restraint,
        )
        self._workers = PodWorkers(
            config, self._rng, self._begin, self._is_fresh, self._is_idle
        )
        self._disposer = Disposer(
            self._runner, self._workers, config.dead_instances_kept, self._forget
        )
        self._sources = PodConfig()
        self._wanted_again: dict[str, PodUpdate] = {}
        self._in_runtime: dict[str, RuntimePodStatus] = {}
        self._removed_at: dict[str, datetime] = {}
        self._timers: Timers[Routinely] = Timers()
        for each in Routinely:
            self._timers.set(each, started_at)
        self._due_at = started_at
        """When something is to be done apart from probes; not moved by these."""
        self._snapshots = SnapshotMaker(
            started_at,
            self._probes,
            self._statuses,
            self._workers,
            self._lifetimes,
            self._syncer,
            self._runner,
            self._interventions,
            self._tries,
        )
        self._disrupted = Disrupted(self._cache, shares_network=config.creates)
        self._containers = ContainerCommands(
            self._ledger,
            self._runner,
            self._killer,
            self._lifetimes,
            self._cache,
            self._disrupted,
            (self._backoff, self._image_backoff),
            self._pods,
            self._sync,
            self._snapshots.changed,
            acts=config.kills,
        )
        self._freezer = Freezer(
            self._pods,
            self._cache,
            self._disrupted,
            self._runner,
            self._lifetimes,
            self._containers.take,
        )
        self._play = Play(
            self._ledger,
            self._probes,
            self._interventions,
            self._tries,
            self._statuses,
            self._pods,
            self._look_at_pods,
        )

    # -- the four doors

    def submit(self, item: Input, now: datetime) -> Turn:
        """Take one input in and return what comes of it."""
        match item:
            case ProbeFinished():
                if not self._tries.under_way or not self._tries.finish(item, now):
                    self._probes.finish(item, now)
            case ListenersFound():
                self._sightings.found(item, now)
            case ExecSeen():
                self._sightings.exec_seen(item, self._in_runtime, now)
            case (
                OperationFinished()
                | OperationProgress()
                | Relisted()
                | RelistFailed()
                | RuntimeChanged()
            ):
                self._take_fact(item, now)
                self._due_at = now
            case _:
                self._take_command(item, now)
                self._due_at = now
        return self.advance(now)

    def advance(self, now: datetime) -> Turn:
        """Let time pass up to `now` and return what comes of it."""
        self._go_on(now)
        if self._freezes:
            self._freeze(now)
        turn = self._ledger.take()
        self._sightings.look_at(turn.entries, now)
        turn = turn.followed_by(self._ledger.take())
        self._snapshots.note(turn)
        return turn

    def _go_on(self, now: datetime) -> None:
        if self._due_at <= now:
            while (due := self._timers.pop_due(now)) is not None:
                self._on_timer(due, now)
            self._settle(now)
        self._probes.run_due(now)
        while self._take_updates(now):
            self._settle(now)
            self._probes.run_due(now)
        if self._probes.paused:
            self._play.tell(now)

    def _freeze(self, now: datetime) -> None:
        """Let containers stand still or go on, and then do what waited for that."""
        if held := self._freezer.follow(now, is_still=self._is_still):
            for command in held:
                self._play.take(command, now)
            self._due_at = now
            self._go_on(now)
            self._freezer.follow(now, is_still=self._is_still)

    @property
    def _freezes(self) -> bool:
        return self.config.freezes and self.config.kills

    @property
    def _is_still(self) -> bool:
        is_probing = self._probes.is_probing or bool(self._tries.under_way)
        return self._probes.paused and not is_probing

    def next_deadline(self) -> datetime | None:
        """Return when `advance` is to be called at the latest, None for never."""
        probes_at = self._probes.next_deadline()
        if probes_at is None or self._due_at < probes_at:
            return self._due_at
        return probes_at

    def snapshot(self, now: datetime) -> Snapshot:
        """Return what there is to see; what did not change is the same object."""
        return self._snapshots.make(
            self._pods.values(),
            now,
            lost_since=self._relists.lost_since,
            lost_error=self._relists.lost_error,
            acts=self.config.kills,
            disrupted=self._disrupted,
            last_step=self._play.last_step,
        )

    def _look_at_pods(self, now: datetime) -> tuple[PodSnapshot, ...]:
        return self.snapshot(now).pods

    def pod_uids(self) -> tuple[str, ...]:
        """Return the pods that are known, or wanted again, and not gone yet."""
        return tuple({**self._pods, **self._wanted_again})

    def longest_grace_period(self) -> timedelta:
        """Return the longest time that any pod may take to end."""
        seconds = [
            each.termination_grace_period_seconds or 0 for each in self._pods.values()
        ]
        return timedelta(seconds=max(seconds, default=0))

    # -- commands

    def _take_command(self, command: Command, now: datetime) -> None:
        if self._freezes and self._freezer.holds(command):
            return
        match command:
            case AddPod(pod):
                self._add_pod(pod, now, waits_for_name=False)
            case SetPods(pods, places):
                self._sightings.know_places(places)
                self._set_pods(pods, now)
            case SetObjects(objects):
                self._objects.replace(objects)
            case DeletePod(pod_uid, grace_period_seconds):
                self._delete_pod(pod_uid, grace_period_seconds, now)
            case (
                RestartContainer()
                | KillContainer()
                | ClearBackoff()
                | DisruptContainer()
            ):
                self._containers.take(command, now)
            case _:
                self._play.take(command, now)

    def _add_pod(self, pod: Pod, now: datetime, *, waits_for_name: bool) -> None:
        """Begin a pod; one that is on its way out, or over, goes first.

        Difference: the kubelet lets a pod of the same UID begin where the old one left
        off; here it is a new pod, as it would be after a deletion at the API server.
        """
        pod = replace(pod, created_at=pod.created_at or now)
        update = PodUpdate(UpdateType.CREATE, pod, is_static=waits_for_name)
        if self._workers.is_termination_requested(pod.uid):
            self._wanted_again[pod.uid] = update
            if self._workers.should_be_finished(pod.uid):
                self._remove_content(pod.uid, now)
        else:
            self._pods[pod.uid] = pod
            self._workers.update(update, now)

    def _set_pods(self, pods: tuple[Pod, ...], now: datetime) -> None:
        """Bring the pods in line with the manifests.

        Difference: a pod whose manifest is gone is deleted as the API server does it,
        so that its status can be followed to the end; the kubelet kills a static pod
        and drops its status with the file.

        Source: kubelet.go, v1.32.10, HandlePodAdditions, HandlePodUpdates.
        """
        sourced = tuple(SourcedPod(each) for each in pods)
        merged = self._sources.merge(
            SourceUpdate(PodOperation.SET, API_SOURCE, sourced), now
        )
        for refused in merged.refused:
            self._ledger.event(
                refused.pod,
                EventType.WARNING,
                FAILED_VALIDATION,
                refused.message,
                now=now,
            )
        for update in merged.updates:
            for each in update.pods:
                self._apply(update.operation, each.pod, now)

    def _apply(self, operation: PodOperation, pod: Pod, now: datetime) -> None:
        match operation:
            case PodOperation.REMOVE | PodOperation.DELETE:
                self._delete_pod(pod.uid, None, now)
            case PodOperation.ADD:
                for old in tuple(self._pods.values()):
                    if old.full_name == pod.full_name:
                        self._tell_differences(old, pod, now)
                self._add_pod(pod, now, waits_for_name=True)
            case PodOperation.UPDATE:
                self._tell_differences(self._pods.get(pod.uid, pod), pod, now)
                self._update_pod(pod, now)
            case PodOperation.SET | PodOperation.RECONCILE:
                return

    def _update_pod(self, pod: Pod, now: datetime) -> None:
        """Change the definition of a pod; one that is being deleted still is."""
        again = self._wanted_again.get(pod.uid)
        if again is not None:
            self._wanted_again[pod.uid] = replace(again, pod=pod)
            return
        old = self._pods.get(pod.uid, pod)
        pod = replace(
            pod,
            created_at=old.created_at or now,
            deletion_requested_at=old.deletion_requested_at,
            deletion_grace_period_seconds=old.deletion_grace_period_seconds,
        )
        self._pods[pod.uid] = pod
        self._probes.replace_pod(pod)
        self._workers.update(PodUpdate(UpdateType.UPDATE, pod), now)

    def _tell_differences(self, old: Pod, new: Pod, now: datetime) -> None:
        for path, before, after in differences(old, new):
            self._note(now, f"{new.name}: {path}: {before or '-'} -> {after or '-'}")

    def _delete_pod(self, pod_uid: str, grace: int | None, now: datetime) -> None:
        """Mark a pod as being deleted, as the API server does, and end it."""
        self._wanted_again.pop(pod_uid, None)
        pod = self._pods.get(pod_uid)
        if pod is None:
            return
        if not (self.config.creates or self.config.kills):
            self._note(now, f"{pod.name} is only watched")
            return
        if grace is None:
            grace = pod.termination_grace_period_seconds
        if pod.deletion_requested_at is None:
            self._write_user(now, "delete", pod.name)
        pod = replace(
            pod,
            deletion_requested_at=pod.deletion_requested_at or now,
            deletion_grace_period_seconds=grace,
        )
        self._pods[pod_uid] = pod
        self._probes.replace_pod(pod)
        if self._workers.should_be_finished(pod_uid):
            self._remove_content(pod_uid, now)
        else:
            self._workers.update(PodUpdate(UpdateType.UPDATE, pod), now)

    # -- facts

    def _take_fact(self, fact: RuntimeFact, now: datetime) -> None:
        match fact:
            case OperationFinished(operation_id):
                self._snapshots.operation_over(operation_id)
                self._runner.finish(fact, now)
            case OperationProgress(operation_id, text):
                self._snapshots.progress(operation_id, text)
            case Relisted():
                self._relisted(fact, now)
            case RelistFailed(error):
                self._relists.failed(error, now)
            case RuntimeChanged():
                self._relists.ask(now)

    def _relisted(self, relisted: Relisted, now: datetime) -> None:
        before = self._in_runtime
        self._in_runtime = {each.pod_uid: each for each in relisted.pods}
        for uid, status in self._in_runtime.items():
            if status is not before.get(uid):
                self._lifetimes.look_at(uid, status.containers, now)
        changed: dict[str, None] = {}
        for event in self._pleg.relist(relisted.pods, relisted.started_at):
            if event.change is not LifecycleChange.REMOVED:
                changed[event.pod_uid] = None
            self._on_lifecycle_event(event, before.get(event.pod_uid), now)
        self._relists.came(relisted.started_at, now)
        for uid, removed_at in tuple(self._removed_at.items()):
            if removed_at < relisted.started_at:
                del self._removed_at[uid]
        for uid in changed:
            self._sync(uid, now)
        self._workers.run_ready(now)
        self._runner.look_at_latches(now)

    def _on_lifecycle_event(
        self, event: PodLifecycleEvent, before: RuntimePodStatus | None, now: datetime
    ) -> None:
        """Tell of removed instances; of a dead one, remove the instances before it."""
        status = self._in_runtime.get(event.pod_uid)
        if event.change is LifecycleChange.DIED and status is not None:
            names = [
                each.name
                for each in status.containers
                if each.container_id == event.container_id
            ]
            self._disposer.remove_surplus(status, names, now)
        if event.change is LifecycleChange.REMOVED and before is not None:
            for each in before.containers:
                if each.container_id == event.container_id:
                    self._lifetimes.removed(event.pod_uid, each, now)

    # -- time

    def _on_timer(self, what: Routinely, now: datetime) -> None:
        match what:
            case Routinely.SYNC:
                self._sync_due(now)
                self._timers.set(what, now + self.config.sync_tick)
            case Routinely.HOUSEKEEPING:
                self._clean_up(now)
                self._timers.set(
                    Routinely.HOUSEKEEPING, now + self.config.housekeeping_tick
                )
            case Routinely.GARBAGE:
                self._collect_garbage(now)
                self._timers.set(
                    Routinely.GARBAGE, now + self.config.container_gc_period
                )

    def _collect_garbage(self, now: datetime) -> None:
        for uid, status in self._in_runtime.items():
            if uid in self._pods:
                names = dict.fromkeys(each.name for each in status.containers)
                self._disposer.remove_surplus(status, names, now)

    def _sync_due(self, now: datetime) -> None:
        while (uid := self._workers.queue.pop_due(now)) is not None:
            self._sync(uid, now)
        for uid, pod in self._pods.items():
            status = self._statuses.get(uid)
            if pod.active_deadline_seconds is None or status is None:
                continue
            if past_active_deadline(pod, status, now) and not status.phase.is_terminal:
                self._sync(uid, now)

    def _clean_up(self, now: datetime) -> None:
        """Bring workers, probes and the runtime in line with the pods that are known.

        Source: kubelet_pods.go, v1.32.10, HandlePodCleanups.
        """
        self._workers.sync_known_pods(self._pods, now)
        self._probes.cleanup_pods(
            {
                uid
                for uid in self._workers.uids()
                if not self._workers.is_known_terminated(uid)
            }
        )
        for uid in tuple(self._wanted_again):
            if not self._workers.knows(uid):
                update = self._wanted_again.pop(uid)
                self._add_pod(update.pod, now, waits_for_name=update.is_static)
        self._disposer.end_orphans(self._in_runtime, self._pods, now)
        for uid in tuple(self._pods):
            if self._workers.should_content_be_removed(uid) and (
                self._workers.should_be_finished(uid)
            ):
                self._remove_content(uid, now)
        self._backoff.gc(now)

    # -- syncing

    def _settle(self, now: datetime) -> None:
        """Do all that can be done at this instant, probes apart."""
        self._relists.run_due(now)
        self._volumes.cancel_waits(self._workers.is_cancelled)
        self._runner.look_at_latches(now)
        self._volumes.run_due(now)
        self._runner.run_due(now)
        deadlines = (
            self._timers.next_deadline(),
            self._relists.due_at,
            self._volumes.next_deadline(),
            self._runner.next_deadline(),
        )
        self._due_at = min(each for each in deadlines if each is not None)

    def _take_updates(self, now: datetime) -> bool:
        """Act on changed beliefs; False if there were none."""
        some = False
        for probe_type, results in self._probes.results.items():
            if not results.updates:
                continue
            some = True
            for update in results.take_updates():
                self._on_update(probe_type, update, now)
        return some

    def _on_update(self, probe_type: ProbeType, update: Update, now: datetime) -> None:
        """Act on a changed belief.

        Source: kubelet.go, v1.32.10, syncLoopIteration, handleProbeSync.
        """
        pod = self._pods.get(update.pod_uid)
        if pod is None:
            return
        old = self._statuses.get(pod.uid)
        believed = update.result is Result.SUCCESS
        new = old
        match probe_type:
            case ProbeType.LIVENESS:
                if update.result is not Result.FAILURE:
                    return
            case ProbeType.READINESS:
                new = self._statuses.set_container_readiness(
                    pod, update.container_id, now, ready=believed
                )
            case ProbeType.STARTUP:
                new = self._statuses.set_container_startup(
                    pod, update.container_id, now, started=believed
                )
        self._calls.publish(pod, new, old, now)
        self._sync(pod.uid, now)

    def _sync(self, pod_uid: str, now: datetime) -> None:
        pod = self._pods.get(pod_uid)
        if pod is not None:
            self._workers.update(PodUpdate(UpdateType.SYNC, pod), now)

    def _begin(self, call: Call, now: datetime) -> None:
        """Carry out a pod worker's call."""
        uid = call.pod.uid

        def done(result: CallResult, at: datetime) -> None:
            self._workers.finish(uid, result, at)
            self._snapshots.changed(uid)
            if self._workers.should_be_finished(uid):
                self._pod_has_ended(uid, at)

        self._snapshots.changed(uid)
        self._runner.start(uid, self._calls.routine(call, now), done, now)

    def _is_fresh(self, pod_uid: str, since: datetime | None) -> bool:
        """Tell whether the last look at a pod is newer than its last sync.

        For a first sync, it has to be newer than the end of an earlier pod of that UID.
        """
        instant = since or self._removed_at.get(pod_uid) or self._long_before
        return self._cache.get_newer_than(pod_uid, instant) is not None

    def _is_idle(self, pod_uid: str) -> bool:
        status = self._cache.get(pod_uid)
        return not any(each.is_ready for each in status.sandboxes) and not any(
            each.state is RuntimeState.RUNNING for each in status.containers
        )

    # -- the end of pods

    def _pod_has_ended(self, pod_uid: str, now: datetime) -> None:
        if pod_uid not in self._pods:
            return
        self._ledger.write(PodGoneEntry(self._ledger.next_sequence(), now, pod_uid))
        is_deleted = self._pods[pod_uid].deletion_requested_at is not None
        if is_deleted or pod_uid in self._wanted_again:
            self._remove_content(pod_uid, now)

    def _remove_content(self, pod_uid: str, now: datetime) -> None:
        self._disposer.remove_content(pod_uid, self._in_runtime.get(pod_uid), now)

    def _forget(self, pod_uid: str, now: datetime) -> None:
        self._removed_at[pod_uid] = now
        self._pods.pop(pod_uid, None)
        self._in_runtime.pop(pod_uid, None)
        self._syncer.forget_pod(pod_uid)
        self._statuses.remove(pod_uid)
        self._volumes.forget(pod_uid)
        self._lifetimes.forget_pod(pod_uid)
        self._snapshots.forget(pod_uid)
        self._play.forget_pod(pod_uid)
        self._sightings.forget_pod(pod_uid)

    # -- telling people

    def _write_user(self, now: datetime, command: str, target: str) -> None:
        self._ledger.write(
            UserEntry(self._ledger.next_sequence(), now, command, target)
        )

    def _note(self, now: datetime, text: str) -> None:
        self._ledger.write(NoteEntry(self._ledger.next_sequence(), now, text))
