"""The volume manager: desired and actual volumes of pods.

The desired state comes from the pods, the actual state from the runtime. Differences
are reconciled, with retries, and syncs wait for that.

Difference: each volume is reconciled at once and by itself; the kubelet does so every
100 ms, unmounts before it mounts, and its waits poll every 300 ms.

Source: kubelet/volumemanager/volume_manager.go, populator/
desired_state_of_world_populator.go, reconciler/reconciler.go; goroutinemap/
exponentialbackoff/exponential_backoff.go; v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct, field

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import UNKNOWN_NODE, Node
from probetui.k8s.volume import Projected, Volume, VolumeFile
from probetui.kubelet.effects import MountVolume, UnmountVolume
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.kubelet.runtime.go_format import go_list, go_quote
from probetui.kubelet.runtime.routines import (
    NOW,
    OneShotEvent,
    Routine,
    RoutineRunner,
    WaitFor,
)
from probetui.kubelet.runtime.timers import Timers
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet.volumes.volume_files import volume_files
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

FAILED_MOUNT = "FailedMount"
WAIT_LIMIT = timedelta(minutes=2, seconds=3)
FIRST_RETRY = timedelta(milliseconds=500)
LAST_RETRY = timedelta(minutes=2, seconds=2)


class VolumeKey(Struct, frozen=True):
    """The identity of a volume: its pod and name."""

    pod_uid: str
    name: str


class MountedVolume(Struct, frozen=True):
    """A mounted volume."""

    volume: Volume
    files: tuple[VolumeFile, ...]


class _PodVolumes(Struct):
    """All volumes of one pod; owned by the manager.

    A finished pod has no `desired` volumes.
    """

    pod: Pod
    desired: dict[str, Volume] = field(default_factory=dict)
    actual: dict[str, MountedVolume] = field(default_factory=dict)
    under_way: set[str] = field(default_factory=set)

    @property
    def is_reconciled(self) -> bool:
        """Whether all volumes are mounted or, for a finished pod, unmounted."""
        if self.desired:
            return self.desired.keys() <= self.actual.keys()
        return not self.actual and not self.under_way


class VolumeManager:
    """Reconciles volumes with pods; owned by the engine.

    Args:
        turn: collects events.
        runner: runs the operations, concurrently with the calls that wait for them.
        objects: the ConfigMaps and Secrets that files are made of.
        node: the facts about the machine that files may hold.
        can_unmount: whether all sources of pods have been heard. Until then nothing is
            unmounted, as a pod that still needs it may be in another source.
        rules: those of the kubelet's version.
    """

    def __init__(
        self,
        turn: TurnBuilder,
        runner: RoutineRunner,
        objects: ObjectStore,
        node: Node = UNKNOWN_NODE,
        can_unmount: Callable[[], bool] = lambda: True,
        rules: KubeletRules = PORTED_RULES,
    ) -> None:
        self._rules = rules
        self._can_unmount = can_unmount
        self._holds_unmounts = False
        self._turn = turn
        self._runner = runner
        self._objects = objects
        self._node = node
        self._pods: dict[str, _PodVolumes] = {}
        self._waits: dict[str, OneShotEvent] = {}
        self._delays: dict[VolumeKey, timedelta] = {}
        self._retries: Timers[VolumeKey] = Timers()

    def wait_for_mounts(self, pod: Pod, now: datetime) -> Routine[bool]:
        """Mount all volumes of a pod's containers; return False on a time-out.

        Files are brought up to date on the way, but not waited for.

        Quirk, kept: since 1.27 no event reports the time-out, only those of the
        attempts do; before, the event names all volumes as unattached.
        """
        names = mounted_names(pod)
        desired = {
            volume.name: volume for volume in pod.volumes if volume.name in names
        }
        if not desired:
            return True
        volumes = self._pods.setdefault(pod.uid, _PodVolumes(pod))
        volumes.pod = pod
        volumes.desired = desired
        is_done = yield from self._reconcile_and_wait(volumes, now)
        ended_at = (yield NOW).at
        if not is_done and ended_at - now >= WAIT_LIMIT and self._rules.mount_wait_text:
            message = self._rules.mount_wait_text.format(
                pod=pod,
                unmounted=go_list(
                    name for name in desired if name not in volumes.actual
                ),
                unattached=go_list(desired),
            )
            self._turn.warning(pod, FAILED_MOUNT, message, ended_at)
        return is_done

    def wait_for_unmounts(self, pod: Pod, now: datetime) -> Routine[bool]:
        """Unmount all volumes of a pod; return False on a time-out."""
        volumes = self._pods.get(pod.uid)
        if volumes is None:
            return True
        volumes.desired = {}
        is_done = yield from self._reconcile_and_wait(volumes, now)
        if is_done:
            self.forget(pod.uid)
        return is_done

    def cancel_waits(self, is_canceled: Callable[[str], bool]) -> None:
        """Release cancelled calls."""
        for uid, event in self._waits.items():
            if is_canceled(uid):
                event.set()

    def mounted(self, pod_uid: str) -> dict[str, MountedVolume]:
        """Return the mounted volumes of a pod, by name."""
        volumes = self._pods.get(pod_uid)
        return {} if volumes is None else dict(volumes.actual)

    def next_deadline(self) -> datetime | None:
        """Return the time of the next retry, or None."""
        return self._retries.next_deadline()

    def run_due(self, now: datetime) -> None:
        """Run due retries, and unmounts that waited for the sources."""
        if self._holds_unmounts and self._can_unmount():
            self._holds_unmounts = False
            for held in tuple(self._pods.values()):
                self._reconcile(held, now)
        while (key := self._retries.pop_due(now)) is not None:
            if (volumes := self._pods.get(key.pod_uid)) is not None:
                self._reconcile(volumes, now)

    def forget(self, pod_uid: str) -> None:
        """Forget a pod."""
        self._pods.pop(pod_uid, None)
        for key in [delay for delay in self._delays if delay.pod_uid == pod_uid]:
            self._reset_retry(key)

    # -- inside

    def _reconcile_and_wait(self, volumes: _PodVolumes, now: datetime) -> Routine[bool]:
        self._reconcile(volumes, now)
        if not volumes.is_reconciled:
            # Only one call per pod waits at a time.
            event = self._waits[volumes.pod.uid] = OneShotEvent()
            yield WaitFor((event,), now + WAIT_LIMIT)
            del self._waits[volumes.pod.uid]
        return volumes.is_reconciled

    def _reconcile(self, volumes: _PodVolumes, now: datetime) -> None:
        """Start the mounts and unmounts that neither run nor wait for a retry.

        Source: reconciler/reconciler.go, v1.32.10, reconcile, readyToUnmount;
        desired_state_of_world_populator.go, Run.
        """
        names = dict.fromkeys((*volumes.desired, *volumes.actual))
        for name in names:
            key = VolumeKey(volumes.pod.uid, name)
            if name in volumes.under_way or self._retries.deadline(key) is not None:
                continue
            if name in volumes.desired:
                self._mount(key, volumes, now)
            elif self._can_unmount():
                self._start_operation(key, volumes, self._unmount(key, volumes), now)
            else:
                self._holds_unmounts = True

    def _mount(self, key: VolumeKey, volumes: _PodVolumes, now: datetime) -> None:
        """Start to mount a volume unless it is mounted with these files already."""
        volume = volumes.desired[key.name]
        files: tuple[VolumeFile, ...] | ConfigRefusal = ()
        if isinstance(volume.source, Projected):
            files = volume_files(volumes.pod, volume.source, self._objects, self._node)
        if isinstance(files, ConfigRefusal):
            self._record_failed_mount(key, volumes.pod, files.message, now)
            return
        desired = MountedVolume(volume, files)
        if volumes.actual.get(key.name) != desired:
            routine = self._mounting(key, volumes, desired, now)
            self._start_operation(key, volumes, routine, now)

    def _start_operation(
        self,
        key: VolumeKey,
        volumes: _PodVolumes,
        routine: Routine[None],
        now: datetime,
    ) -> None:
        def done(_result: None, at: datetime) -> None:
            volumes.under_way.discard(key.name)
            self._reconcile(volumes, at)
            event = self._waits.get(key.pod_uid)
            if event is not None and volumes.is_reconciled:
                event.set()

        volumes.under_way.add(key.name)
        self._runner.start(key.pod_uid, routine, done, now)

    def _mounting(
        self,
        key: VolumeKey,
        volumes: _PodVolumes,
        desired: MountedVolume,
        now: datetime,
    ) -> Routine[None]:
        outcome = yield MountVolume(volumes.pod, desired.volume, desired.files, now)
        if outcome.error is not None:
            self._record_failed_mount(key, volumes.pod, outcome.error, outcome.at)
            return
        volumes.actual[key.name] = desired
        self._reset_retry(key)

    def _unmount(self, key: VolumeKey, volumes: _PodVolumes) -> Routine[None]:
        outcome = yield UnmountVolume(key.pod_uid, key.name)
        if outcome.error is not None:
            self._schedule_retry(key, outcome.at)
            return
        del volumes.actual[key.name]
        self._reset_retry(key)

    def _record_failed_mount(
        self, key: VolumeKey, pod: Pod, error: str, now: datetime
    ) -> None:
        """Record an event for a failed mount and schedule the retry.

        Source: volume/util/operationexecutor/operation_generator.go, v1.32.10,
        GenerateMountVolumeFunc.
        """
        message = f"MountVolume.SetUp failed for volume {go_quote(key.name)} : {error}"
        self._turn.warning(pod, FAILED_MOUNT, message, now)
        self._schedule_retry(key, now)

    def _schedule_retry(self, key: VolumeKey, now: datetime) -> None:
        delay = self._delays.get(key)
        delay = FIRST_RETRY if delay is None else min(2 * delay, LAST_RETRY)
        self._delays[key] = delay
        self._retries.set(key, now + delay)

    def _reset_retry(self, key: VolumeKey) -> None:
        self._delays.pop(key, None)
        self._retries.cancel(key)


def mounted_names(pod: Pod) -> frozenset[str]:
    """Return the names of the volumes that containers mount."""
    return frozenset(
        mount.name
        for container in (*pod.all_containers(), *pod.ephemeral_containers)
        for mount in container.volume_mounts
    )
