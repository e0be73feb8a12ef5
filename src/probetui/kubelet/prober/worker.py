"""Probe workers: whether a tick probes, and how results are counted.

The kubelet's `doProbe` is one function around a blocking call; here it is split at that
call: `decide` before it, `record` after it.

Source: prober/worker.go, v1.32.10, doProbe, newWorker.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import NO_CONTAINER, ContainerID, parse_container_id
from probetui.k8s.status import ContainerStatus, PodStatus, Running, Terminated
from probetui.kubelet.journal import Exit, Skip, TickAction
from probetui.kubelet.kuberuntime.restart import is_restarted_after, should_restart_all
from probetui.kubelet.outcome import INITIAL_RESULT, Result
from probetui.kubelet.prober.gates import TickFacts
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

ONE_SECOND = timedelta(seconds=1)
NO_TIME = timedelta()
_START_GRACE = timedelta(seconds=10)
"""A container that is older than the kubelet by this much started before it."""

HOLDS_AFTER = {
    ProbeType.LIVENESS: frozenset({Result.FAILURE}),
    ProbeType.READINESS: frozenset[Result](),
    ProbeType.STARTUP: frozenset(Result),
}
"""After which stored results a worker goes on hold."""


class ProbeNow(Struct, frozen=True):
    """The decision to probe this container."""

    container_id: ContainerID


Decision = ProbeNow | Skip | Exit


class RecordedResult(Struct, frozen=True):
    """The effect of recording one result.

    `stored` says that the threshold was reached and the result went to the results
    manager (where only a change has consequences); `withheld` that it was reached, and
    the result is not to be stored.
    """

    run: int
    threshold: int
    stored: bool
    withheld: bool = False


def outlives_kubelet(
    container: ContainerStatus, kubelet_started_at: datetime | None, rules: KubeletRules
) -> bool:
    """Return whether a container started before the kubelet, if the rules ask.

    Source: prober/prober_manager.go, v1.36.2, kubeletRestartGracePeriod.
    """
    state = container.state
    if not isinstance(state, Running) or state.started_at is None:
        return False
    return (
        kubelet_started_at is not None
        and state.started_at < kubelet_started_at - _START_GRACE
        and rules.keeps_ready_over_restart
    )


class Worker:
    """The state of one worker; owned by the probe manager.

    `pod` is replaced when the pod's definition changes; `container` and `probe` stay
    what they were when the worker was made, as in the kubelet; only the timing of
    `probe` may be changed by the hooks. `kubelet_started_at` is None where it does not
    matter.
    """

    __slots__ = (
        "considered",
        "container",
        "container_id",
        "holds_after",
        "initial_result",
        "key",
        "kubelet_started_at",
        "last_result",
        "new_container",
        "on_hold",
        "pod",
        "probe",
        "result_run",
        "rules",
    )

    def __init__(
        self,
        key: ProbeKey,
        pod: Pod,
        container: Container,
        probe: Probe,
        *,
        rules: KubeletRules = PORTED_RULES,
        kubelet_started_at: datetime | None = None,
    ) -> None:
        self.key = key
        self.kubelet_started_at = kubelet_started_at
        self.pod = pod
        self.container = container
        self.probe = probe
        self.rules = rules
        self.initial_result = INITIAL_RESULT[key.probe_type]
        self.holds_after = HOLDS_AFTER[key.probe_type]
        if Result.SUCCESS in self.holds_after and not rules.holds_after_startup_success:
            self.holds_after -= {Result.SUCCESS}
        self.container_id = NO_CONTAINER
        self.last_result = Result.SUCCESS
        self.result_run = 0
        self.on_hold = False
        self.new_container = False
        """Whether the last `decide` was the first to see its container."""
        self.considered = TickFacts()
        """The facts that the last `decide` checked, for the screen and the record."""

    @property
    def period(self) -> timedelta:
        """The interval between two ticks."""
        return timedelta(seconds=self.probe.period_seconds)

    def decide(
        self, status: PodStatus | None, results: ResultsManager, now: datetime
    ) -> Decision:
        """Decide what this tick does; the checks are in the kubelet's order.

        `status` is the pod's status as the status manager holds it, None if it has
        none. Initial results, and those of containers that do not run, are stored.

        Quirk, kept: a new container lifts the hold but does not reset `result_run`.
        Quirk, kept: liveness and startup of a container that is not running become
        Failure too, without an event.
        """
        self.new_container = False
        if status is None:
            self.considered = TickFacts()
            return Skip.NO_STATUS
        if status.phase.is_terminal:
            self.considered = TickFacts(status.phase)
            return Exit.POD_ENDED
        container = self.find_container(status)
        if container is None:
            self.considered = TickFacts(status.phase)
            return Skip.CONTAINER_MISSING
        if self._is_new(container):
            self._adopt_container(container, results)
        decision, age_seconds = self._pass_gates(
            container, status, now, on_hold=self.on_hold
        )
        if decision is Skip.NOT_RUNNING or decision is Exit.CONTAINER_WILL_NOT_RESTART:
            if self.container_id:
                results.set(self.container_id, Result.FAILURE, self.key.pod_uid)
        elif decision is Exit.POD_DELETED:
            results.set(self.container_id, Result.SUCCESS, self.key.pod_uid)
        delay_seconds = self.probe.initial_delay_seconds
        if age_seconds is not None and age_seconds > delay_seconds:
            age_seconds = delay_seconds
        self.considered = TickFacts(
            status.phase,
            container,
            self.container_id,
            self.new_container,
            self.on_hold,
            self.pod.deletion_requested_at is not None,
            delay_seconds,
            age_seconds,
        )
        return decision

    def foresee(self, status: PodStatus | None, at: datetime) -> Skip | Exit | None:
        """Return why a tick at an instant would not probe, None if it would.

        Nothing changes by it.
        """
        if status is None:
            return Skip.NO_STATUS
        if status.phase.is_terminal:
            return Exit.POD_ENDED
        container = self.find_container(status)
        if container is None:
            return Skip.CONTAINER_MISSING
        on_hold = self.on_hold and not self._is_new(container)
        decision, _ = self._pass_gates(container, status, at, on_hold=on_hold)
        return None if isinstance(decision, ProbeNow) else decision

    def record(
        self, result: Result, results: ResultsManager, *, stores: bool = True
    ) -> RecordedResult:
        """Count a result; store it at its threshold, unless a hook withholds it.

        Quirk, kept: a startup worker goes on hold after any stored result, a liveness
        worker only after Failure; both then restart their count.
        """
        if result is self.last_result:
            self.result_run += 1
        else:
            self.last_result = result
            self.result_run = 1
        run = self.result_run
        threshold = self.threshold(result)
        if run < threshold or not stores:
            return RecordedResult(
                run, threshold, stored=False, withheld=run >= threshold
            )
        results.set(self.container_id, result, self.key.pod_uid)
        if result in self.holds_after:
            self.on_hold = True
            self.result_run = 0
        return RecordedResult(run, threshold, stored=True)

    def would_kill(self, result: Result) -> bool:
        """Return whether `record` would make the kubelet stop the container."""
        if result is not Result.FAILURE:
            return False
        if self.key.probe_type is ProbeType.READINESS:
            return False
        run = self.result_run + 1 if result is self.last_result else 1
        return run >= self.threshold(result)

    def threshold(self, result: Result) -> int:
        """Return the number of consecutive results needed to store `result`."""
        if result is Result.FAILURE:
            return self.probe.failure_threshold
        return self.probe.success_threshold

    def find_container(self, status: PodStatus) -> ContainerStatus | None:
        """Return the status of this worker's container, None before it has an ID."""
        statuses = status.statuses_of(self.key.container_name)
        return next(
            (
                container_status
                for container_status in statuses
                if container_status.container_id
            ),
            None,
        )

    def _is_new(self, container: ContainerStatus) -> bool:
        return (self.container_id or "://") != container.container_id

    def _adopt_container(
        self, container: ContainerStatus, results: ResultsManager
    ) -> None:
        if self.container_id:
            results.remove(self.container_id)
        self.container_id = parse_container_id(container.container_id)
        if not outlives_kubelet(container, self.kubelet_started_at, self.rules):
            results.set(self.container_id, self.initial_result, self.key.pod_uid)
        self.on_hold = False
        self.new_container = True

    def _pass_gates(
        self,
        container: ContainerStatus,
        status: PodStatus,
        now: datetime,
        *,
        on_hold: bool,
    ) -> tuple[Decision, int | None]:
        """Return the decision, and the container's age if it was checked."""
        if on_hold:
            return Skip.ON_HOLD, None
        state = container.state
        if not isinstance(state, Running):
            if isinstance(state, Terminated) and self._ends_after(state, status):
                return Exit.CONTAINER_WILL_NOT_RESTART, None
            return Skip.NOT_RUNNING, None
        if (
            self.rules.stops_liveness_on_deletion
            and self.pod.deletion_requested_at is not None
            and self.key.probe_type is not ProbeType.READINESS
        ):
            return Exit.POD_DELETED, None
        if state.started_at is None:
            # Go's age of the zero time is the most negative one: it never passes.
            return Skip.INITIAL_DELAY, None
        age_seconds = whole_seconds(now - state.started_at)
        return self.pass_time_gates(container, age_seconds), age_seconds

    def pass_time_gates(self, container: ContainerStatus, age_seconds: int) -> Decision:
        """Decide by the initial delay and the startup state of the container."""
        if age_seconds < self.probe.initial_delay_seconds:
            return Skip.INITIAL_DELAY
        if self.key.probe_type is ProbeType.STARTUP:
            if container.started:
                return Skip.ALREADY_STARTED
        elif self.rules.reports_started and not container.started:
            return Skip.NOT_STARTED
        return ProbeNow(self.container_id)

    def _ends_after(self, state: Terminated, status: PodStatus) -> bool:
        """Return whether the container will not be restarted after this exit.

        Quirk, kept: without restart rules of containers, only the pod's policy Never
        ends a worker, whatever the exit code was.

        Source: prober/worker.go, v1.32.10, v1.36.2, doProbe.
        """
        if self.rules.container_restart_rules:
            return not (
                is_restarted_after(self.pod, self.container, state.exit_code)
                or should_restart_all(self.pod, None, status)
            )
        if self.pod.restart_policy is not RestartPolicy.NEVER:
            return False
        return (
            self.rules.sidecar_workers_end_with_never or not self.container.is_sidecar
        )


def whole_seconds(age: timedelta) -> int:
    """Truncate a duration to whole seconds, towards zero.

    Quirk, kept: an age of 4.999 s has not passed a delay of 5 s, and a start less than
    a second in the future counts as now.
    """
    if age < NO_TIME:
        return -(-age // ONE_SECOND)
    return age // ONE_SECOND


def tick_action(
    probe_type: ProbeType,
    result: Result | None,
    recorded: RecordedResult,
    stored_before: Result | None,
    *,
    kills: bool,
    is_deleted: bool,
) -> TickAction:
    """Return the action after a tick; an unchanged result has none.

    `kills` is false where a kill is only journalled. Nothing is killed by a probe in a
    pod that is being deleted: its sync never looks at results.

    Source: kubelet.go, v1.32.10, syncLoopIteration.
    """
    if result is None:
        return TickAction.DISCARDED
    if not recorded.stored and not recorded.withheld:
        return TickAction.NONE
    if result is stored_before and result is not Result.FAILURE:
        return TickAction.NONE
    action = _consequence(probe_type, result, stored_before, kills=kills)
    if is_deleted and action in {TickAction.KILL, TickAction.WOULD_KILL}:
        return TickAction.NONE
    return (
        TickAction.MUTED
        if recorded.withheld and action is not TickAction.NONE
        else action
    )


def _consequence(
    probe_type: ProbeType,
    result: Result,
    stored_before: Result | None,
    *,
    kills: bool,
) -> TickAction:
    """Return the consequence of a stored result."""
    failed = result is Result.FAILURE
    if failed and probe_type is not ProbeType.READINESS:
        return TickAction.KILL if kills else TickAction.WOULD_KILL
    if result is stored_before or probe_type is ProbeType.LIVENESS:
        return TickAction.NONE
    if probe_type is ProbeType.STARTUP:
        return TickAction.STARTED
    return TickAction.NOT_READY if failed else TickAction.READY
