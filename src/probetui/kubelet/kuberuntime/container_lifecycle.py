"""Container lifecycle: the cause and grace period of each stop.

The kubelet only logs this; here it is kept, so that the screen can show why a container
ended.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import ContainerID, RuntimeContainerStatus, RuntimeState
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    HookEntry,
    HookType,
    LastExit,
    LifecycleStep,
    StoppingSnapshot,
)
from probetui.kubelet.kuberuntime.grace_period import GracePeriod
from probetui.kubelet.runtime.turn import TurnBuilder

SIGNAL_BASE = 128
LAST_SIGNAL = 64


class ContainerLifecycle:
    """Journals the steps in the life of container instances; owned by the kubelet.

    Exits before `began_at` are not journaled: they belong to an earlier run. Hooks that
    sleep are if `keeps_evidence`; the others are effects, which the engine journals.
    """

    def __init__(
        self,
        turn: TurnBuilder,
        began_at: datetime | None = None,
        *,
        keeps_evidence: bool = False,
    ) -> None:
        self._turn = turn
        self._keeps_evidence = keeps_evidence
        self._began_at = began_at
        self._stopping: dict[ContainerID, StoppingSnapshot] = {}
        self._signalled: set[ContainerID] = set()
        self._ended: set[ContainerID] = set()
        self._created: set[ContainerID] = set()
        self._last_exits: dict[tuple[str, str], LastExit] = {}

    def record_step(
        self,
        pod_uid: str,
        name: str,
        container_id: ContainerID,
        restart_count: int,
        step: LifecycleStep,
        now: datetime,
    ) -> None:
        """Journal a step of an instance without further details."""
        if step is LifecycleStep.CREATED:
            self._created.add(container_id)
        sequence = self._turn.next_sequence()
        self._turn.write(
            ContainerEntry(
                sequence, now, pod_uid, name, container_id, restart_count, step
            )
        )

    def hook_sleeps(
        self,
        pod: Pod,
        container: Container,
        container_id: ContainerID,
        hook: HookType,
        started_at: datetime,
        ended_at: datetime | None = None,
    ) -> None:
        """Journal that a hook that sleeps has started, or has slept enough."""
        if self._keeps_evidence:
            self._turn.write(
                HookEntry(
                    self._turn.next_sequence(),
                    ended_at or started_at,
                    pod.uid,
                    container.name,
                    container_id,
                    hook,
                    started_at,
                    ended_at,
                )
            )

    def stopping(
        self,
        pod: Pod,
        instance: RuntimeContainerStatus,
        by: ExitCause,
        grace_period_seconds: int,
        grace_source: str,
        now: datetime,
        reason: str = "",
    ) -> None:
        """Journal that an instance is being stopped, by whom and why.

        The first stop is recorded as the cause. The shortest grace period ends the
        container: each stop goes to the runtime, and the first SIGKILL takes effect.
        """
        known = self._stopping.get(instance.container_id)
        asked = StoppingSnapshot(
            now, grace_period_seconds, grace_source, by if known is None else known.by
        )
        if known is None or _sigkill_at(asked) < _sigkill_at(known):
            self._stopping[instance.container_id] = asked
        self._turn.write(
            replace(
                self._entry(pod.uid, instance, LifecycleStep.STOPPING, now),
                grace_period_seconds=grace_period_seconds,
                grace_source=grace_source,
                by=by,
                reason=reason,
            )
        )

    def would_stop(
        self,
        pod: Pod,
        instance: RuntimeContainerStatus,
        by: ExitCause,
        grace: GracePeriod,
        why: str,
        now: datetime,
    ) -> None:
        """Journal a stop that the action policy suppressed."""
        self._turn.write(
            replace(
                self._entry(pod.uid, instance, LifecycleStep.WOULD_STOP, now),
                grace_period_seconds=grace.seconds,
                grace_source=grace.source.value,
                by=by,
                reason=why,
            )
        )

    def signalled(self, container_id: ContainerID) -> None:
        """Record that the user sent a signal, which causes the next exit."""
        self._signalled.add(container_id)

    def exited(
        self, pod_uid: str, instance: RuntimeContainerStatus, now: datetime
    ) -> None:
        """Journal, once, that an instance has ended."""
        if instance.container_id in self._ended:
            return
        self._ended.add(instance.container_id)
        stopping = self._stopping.pop(instance.container_id, None)
        by = ExitCause.ITSELF if stopping is None else stopping.by
        if stopping is None and instance.container_id in self._signalled:
            by = ExitCause.USER
        self._signalled.discard(instance.container_id)
        code = instance.exit_code
        signal = code - SIGNAL_BASE if 0 < code - SIGNAL_BASE <= LAST_SIGNAL else None
        self._turn.write(
            replace(
                self._entry(pod_uid, instance, LifecycleStep.EXITED, now),
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
        """Journal that an instance has disappeared from the runtime.

        How an instance ended that was last seen running is unknown.
        """
        is_unexpected = (
            instance.state is RuntimeState.RUNNING
            and instance.container_id not in self._ended
            and instance.container_id not in self._stopping
        )
        self._ended.discard(instance.container_id)
        self._created.discard(instance.container_id)
        self._stopping.pop(instance.container_id, None)
        step = LifecycleStep.GONE if is_unexpected else LifecycleStep.REMOVED
        self._turn.write(self._entry(pod_uid, instance, step, now))

    def stopping_of(self, container_id: ContainerID) -> StoppingSnapshot | None:
        """Return the stop of an instance in progress, None without one."""
        return self._stopping.get(container_id)

    def last_exit(self, pod_uid: str, name: str) -> LastExit | None:
        """Return the exit of a container's last ended instance."""
        return self._last_exits.get((pod_uid, name))

    def journal_exits(
        self, pod_uid: str, instances: tuple[RuntimeContainerStatus, ...], now: datetime
    ) -> None:
        """Journal the exits of these instances, unless they are journaled already."""
        for instance in reversed(instances):
            if instance.state is not RuntimeState.EXITED:
                continue
            if instance.container_id not in self._ended:
                if self._is_of_an_earlier_run(instance):
                    self._ended.add(instance.container_id)
                self.exited(pod_uid, instance, now)

    def _is_of_an_earlier_run(self, instance: RuntimeContainerStatus) -> bool:
        # The runtime's clock may have been set back since this run created it.
        return (
            instance.container_id not in self._created
            and self._began_at is not None
            and instance.finished_at is not None
            and instance.finished_at < self._began_at
        )

    def forget_pod(self, pod_uid: str) -> None:
        """Forget a removed pod."""
        for key in [
            last_exit for last_exit in self._last_exits if last_exit[0] == pod_uid
        ]:
            del self._last_exits[key]

    def _entry(
        self,
        pod_uid: str,
        instance: RuntimeContainerStatus,
        step: LifecycleStep,
        now: datetime,
    ) -> ContainerEntry:
        return ContainerEntry(
            self._turn.next_sequence(),
            now,
            pod_uid,
            instance.name,
            instance.container_id,
            instance.restart_count,
            step,
        )


def _sigkill_at(stopping: StoppingSnapshot) -> datetime:
    return stopping.since + timedelta(seconds=stopping.grace_period_seconds)
