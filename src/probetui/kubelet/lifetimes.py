"""Who asked for which container's end, and with how much grace.

The kubelet writes this into its log and forgets it; here it is kept, so that the
screen can say why a container ended.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimeContainerStatus, RuntimeState
from probetui.kubelet.grace_period import GracePeriod
from probetui.kubelet.journal import By, ContainerEntry, Lifecycle
from probetui.kubelet.snapshot import LastExit, StoppingSnapshot
from probetui.kubelet.turn import Ledger

SIGNAL_BASE = 128
LAST_SIGNAL = 64


class Lifetimes:
    """The lives of container instances as far as they are told; owned by the engine.

    What ended before `began_at` is not told: it belongs to an earlier run.
    """

    def __init__(self, ledger: Ledger, began_at: datetime | None = None) -> None:
        self._ledger = ledger
        self._began_at = began_at
        self._stopping: dict[ContainerID, StoppingSnapshot] = {}
        self._signalled: set[ContainerID] = set()
        self._ended: set[ContainerID] = set()
        self._last_exits: dict[tuple[str, str], LastExit] = {}

    def created(
        self,
        pod: Pod,
        name: str,
        container_id: ContainerID,
        attempt: int,
        now: datetime,
    ) -> None:
        """Tell that an instance was created."""
        self._write(pod, name, container_id, attempt, Lifecycle.CREATED, now)

    def started(
        self,
        pod: Pod,
        name: str,
        container_id: ContainerID,
        attempt: int,
        now: datetime,
    ) -> None:
        """Tell that an instance was started."""
        self._write(pod, name, container_id, attempt, Lifecycle.STARTED, now)

    def stopping(
        self,
        pod: Pod,
        instance: RuntimeContainerStatus,
        by: By,
        grace_period_seconds: int,
        grace_source: str,
        now: datetime,
    ) -> None:
        """Tell that an instance is being stopped.

        The first to ask counts as asker. Whoever grants the least time has it end:
        the runtime is told of each, and the first SIGKILL is the last.
        """
        known = self._stopping.get(instance.container_id)
        asked = StoppingSnapshot(
            now, grace_period_seconds, grace_source, by if known is None else known.by
        )
        if known is None or _kills_at(asked) < _kills_at(known):
            self._stopping[instance.container_id] = asked
        self._ledger.write(
            ContainerEntry(
                self._ledger.next_sequence(),
                now,
                pod.uid,
                instance.name,
                instance.container_id,
                instance.restart_count,
                Lifecycle.STOPPING,
                grace_period_seconds=grace_period_seconds,
                grace_source=grace_source,
                by=by,
            )
        )

    def would_stop(
        self,
        pod: Pod,
        instance: RuntimeContainerStatus,
        by: By,
        grace: GracePeriod,
        why: str,
        now: datetime,
    ) -> None:
        """Tell that an instance would be stopped, which it is not."""
        self._ledger.write(
            ContainerEntry(
                self._ledger.next_sequence(),
                now,
                pod.uid,
                instance.name,
                instance.container_id,
                instance.restart_count,
                Lifecycle.WOULD_STOP,
                grace_period_seconds=grace.seconds,
                grace_source=grace.source.value,
                by=by,
                reason=why,
            )
        )

    def would_start(
        self, pod: Pod, newest: RuntimeContainerStatus, now: datetime
    ) -> None:
        """Tell that a container would be started again, which it is not."""
        self._write(
            pod,
            newest.name,
            newest.container_id,
            newest.restart_count + 1,
            Lifecycle.WOULD_START,
            now,
        )

    def signalled(self, container_id: ContainerID) -> None:
        """Take in that a person sends a signal: the next end is that person's doing."""
        self._signalled.add(container_id)

    def exited(
        self, pod_uid: str, instance: RuntimeContainerStatus, now: datetime
    ) -> None:
        """Tell, once, that an instance has ended."""
        if instance.container_id in self._ended:
            return
        self._ended.add(instance.container_id)
        stopping = self._stopping.pop(instance.container_id, None)
        by = By.ITSELF if stopping is None else stopping.by
        if stopping is None and instance.container_id in self._signalled:
            by = By.USER
        self._signalled.discard(instance.container_id)
        code = instance.exit_code
        signal = code - SIGNAL_BASE if 0 < code - SIGNAL_BASE <= LAST_SIGNAL else None
        self._ledger.write(
            ContainerEntry(
                self._ledger.next_sequence(),
                now,
                pod_uid,
                instance.name,
                instance.container_id,
                instance.restart_count,
                Lifecycle.EXITED,
                exit_code=code,
                signal=signal,
                oom_killed=instance.oom_killed,
                grace_period_seconds=(
                    None if stopping is None else stopping.grace_period_seconds
                ),
                grace_source="" if stopping is None else stopping.grace_source,
                by=by,
                reason=instance.reason,
            )
        )
        self._last_exits[pod_uid, instance.name] = LastExit(
            instance.finished_at or now,
            code,
            by,
            instance.reason,
            instance.oom_killed,
            instance.container_id,
        )

    def removed(
        self, pod_uid: str, instance: RuntimeContainerStatus, now: datetime
    ) -> None:
        """Tell that an instance is gone from the runtime, which it may not have left.

        Nobody knows how one ended that ran when it was last seen.
        """
        is_unexpected = (
            instance.state is RuntimeState.RUNNING
            and instance.container_id not in self._ended
            and instance.container_id not in self._stopping
        )
        self._ended.discard(instance.container_id)
        self._stopping.pop(instance.container_id, None)
        self._ledger.write(
            ContainerEntry(
                self._ledger.next_sequence(),
                now,
                pod_uid,
                instance.name,
                instance.container_id,
                instance.restart_count,
                Lifecycle.GONE if is_unexpected else Lifecycle.REMOVED,
            )
        )

    def stopping_of(self, container_id: ContainerID) -> StoppingSnapshot | None:
        """Return who is stopping an instance, None if nobody is."""
        return self._stopping.get(container_id)

    def last_exit(self, pod_uid: str, name: str) -> LastExit | None:
        """Return how the last instance of a container ended that did."""
        return self._last_exits.get((pod_uid, name))

    def look_at(
        self, pod_uid: str, instances: tuple[RuntimeContainerStatus, ...], now: datetime
    ) -> None:
        """Tell of the ends among these instances that were not told yet."""
        for each in reversed(instances):
            if each.state is not RuntimeState.EXITED:
                continue
            if each.container_id not in self._ended:
                if self._is_of_an_earlier_run(each):
                    self._ended.add(each.container_id)
                self.exited(pod_uid, each, now)

    def _is_of_an_earlier_run(self, instance: RuntimeContainerStatus) -> bool:
        return (
            self._began_at is not None
            and instance.finished_at is not None
            and instance.finished_at < self._began_at
        )

    def forget_pod(self, pod_uid: str) -> None:
        """Drop what is kept of a pod that is gone."""
        for key in [each for each in self._last_exits if each[0] == pod_uid]:
            del self._last_exits[key]

    def _write(
        self,
        pod: Pod,
        name: str,
        container_id: ContainerID,
        attempt: int,
        what: Lifecycle,
        now: datetime,
    ) -> None:
        self._ledger.write(
            ContainerEntry(
                self._ledger.next_sequence(),
                now,
                pod.uid,
                name,
                container_id,
                attempt,
                what,
            )
        )


def _kills_at(stopping: StoppingSnapshot) -> datetime:
    return stopping.since + timedelta(seconds=stopping.grace_period_seconds)
