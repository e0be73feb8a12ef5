"""One container at an instant: what its manifest and the journal until then tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property

from probetui.analysis.causes.cause import (
    NO_EVIDENCE,
    Cause,
    CauseSubject,
    Evidence,
)
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import (
    FAILED_POST_START,
    PULLING,
    ContainerHistory,
    ContainerInstance,
    PodHistory,
    SessionHistory,
)
from probetui.analysis.readiness import NotReady, instance_not_ready
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import parse_container_id
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodStatus,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    HookType,
    StateEntry,
    TickEntry,
    UnfinishedTickEntry,
)
from probetui.kubelet.kuberuntime.restart import restarts_all_after
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import KubeletRules

_NO_PODS: Mapping[str, Pod] = {}
_NO_STATUS = PodStatus()


class WhyCase:
    """A container of a pod at an instant.

    Args:
        pod: its manifest.
        container: its definition.
        past: the journal until the instant.
        now: the instant.
        rules: those of the kubelet's version.
        pods: all pods of the session by UID, as one may wait for another of its name.
        next_pull_at: when the back-off of its image is over, if that is known.
        explain: returns the cause of a case, as one may be because of another.
    """

    def __init__(
        self,
        pod: Pod,
        container: Container,
        past: SessionHistory,
        now: datetime,
        rules: KubeletRules,
        pods: Mapping[str, Pod] = _NO_PODS,
        next_pull_at: datetime | None = None,
        *,
        explain: Callable[[WhyCase], Cause],
    ) -> None:
        self._explain = explain
        self.pod = pod
        self.container = container
        self.past = past
        self.now = now
        self.rules = rules
        self.pods = pods
        self.next_pull_at = next_pull_at

    def of(self, container: Container) -> WhyCase:
        """Return the case of another container of the pod."""
        return WhyCase(
            self.pod,
            container,
            self.past,
            self.now,
            self.rules,
            self.pods,
            explain=self._explain,
        )

    @cached_property
    def why(self) -> Cause:
        """Why the container is as it is."""
        return self._explain(self)

    @cached_property
    def others(self) -> tuple[WhyCase, ...]:
        """The cases of the other containers of the pod, in its order."""
        return tuple(
            self.of(other)
            for other in self.pod.all_containers()
            if other.name != self.container.name
        )

    @cached_property
    def earlier(self) -> tuple[WhyCase, ...]:
        """The cases of the containers that are started before it, in order."""
        order = tuple(self.pod.all_containers())
        return tuple(map(self.of, order[: self._place]))

    @cached_property
    def later(self) -> tuple[WhyCase, ...]:
        """The cases of the containers that are started after it, in order."""
        order = tuple(self.pod.all_containers())
        return tuple(map(self.of, order[self._place + 1 :]))

    @cached_property
    def _place(self) -> int:
        """The number of the container in its pod, of which secrets may be masked.

        One that is not started with the others, as an ephemeral one, is after them.
        """
        names = self.pod.container_names()
        name = self.container.name
        return names.index(name) if name in names else len(names)

    def cause(
        self,
        kind: CauseKind,
        since: datetime | None = None,
        because: Cause | None = None,
        quirk: CauseKind | None = None,
        *,
        probe: ProbeType | None = None,
        hook: HookType | None = None,
        name: str = "",
        evidence: Evidence = NO_EVIDENCE,
    ) -> Cause:
        """Return a cause about this container."""
        subject = CauseSubject(self.container.name, probe, hook, name)
        return Cause(kind, subject, since, evidence, because, quirk)

    # -- the pod

    @cached_property
    def pod_history(self) -> PodHistory:
        """The history of the pod."""
        return self.past.pod(self.pod.uid, self.pod.name)

    @property
    def pod_status(self) -> PodStatus:
        """The newest status of the pod."""
        return self.pod_history.status or _NO_STATUS

    @property
    def deleted_at(self) -> datetime | None:
        """When the pod was deleted, None if it was not."""
        deletion = self.pod_history.deletion
        if deletion is not None:
            return deletion.at
        if self.pod.deletion_requested_at is not None:
            return self.pod.deletion_requested_at
        return next(
            (
                last.stopping.at
                for case in (self, *self.others)
                if (last := case.last) is not None
                and last.stopping is not None
                and last.stopping.by is ExitCause.DELETE
            ),
            None,
        )

    @property
    def is_over(self) -> bool:
        """Whether nothing of the pod will run any more."""
        gone_at = self.pod_history.gone_at
        return gone_at is not None or self.pod_status.phase.is_terminal

    # -- the container

    @cached_property
    def history(self) -> ContainerHistory:
        """The history of the container."""
        return self.past.container(self.pod.uid, self.container.name)

    @property
    def undecided(self) -> ContainerEntry | StateEntry | None:
        """What samples do not decide at the instant, None if they do."""
        undecided = self.past.undecided or {}
        return undecided.get((self.pod.uid, self.container.name))

    @cached_property
    def status(self) -> ContainerStatus | None:
        """The newest status of the container, None before there is one."""
        return self.pod_status.container(self.container.name)

    @property
    def is_in_status(self) -> bool:
        """Whether the newest status is about the newest instance."""
        own = "" if self.status is None else self.status.container_id
        return self.last is not None and self.last.container_id in {
            own,
            parse_container_id(own),
        }

    @property
    def is_ready(self) -> bool:
        """Whether the status says that the newest instance is ready.

        That of a muted probe, or of one that was edited, is no failure.
        """
        return self.status is not None and self.status.ready and self.is_in_status

    @property
    def waiting(self) -> Waiting:
        """The state in which it waits, without a reason if it does not."""
        state = None if self.status is None else self.status.state
        return state if isinstance(state, Waiting) else Waiting()

    @property
    def last(self) -> ContainerInstance | None:
        """The newest instance, None if none was created."""
        instances = self.history.instances
        return instances[-1] if instances else None

    @property
    def is_plain_init(self) -> bool:
        """Whether it is an init container, and no sidecar."""
        return (
            self.container in self.pod.init_containers and not self.container.is_sidecar
        )

    @property
    def is_up(self) -> bool:
        """Whether an instance runs and is not being stopped.

        One that is older than the session was started before it.
        """
        last = self.last
        if last is None or last.end is not None:
            return False
        return last.started_at is not None or last.created_at is None

    @property
    def is_restarted_with_all(self) -> bool:
        """Whether its newest instance ended with all of the pod's, which begin anew."""
        exited = None if self.last is None else self.last.exited
        return exited is not None and (
            exited.by is ExitCause.RESTART_ALL
            or restarts_all_after(self.container, exited.exit_code or 0)
        )

    @property
    def is_pulling(self) -> bool:
        """Whether its image is being pulled."""
        event = self.history.image_event
        return event is not None and event.event.reason == PULLING

    @cached_property
    def not_ready(self) -> NotReady | None:
        """The probe that keeps the newest instance from being ready.

        A plain init container need not be ready, and one that is keeps no pod waiting.
        """
        last = self.last
        if last is None:
            return None
        is_started = self.is_in_status and bool(self.status and self.status.started)
        reason = instance_not_ready(
            self.past, self.pod.uid, self.container, last, is_started=is_started
        )
        is_readiness = reason is not None and reason.probe_type is ProbeType.READINESS
        if is_readiness and (self.is_plain_init or self.is_ready):
            return None
        return reason

    @property
    def has_started_up(self) -> bool:
        """Whether it runs and its startup probe, if it has one, has succeeded."""
        if not self.is_up or self.runs_post_start_hook:
            return False
        reason = self.not_ready
        return reason is None or reason.probe_type is not ProbeType.STARTUP

    @property
    def has_completed(self) -> bool:
        """Whether its newest instance exited with 0."""
        last = self.last
        if last is not None:
            return last.exited is not None and last.exited.exit_code == 0
        # Those that exited before the session, or whose instances were removed.
        state = None if self.status is None else self.status.state
        return isinstance(state, Terminated) and state.exit_code == 0

    @property
    def runs_post_start_hook(self) -> bool:
        """Whether the postStart hook of its newest instance runs.

        The sync of the pod waits for the hook, so that the status that it makes of the
        container comes only after it.
        """
        last = self.last
        if self.container.post_start is None or last is None or not self.is_up:
            return False
        if (hook := last.hook(HookType.POST_START)) is not None:
            return hook.ended_at is None
        # Old records have no hooks, and a hook that only sleeps is none of the runtime.
        if any(self.hook_failures(FAILED_POST_START, last)):
            return False
        if any(later.was_touched_since(last.started_at) for later in self.later):
            return False
        status = self.status
        return status is None or status.container_id != last.container_id

    def was_touched_since(self, instant: datetime | None) -> bool:
        """Return whether the kubelet has done something about it since an instant."""
        if instant is None:
            return False
        image, last = self.history.image_event, self.last
        at = None if last is None else last.created_at
        return (image is not None and image.at >= instant) or (
            at is not None and at >= instant
        )

    def hook_failures(self, reason: str, instance: ContainerInstance) -> Iterator[str]:
        """Yield what was said of the failed hooks of an instance."""
        began = instance.started_at or instance.created_at
        following = self.history.next_after(instance)
        ended = None if following is None else following.created_at
        for failure in self.history.hook_failures:
            is_after = began is None or failure.at >= began
            is_before = ended is None or failure.at <= ended
            if failure.event.reason == reason and is_after and is_before:
                yield failure.event.message

    def newest_tick(self, probe_type: ProbeType) -> TickEntry | None:
        """Return the newest tick of a probe, also one that did not run it."""
        key = ProbeKey(self.pod.uid, self.container.name, probe_type)
        timeline = self.past.timeline(key)
        return timeline.tick(timeline.indexes[-1]) if timeline.indexes else None

    def unfinished_tick(self, probe_type: ProbeType) -> UnfinishedTickEntry | None:
        """Return the tick of a probe that began and has not ended, None without one."""
        newest = self.newest_tick(probe_type)
        for entry in self.history.unfinished:
            is_of_last = self.last and entry.container_id == self.last.container_id
            has_ended = newest and newest.sequence > entry.sequence
            if entry.key.probe_type is probe_type and is_of_last and not has_ended:
                return entry
        return None

    def last_tick(
        self, probe_type: ProbeType, instance: ContainerInstance
    ) -> TickEntry | None:
        """Return the last tick that ran a probe of an instance, None if none did."""
        return next(self.ticks(probe_type, instance), None)

    @property
    def last_ticks(self) -> Iterator[TickEntry]:
        """The last tick of each probe that ran one of the newest instance."""
        if (last := self.last) is not None:
            ticks = (self.last_tick(kind, last) for kind in ProbeType)
            yield from filter(None, ticks)

    def ticks(
        self, probe_type: ProbeType, instance: ContainerInstance
    ) -> Iterator[TickEntry]:
        """Yield the ticks that ran a probe of an instance, the newest first."""
        key = ProbeKey(self.pod.uid, self.container.name, probe_type)
        for tick in self.past.timeline(key).ran_backwards():
            if tick.container_id == instance.container_id:
                yield tick

    def has_started_up_once(self, instance: ContainerInstance) -> bool:
        """Return whether the startup probe of an instance has succeeded."""
        return any(
            tick.stored.after is Result.SUCCESS
            for tick in self.ticks(ProbeType.STARTUP, instance)
        )

    def is_condition_true(self, name: str) -> bool:
        """Return whether a condition of the pod is True."""
        condition = self.pod_status.condition(name)
        return condition is not None and condition.status is ConditionStatus.TRUE
