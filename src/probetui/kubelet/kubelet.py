"""The kubelet: pods and facts in, decisions out.

Its inputs are pods, and facts about the runtime and probes; its outputs are turns with
effects and journal entries. It has no I/O, clock or debugger: each call passes the
instant.

Source: kubelet.go, kubelet_pods.go, v1.32.10, syncLoopIteration, HandlePodCleanups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from random import Random

from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.pod_diff import diff_pods
from probetui.k8s.pod_source import API_SOURCE, CONFIG_SOURCE, is_static_pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.k8s.status import PodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.facts import (
    ImagesListed,
    OperationFinished,
    OperationProgress,
    Relisted,
    RelistFailed,
    RuntimeChanged,
    RuntimeFact,
    RuntimeStatusRead,
)
from probetui.kubelet.journal import PodGoneEntry
from probetui.kubelet.kuberuntime.action_policy import ActionPolicy
from probetui.kubelet.kuberuntime.container_gc import ContainerGC
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.reason_cache import ReasonCache
from probetui.kubelet.kuberuntime.runtime_manager import RuntimeManager
from probetui.kubelet.object_store import ObjectStore
from probetui.kubelet.outcome import Result
from probetui.kubelet.pleg.pleg import (
    LifecycleChange,
    Pleg,
    PodCache,
    PodLifecycleEvent,
)
from probetui.kubelet.pleg.relists import RelistScheduler
from probetui.kubelet.pod_workers.pod_config import (
    FAILED_VALIDATION,
    PodConfig,
    PodOperation,
    SourcedPod,
    SourceUpdate,
)
from probetui.kubelet.pod_workers.pod_sync import PodSync
from probetui.kubelet.pod_workers.pod_update import (
    CallOutcome,
    SyncCall,
    UpdatePodOptions,
    UpdateType,
)
from probetui.kubelet.pod_workers.pod_workers import PodWorkers
from probetui.kubelet.prober.hooks import ProbeHooks
from probetui.kubelet.prober.prober_manager import ProbeManager
from probetui.kubelet.prober.results_manager import ResultUpdate
from probetui.kubelet.runtime.routines import RoutineRunner
from probetui.kubelet.runtime.timers import Timers
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet.runtime_health import RuntimeHealth
from probetui.kubelet.status.generate import past_active_deadline
from probetui.kubelet.status.status_manager import (
    StatusManager,
    needs_readiness_reconciled,
)
from probetui.kubelet.volumes.volume_manager import VolumeManager

ORPHAN_GRACE_PERIOD_SECONDS = 1


class PeriodicTask(StrEnum):
    """A task that the kubelet repeats."""

    SYNC = "sync"
    HOUSEKEEPING = "housekeeping"
    GARBAGE = "garbage"


MakePolicy = Callable[[ContainerLifecycle, ProbeManager, TurnBuilder], ActionPolicy]


class Kubelet:
    """The state of the kubelet; owned by the engine.

    Args:
        config: how this kubelet behaves.
        started_at: when this session begins.
        pods: the pods that are known, by UID; filled and emptied here.
        turn: where effects and journal entries go.
        hooks: change probing from outside.
        make_policy: creates the action policy; None allows every action.
        on_pod_removed: called when a pod is completely removed.

    Attributes:
        in_runtime: what the runtime had of each pod at the last relist.
        changed_pods: pods that look different since the owner last emptied this set.
    """

    def __init__(
        self,
        config: KubeletConfig,
        started_at: datetime,
        *,
        pods: dict[str, Pod] | None = None,
        turn: TurnBuilder | None = None,
        hooks: ProbeHooks | None = None,
        make_policy: MakePolicy | None = None,
        on_pod_removed: Callable[[str], None] = lambda _pod_uid: None,
    ) -> None:
        self.config = config
        self.pods = {} if pods is None else pods
        self.turn = turn or TurnBuilder()
        self.runner = RoutineRunner(self.turn)
        self.changed_pods: set[str] = set()
        self.in_runtime: dict[str, RuntimePodStatus] = {}
        self.statuses = StatusManager(self._could_have_running_containers, config.rules)
        self.objects = ObjectStore()
        self._on_pod_removed = on_pod_removed
        self._to_recreate: dict[str, UpdatePodOptions] = {}
        self._removed_at: dict[str, datetime] = {}
        self._dropped: dict[str, PodStatus | None] = {}
        """Static pods gone from their source, until they are removed, with their last
        known status."""
        self._long_before = started_at - timedelta(days=1)
        rng = Random(config.seed)  # noqa: S311  # jitter, not secrets
        self.probes = ProbeManager(
            config,
            started_at,
            status_of=self.statuses.get,
            source_status_of=self.statuses.in_source,
            turn=self.turn,
            rng=rng,
            hooks=hooks,
        )
        self._make_runtime(started_at, make_policy)
        self.workers = PodWorkers(
            config, rng, self._start_call, self._has_fresh_status, self._is_idle
        )
        self._sources = PodConfig()
        self._timers: Timers[PeriodicTask] = Timers()
        for task in PeriodicTask:
            self._timers.set(task, started_at)
        self.due_at = started_at
        """The next deadlines apart from probes."""

    def _make_runtime(
        self, started_at: datetime, make_policy: MakePolicy | None
    ) -> None:
        """Create the parts for the runtime: relists, containers, volumes, syncs."""
        config, turn = self.config, self.turn
        self.cache = PodCache()
        self._pleg = Pleg(self.cache)
        self.relists = RelistScheduler(turn, config.relist_period, started_at)
        self.health = RuntimeHealth(
            turn,
            started_at,
            polls_status=config.polls_runtime,
            polls_images=config.lists_images,
        )
        lifecycle = ContainerLifecycle(
            turn, started_at, keeps_evidence=config.keeps_evidence
        )
        policy = ActionPolicy()
        if make_policy is not None:
            policy = make_policy(lifecycle, self.probes, turn)
        self.runtime = RuntimeManager(
            config, turn, lifecycle, self.probes.results, self.objects, policy
        )
        self._volumes = VolumeManager(
            turn,
            self.runner,
            self.objects,
            config.node,
            self.sources_ready,
            config.rules,
        )
        self._pod_sync = PodSync(
            turn,
            self.probes,
            self.statuses,
            self.cache,
            ReasonCache(),
            self.runtime.syncer,
            self.runtime.killer,
            self.relists.newer_than,
            self.health,
            self._volumes,
            policy,
            config.rules,
            self.objects,
        )
        if config.rules.early_ready_to_start:
            self.runtime.syncer.on_sandbox_ready = self._pod_sync.on_sandbox_ready
        self._container_gc = ContainerGC(
            self.runner, config.dead_instances_kept, self._remove_pod
        )

    # -- pods

    def pod_uids(self) -> tuple[str, ...]:
        """Return the pods that are not removed yet, or are to be recreated."""
        return tuple({**self.pods, **self._to_recreate})

    def sources_ready(self) -> bool:
        """Return whether every source of pods has reported.

        Until then nothing is cleaned up: an unknown pod may be in another source.

        Source: kubelet/config/config.go, v1.32.10, SeenAllSources.
        """
        return all(map(self._sources.is_seen, self.config.sources))

    def sources(self) -> Iterator[tuple[str, bool, int]]:
        """Yield the name of each source, whether it has reported, and its pod count."""
        pods = Counter(
            pod.annotations.get(CONFIG_SOURCE, API_SOURCE)
            for uid, pod in self.pods.items()
            if uid not in self._dropped
        )
        for name in dict.fromkeys((*self.config.sources, *pods)):
            yield name, self._sources.is_seen(name), pods[name]

    def last_status(self, pod_uid: str) -> PodStatus | None:
        """Return the status of a pod; for a dropped pod, the last known one."""
        return self.statuses.get(pod_uid) or self._dropped.get(pod_uid)

    def _could_have_running_containers(self, pod_uid: str) -> bool:
        return self.workers.could_have_running_containers(pod_uid)

    def longest_grace_period(self) -> timedelta:
        """Return the longest time that a pod may take to end."""
        seconds = [
            pod.termination_grace_period_seconds or 0 for pod in self.pods.values()
        ]
        return timedelta(seconds=max(seconds, default=0))

    def add_pod(self, pod: Pod, now: datetime, *, waits_for_name: bool) -> None:
        """Create a pod, after the removal of a terminating one with its UID.

        Difference: in the kubelet, a pod of the same UID continues from the old one's
        state; here it is a new pod, as after a deletion at the API server.
        """
        pod = replace(
            pod,
            created_at=pod.created_at or now,
            generation=1 if self._counts_generations(pod) else pod.generation,
        )
        self._dropped.pop(pod.uid, None)
        update = UpdatePodOptions(
            UpdateType.CREATE,
            pod,
            is_static=waits_for_name,
            is_in_api=not is_static_pod(pod),
        )
        if self.workers.is_termination_requested(pod.uid):
            self._to_recreate[pod.uid] = update
            if self.workers.should_be_finished(pod.uid):
                self._remove_content(pod.uid, now)
        else:
            self.pods[pod.uid] = pod
            self.workers.update(update, now)
            if self.config.rules.probes_from_addition:
                self.probes.add_pod(pod, now)

    def update_source(self, update: SourceUpdate, now: datetime) -> None:
        """Reconcile the pods with those of a source.

        Difference: manifests of pods that are not static stand for an API server: a pod
        whose manifest is gone is deleted as an API server does it.

        Source: kubelet.go, v1.32.10, syncLoopIteration, HandlePodAdditions,
        HandlePodUpdates, HandlePodRemoves, HandlePodReconcile.
        """
        merged = self._sources.merge(update, now)
        self.workers.changes += 1
        for refused in merged.refused:
            self.turn.warning(refused.pod, FAILED_VALIDATION, refused.message, now)
        for change in merged.updates:
            pods = change.pods
            if change.operation is PodOperation.ADD:
                pods = tuple(sorted(pods, key=_created_at))
            for pod in pods:
                self._apply_operation(change.operation, pod, now)

    def _apply_operation(
        self, operation: PodOperation, sourced: SourcedPod, now: datetime
    ) -> None:
        pod = sourced.pod
        match operation:
            case PodOperation.REMOVE if is_static_pod(pod):
                self._drop_static_pod(pod.uid, now)
            case PodOperation.REMOVE | PodOperation.DELETE:
                self._copy_generation(pod)
                self.delete_pod(pod.uid, pod.deletion_grace_period_seconds, now)
            case PodOperation.ADD:
                for old in tuple(self.pods.values()):
                    if old.full_name == pod.full_name:
                        self._note_differences(old, pod, now)
                self._set_conditions(sourced)
                waits = not self.config.has_api_server or is_static_pod(pod)
                waits = waits and self.config.rules.static_pods_wait
                self.add_pod(pod, now, waits_for_name=waits)
            case PodOperation.UPDATE:
                self._note_differences(self.pods.get(pod.uid, pod), pod, now)
                self._set_conditions(sourced)
                self._update_pod(pod, now)
            case PodOperation.RECONCILE:
                self._set_conditions(sourced)
                in_api = self.statuses.in_api(pod.uid)
                if needs_readiness_reconciled(pod, in_api, self.config.rules):
                    self.sync(pod.uid, now)
            case PodOperation.SET:
                return

    def _set_conditions(self, sourced: SourcedPod) -> None:
        self.statuses.set_api_conditions(sourced.pod.uid, sourced.status.conditions)

    def _drop_static_pod(self, pod_uid: str, now: datetime) -> None:
        """Kill a pod that is gone from its file or URL, and forget its status.

        If not all sources are ready, housekeeping does it later.

        Source: kubelet.go, v1.32.10, HandlePodRemoves, deletePod.
        """
        self._to_recreate.pop(pod_uid, None)
        pod = self.pods.get(pod_uid)
        if pod is None:
            return
        self._dropped[pod_uid] = self.statuses.get(pod_uid)
        self.workers.changes += 1
        self.changed_pods.add(pod_uid)
        self.turn.note(now, f"{pod.name} is no longer in its source")
        if self.workers.should_be_finished(pod_uid):
            self._remove_content(pod_uid, now)
        elif self.sources_ready():
            self.workers.update(UpdatePodOptions(UpdateType.KILL, pod), now)

    def _update_pod(self, pod: Pod, now: datetime) -> None:
        """Change the definition of a pod; a deletion in progress continues."""
        again = self._to_recreate.get(pod.uid)
        if again is not None:
            self._to_recreate[pod.uid] = replace(again, pod=pod)
            return
        old = self.pods.get(pod.uid, pod)
        pod = replace(
            pod,
            created_at=old.created_at or now,
            deletion_requested_at=old.deletion_requested_at,
            deletion_grace_period_seconds=old.deletion_grace_period_seconds,
        )
        if self._counts_generations(pod):
            is_changed = any(diff_pods(old, pod))
            pod = replace(pod, generation=old.generation + is_changed)
        self.pods[pod.uid] = pod
        self.probes.replace_pod(pod)
        self.workers.update(UpdatePodOptions(UpdateType.UPDATE, pod), now)

    def _counts_generations(self, pod: Pod) -> bool:
        """Return whether an API server would maintain the generation of a pod.

        Source: pkg/registry/core/pod/strategy.go, v1.36.2, PrepareForCreate,
        PrepareForUpdate; k8s.io/apiserver, registry/rest/delete.go, BeforeDelete.
        """
        counts = self.config.counts_generations and self.config.rules.pod_generations
        return counts and not is_static_pod(pod)

    def _copy_generation(self, pod: Pod) -> None:
        """Copy a pod's generation from a source that maintains it."""
        known = self.pods.get(pod.uid)
        if known is not None and not self.config.counts_generations:
            self.pods[pod.uid] = replace(known, generation=pod.generation)

    def _note_differences(self, old: Pod, new: Pod, now: datetime) -> None:
        for path, before, after in diff_pods(old, new):
            self.turn.note(
                now, f"{new.name}: {path}: {before or '-'} -> {after or '-'}"
            )

    def delete_pod(self, pod_uid: str, grace: int | None, now: datetime) -> None:
        """Set a pod's deletion timestamp, as the API server does, and terminate it."""
        self._to_recreate.pop(pod_uid, None)
        pod = self.pods.get(pod_uid)
        if pod is None:
            return
        if not (self.config.creates or self.config.kills):
            self.turn.note(now, f"{pod.name} is only watched")
            return
        if grace is None:
            grace = pod.termination_grace_period_seconds
        if pod.deletion_requested_at is None:
            self.turn.user_command(now, "delete", pod.name)
            if self._counts_generations(pod):
                pod = replace(pod, generation=pod.generation + 1)
        pod = replace(
            pod,
            deletion_requested_at=pod.deletion_requested_at or now,
            deletion_grace_period_seconds=grace,
        )
        self.pods[pod_uid] = pod
        self.probes.replace_pod(pod)
        if self.workers.should_be_finished(pod_uid):
            self._remove_content(pod_uid, now)
        else:
            self.workers.update(UpdatePodOptions(UpdateType.UPDATE, pod), now)

    # -- facts

    def observe(self, fact: RuntimeFact, now: datetime) -> None:
        """Process a fact of the container runtime."""
        match fact:
            case OperationFinished():
                self.runner.finish(fact, now)
            case OperationProgress():
                pass  # only shown
            case Relisted():
                self._handle_relist(fact, now)
            case RelistFailed(error):
                self.relists.on_relist_failed(error, now)
            case RuntimeChanged():
                self.relists.request(now)
            case ImagesListed():
                self.health.on_images_listed(fact, now)
            case RuntimeStatusRead():
                before = self.health.network_error
                self.health.on_status_read(fact, now)
                if self.health.network_error != before:
                    self.changed_pods.update(self.pods)
                self.workers.run_ready(now)

    def _handle_relist(self, relisted: Relisted, now: datetime) -> None:
        before = self.in_runtime
        self.in_runtime = {pod.pod_uid: pod for pod in relisted.pods}
        for uid, status in self.in_runtime.items():
            if status is not before.get(uid):
                self.runtime.lifecycle.journal_exits(uid, status.containers, now)
        changed: dict[str, None] = {}
        for event in self._pleg.relist(relisted.pods, relisted.started_at):
            if event.change is not LifecycleChange.REMOVED:
                changed[event.pod_uid] = None
            self._handle_lifecycle_event(event, before.get(event.pod_uid), now)
        self.relists.on_relisted(relisted.started_at, now)
        for uid, removed_at in tuple(self._removed_at.items()):
            if removed_at < relisted.started_at:
                del self._removed_at[uid]
        for uid in changed:
            self.sync(uid, now)
        self.workers.run_ready(now)
        self.runner.resume_released(now)

    def _handle_lifecycle_event(
        self, event: PodLifecycleEvent, before: RuntimePodStatus | None, now: datetime
    ) -> None:
        """Journal removed instances; of a dead one, remove older dead instances."""
        status = self.in_runtime.get(event.pod_uid)
        if event.change is LifecycleChange.DIED and status is not None:
            names = [
                container.name
                for container in status.containers
                if container.container_id == event.container_id
            ]
            self._container_gc.remove_surplus(status, names, now)
        if event.change is LifecycleChange.REMOVED and before is not None:
            for container in before.containers:
                if container.container_id == event.container_id:
                    self.runtime.lifecycle.removed(event.pod_uid, container, now)

    # -- time

    def run_due(self, now: datetime) -> None:
        """Run everything due: periodic tasks, syncs, probes and their consequences."""
        if self.due_at <= now:
            while (task := self._timers.pop_due(now)) is not None:
                self._run_task(task, now)
            self._run_pending(now)
        self.probes.scheduler.run_due(now)
        while self._handle_probe_results(now):
            self._run_pending(now)
            self.probes.scheduler.run_due(now)

    def _run_task(self, what: PeriodicTask, now: datetime) -> None:
        match what:
            case PeriodicTask.SYNC:
                self._sync_due(now)
                self._timers.set(what, now + self.config.sync_tick)
            case PeriodicTask.HOUSEKEEPING:
                self._handle_pod_cleanups(now)
                self._timers.set(
                    PeriodicTask.HOUSEKEEPING, now + self.config.housekeeping_tick
                )
            case PeriodicTask.GARBAGE:
                self._collect_garbage(now)
                self._timers.set(
                    PeriodicTask.GARBAGE, now + self.config.container_gc_period
                )

    def _collect_garbage(self, now: datetime) -> None:
        for uid, status in self.in_runtime.items():
            if uid in self.pods:
                names = dict.fromkeys(container.name for container in status.containers)
                self._container_gc.remove_surplus(status, names, now)

    def _sync_due(self, now: datetime) -> None:
        while (uid := self.workers.queue.pop_due(now)) is not None:
            self.sync(uid, now)
        for uid, pod in self.pods.items():
            status = self.statuses.get(uid)
            if pod.active_deadline_seconds is None or status is None:
                continue
            if past_active_deadline(pod, status, now) and not status.phase.is_terminal:
                self.sync(uid, now)

    def _handle_pod_cleanups(self, now: datetime) -> None:
        """Reconcile workers, probes and the runtime with the known pods.

        Source: kubelet_pods.go, v1.32.10, HandlePodCleanups.
        """
        if not self.sources_ready():
            return
        configured = {
            uid: pod for uid, pod in self.pods.items() if uid not in self._dropped
        }
        self.workers.sync_known_pods(configured, now)
        self.probes.cleanup_pods(
            {
                uid
                for uid in self.workers.uids()
                if not self.workers.is_known_terminated(uid)
            }
        )
        for uid in self._dropped:
            self._dropped[uid] = self.last_status(uid)
        self.statuses.remove_orphans(configured)
        for uid in tuple(self._to_recreate):
            if not self.workers.has_worker(uid):
                update = self._to_recreate.pop(uid)
                self.add_pod(update.pod, now, waits_for_name=update.is_static)
        self._end_orphans(now)
        for uid in tuple(self.pods):
            if self._is_unwanted(uid) and self.workers.should_be_finished(uid):
                self._remove_content(uid, now)
        self.runtime.backoff.gc(now)

    def _is_unwanted(self, pod_uid: str) -> bool:
        """Return whether nothing of a pod is to stay once it has finished.

        The worker of one that had finished before it was deleted does not know it.
        """
        return (
            pod_uid in self._to_recreate
            or self.pods[pod_uid].deletion_requested_at is not None
            or self.workers.should_content_be_removed(pod_uid)
        )

    def _end_orphans(self, now: datetime) -> None:
        """Kill running containers of unknown pods; remove pods that no longer run."""
        for uid, status in tuple(self.in_runtime.items()):
            if uid in self.pods or self.workers.has_worker(uid):
                continue
            if status.running():
                self.workers.update(
                    UpdatePodOptions(
                        UpdateType.KILL,
                        orphan_pod(status),
                        is_runtime_only=True,
                        grace_period_override=ORPHAN_GRACE_PERIOD_SECONDS,
                    ),
                    now,
                )
            else:
                self._remove_content(uid, now)

    # -- syncs

    def _run_pending(self, now: datetime) -> None:
        """Run everything possible at this instant except probes."""
        self.relists.run_due(now)
        self.health.run_due(now)
        self._volumes.cancel_waits(self.workers.is_cancelled)
        self.runner.resume_released(now)
        self._volumes.run_due(now)
        self.runner.run_due(now)
        deadlines = (
            self._timers.next_deadline(),
            self.relists.due_at,
            self.health.next_deadline(),
            self._volumes.next_deadline(),
            self.runner.next_deadline(),
        )
        self.due_at = min(deadline for deadline in deadlines if deadline is not None)

    def _handle_probe_results(self, now: datetime) -> bool:
        """Handle changed probe results; return False if there were none."""
        some = False
        for probe_type, results in self.probes.results.items():
            if not results.updates:
                continue
            some = True
            for update in results.take_updates():
                self._handle_probe_sync(probe_type, update, now)
        return some

    def _handle_probe_sync(
        self, probe_type: ProbeType, update: ResultUpdate, now: datetime
    ) -> None:
        """Handle a changed probe result.

        Source: kubelet.go, v1.32.10, syncLoopIteration, handleProbeSync.
        """
        pod = self.pods.get(update.pod_uid)
        if pod is None:
            return
        old = self.statuses.get(pod.uid)
        believed = update.result is Result.SUCCESS
        new = old
        match probe_type:
            case ProbeType.LIVENESS:
                if update.result is not Result.FAILURE:
                    return
            case ProbeType.READINESS:
                new = self.statuses.set_container_readiness(
                    pod, update.container_id, now, ready=believed
                )
            case ProbeType.STARTUP:
                new = self.statuses.set_container_startup(
                    pod, update.container_id, now, started=believed
                )
        self._pod_sync.journal_changes(pod, new, old, now)
        if self.config.rules.results_wake_pod or probe_type is ProbeType.LIVENESS:
            self.sync(pod.uid, now)

    def sync(self, pod_uid: str, now: datetime) -> None:
        """Ask the worker of a known pod to sync it."""
        pod = self.pods.get(pod_uid)
        if pod is not None:
            self.workers.update(UpdatePodOptions(UpdateType.SYNC, pod), now)

    def _start_call(self, call: SyncCall, now: datetime) -> None:
        """Start a pod worker's call."""
        uid = call.pod.uid

        def done(result: CallOutcome, at: datetime) -> None:
            self.workers.finish(uid, result, at)
            self.changed_pods.add(uid)
            if self.workers.should_be_finished(uid):
                self._pod_has_ended(uid, at)

        self.changed_pods.add(uid)
        self.runner.start(uid, self._pod_sync.routine(call, now), done, now)

    def _has_fresh_status(self, pod_uid: str, since: datetime | None) -> bool:
        """Return whether the cached status of a pod is newer than its last sync.

        For a first sync, it must be newer than the end of an earlier pod of that UID.
        While the runtime is not ready, no status is fresh enough: no pod is synced.
        """
        if not self.health.syncs_pods:
            return False
        instant = since or self._removed_at.get(pod_uid) or self._long_before
        return self.cache.get_newer_than(pod_uid, instant) is not None

    def _is_idle(self, pod_uid: str) -> bool:
        status = self.cache.get(pod_uid)
        return not any(sandbox.is_ready for sandbox in status.sandboxes) and not any(
            container.state is RuntimeState.RUNNING for container in status.containers
        )

    # -- the end of pods

    def _pod_has_ended(self, pod_uid: str, now: datetime) -> None:
        if pod_uid not in self.pods:
            return
        self.turn.write(PodGoneEntry(self.turn.next_sequence(), now, pod_uid))
        is_deleted = self.pods[pod_uid].deletion_requested_at is not None
        if is_deleted or pod_uid in self._dropped or pod_uid in self._to_recreate:
            self._remove_content(pod_uid, now)

    def _remove_content(self, pod_uid: str, now: datetime) -> None:
        self._container_gc.remove_content(pod_uid, self.in_runtime.get(pod_uid), now)

    def _remove_pod(self, pod_uid: str, now: datetime) -> None:
        self._removed_at[pod_uid] = now
        self.pods.pop(pod_uid, None)
        self.workers.changes += 1
        self._dropped.pop(pod_uid, None)
        self.in_runtime.pop(pod_uid, None)
        self.runtime.syncer.forget_pod(pod_uid)
        self.statuses.remove(pod_uid)
        self._volumes.forget(pod_uid)
        self.runtime.lifecycle.forget_pod(pod_uid)
        self._on_pod_removed(pod_uid)


def _created_at(sourced: SourcedPod) -> datetime:
    """Return when a pod was created; a pod from a file sorts first."""
    return sourced.pod.created_at or datetime.min.replace(tzinfo=UTC)


def orphan_pod(status: RuntimePodStatus) -> Pod:
    """Return a pod for a status at the runtime without a known definition."""
    names = dict.fromkeys(container.name for container in status.containers)
    return Pod(
        status.pod_uid,
        status.name,
        status.namespace or "default",
        restart_policy=RestartPolicy.NEVER,
        containers=tuple(Container(name) for name in names),
    )
