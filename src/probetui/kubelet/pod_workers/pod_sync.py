"""SyncPod, SyncTerminatingPod and SyncTerminatedPod: a pod worker's calls.

Source: kubelet.go, v1.32.10, SyncPod, SyncTerminatingPod, SyncTerminatingRuntimePod,
SyncTerminatedPod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import is_static_pod
from probetui.k8s.status import ConditionStatus, PodStatus
from probetui.kubelet.images.image_manager import IMAGE_PULL_BACK_OFF
from probetui.kubelet.images.keyring import find_pull_secrets
from probetui.kubelet.journal import ExitCause, StateEntry, StateField, StatusEntry
from probetui.kubelet.kuberuntime.action_policy import ActionPolicy
from probetui.kubelet.kuberuntime.backoff import CRASH_LOOP_BACK_OFF
from probetui.kubelet.kuberuntime.killing import Killer
from probetui.kubelet.kuberuntime.reason_cache import ReasonCache, StartFailure
from probetui.kubelet.kuberuntime.restart import ALL_CONTAINERS_RESTARTING
from probetui.kubelet.kuberuntime.sync_pod import PodSyncer, PodSyncResult
from probetui.kubelet.object_store import ObjectStore
from probetui.kubelet.pleg.pleg import PodCache
from probetui.kubelet.pod_workers.pod_update import (
    CallOutcome,
    InBackOff,
    SyncCall,
    SyncCallKind,
    SyncCallResult,
)
from probetui.kubelet.prober.prober_manager import ProbeManager
from probetui.kubelet.runtime.routines import NOW, OneShotEvent, Routine, WaitFor
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet.runtime_health import NETWORK_NOT_READY, RuntimeHealth
from probetui.kubelet.status.conditions import (
    READY_TO_START,
    observed_by,
    observed_generation,
    replace_condition,
)
from probetui.kubelet.status.generate import (
    DEADLINE_EXCEEDED,
    DEADLINE_MESSAGE,
    generate_api_pod_status,
    past_active_deadline,
)
from probetui.kubelet.status.status_manager import StatusManager
from probetui.kubelet.volumes.volume_manager import VolumeManager
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

BACK_OFFS = {CRASH_LOOP_BACK_OFF, IMAGE_PULL_BACK_OFF}
A_MOMENT = timedelta(milliseconds=1)
FRESH_STATUS_LIMIT = timedelta(minutes=2)


class PodSync:
    """Creates the routine of each call; owned by the kubelet.

    Args:
        fresh: returns a latch that is set when a relist newer than the instant has
            come; asks for that relist.
        health: the readiness of the runtime's network.
        objects: the ConfigMaps and Secrets.
    """

    def __init__(
        self,
        turn: TurnBuilder,
        probes: ProbeManager,
        statuses: StatusManager,
        cache: PodCache,
        reasons: ReasonCache,
        syncer: PodSyncer,
        killer: Killer,
        fresh: Callable[[datetime], OneShotEvent],
        health: RuntimeHealth,
        volumes: VolumeManager,
        policy: ActionPolicy,
        rules: KubeletRules = PORTED_RULES,
        objects: ObjectStore | None = None,
    ) -> None:
        self._rules = rules
        self._policy = policy
        self._turn = turn
        self._probes = probes
        self._statuses = statuses
        self._cache = cache
        self._reasons = reasons
        self._syncer = syncer
        self._killer = killer
        self._fresh = fresh
        self._health = health
        self._volumes = volumes
        self._objects = objects or ObjectStore()

    def routine(self, call: SyncCall, now: datetime) -> Routine[CallOutcome]:
        """Return the routine of a call."""
        match call.kind:
            case SyncCallKind.SYNC:
                return self._sync_pod(call.pod, now)
            case SyncCallKind.TERMINATING:
                return self._sync_terminating_pod(call, now)
            case SyncCallKind.TERMINATING_RUNTIME:
                return self._sync_terminating_runtime_pod(call, now)
            case SyncCallKind.TERMINATED:
                return self._sync_terminated_pod(call.pod, now)

    def on_sandbox_ready(self, pod: Pod, now: datetime) -> None:
        """Publish that a pod's sandbox runs, before its images are there.

        Source: kubelet.go, v1.36.2, OnPodSandboxReady.
        """
        published = self._statuses.get(pod.uid)
        if published is not None:
            conditions = list(published.conditions)
            generation = observed_generation(pod, self._rules)
            replace_condition(conditions, observed_by(READY_TO_START, generation))
            self._set_pod_status(
                pod, replace(published, conditions=tuple(conditions)), now
            )

    def journal_changes(
        self, pod: Pod, status: PodStatus | None, old: PodStatus | None, now: datetime
    ) -> None:
        """Journal the changes of a published status."""
        if status is None or status is old:
            return
        for change in status_changes(old, status):
            self._turn.write(
                StateEntry(self._turn.next_sequence(), now, pod.uid, *change)
            )
        self._turn.write(StatusEntry(self._turn.next_sequence(), now, pod.uid, status))

    def _sync_pod(self, pod: Pod, now: datetime) -> Routine[CallOutcome]:
        status = self._generate(pod, now)
        self._set_pod_status(pod, status, now)
        if status.phase.is_terminal:
            return SyncCallResult.TERMINAL
        if self._health.network_error and not pod.host_network:
            text = f"{NETWORK_NOT_READY}: {self._health.network_error}"
            self._turn.warning(pod, "NetworkNotReady", text, now)
            return SyncCallResult.NETWORK_NOT_READY
        # The cached status is read before the wait, as in the kubelet.
        in_runtime = self._cache.get(pod.uid)
        has_volumes = yield from self._volumes.wait_for_mounts(pod, now)
        if not has_volumes:
            return SyncCallResult.ERROR
        now = (yield NOW).at
        self._report_pull_secrets(pod, now)
        if not self._rules.probes_from_addition:
            self._probes.add_pod(pod, now)
        restarting = status.condition(ALL_CONTAINERS_RESTARTING)
        restarts_all = restarting is not None and (
            restarting.status is ConditionStatus.TRUE
        )
        result = yield from self._syncer.sync_pod(
            pod, in_runtime, now, restarts_all=restarts_all
        )
        self._remember_reasons(pod, result)
        if self._rules.relists_on_demand and result.has_acted:
            # The next status must have been read after this sync.
            self._fresh((yield NOW).at + A_MOMENT)
        judged = _judge_sync(result)
        until = result.back_off_until
        if self._rules.sleeps_until_back_off_ends and until is not None:
            return InBackOff(until)
        # Without this, a pod of one container would wait for its next resync: the
        # removal of a dead container triggers no sync.
        if result.has_removed and self._rules.syncs_after_reset and not result.error:
            return SyncCallResult.AGAIN
        return judged

    def _report_pull_secrets(self, pod: Pod, now: datetime) -> None:
        """Record an event about missing image pull Secrets; the pod starts anyway.

        Source: kubelet_pods.go, v1.32.10, getPullSecretsForPod.
        """
        _, missing = find_pull_secrets(pod, self._objects)
        if missing and self._rules.reports_missing_pull_secrets:
            message = (
                f"Unable to retrieve some image pull secrets ({', '.join(missing)}); "
                "attempting to pull the image may not succeed."
            )
            self._turn.warning(pod, "FailedToRetrieveImagePullSecret", message, now)

    def _sync_terminating_pod(
        self, call: SyncCall, now: datetime
    ) -> Routine[SyncCallResult]:
        """Terminate a pod; liveness and startup stop at once, readiness at the end.

        A pod that has ended by its own rules, but has containers that may not be
        stopped, stays as it is and is checked again.
        """
        pod = call.pod
        if pod.deletion_requested_at is None:
            running = self._cache.get(pod.uid).running()
            if not self._policy.may_kill(pod, running, ExitCause.POD, now):
                return SyncCallResult.ERROR
        self._set_pod_status(pod, self._generate(pod, now), now)
        self._stop_probes(pod, now)
        by = ExitCause.POD if pod.deletion_requested_at is None else ExitCause.DELETE
        killed = yield from self._killer.kill_pod(
            pod,
            self._cache.get(pod.uid),
            now,
            by=by,
            override_seconds=call.grace_period_seconds,
        )
        now = (yield NOW).at
        if killed.error is not None:
            self._turn.warning(
                pod, "FailedKillPod", f"error killing pod: {killed.error}", now
            )
            return SyncCallResult.ERROR
        self._probes.remove_pod(pod)
        # The next status must have been read after the last stop.
        looked = yield WaitFor((self._fresh(now),), now + FRESH_STATUS_LIMIT)
        if looked.timed_out or self._cache.get(pod.uid).running():
            return SyncCallResult.ERROR
        status = self._generate(pod, looked.at, is_terminal=True)
        self._set_pod_status(pod, status, looked.at)
        return SyncCallResult.OK

    def _stop_probes(self, pod: Pod, now: datetime) -> None:
        """Stop the probes that the version stops for a terminating pod.

        Old ones went on with all of them, but for static pods: with the file gone, the
        pod was removed from the prober at once (recorded in 1.20.2).
        """
        if self._rules.cancels_exec_on_deletion:
            self._probes.cancel_commands(pod, now)
        if self._rules.stops_readiness_on_deletion:
            self._probes.remove_pod(pod)
        elif self._rules.stops_liveness_on_deletion:
            self._probes.stop_liveness_and_startup(pod)
        elif is_static_pod(pod):
            self._probes.remove_pod(pod)

    def _sync_terminating_runtime_pod(
        self, call: SyncCall, now: datetime
    ) -> Routine[SyncCallResult]:
        """Kill the containers of an unknown pod.

        Without a spec to refer to, there are no events.
        """
        killed = yield from self._killer.kill_pod(
            call.pod,
            self._cache.get(call.pod.uid),
            now,
            override_seconds=call.grace_period_seconds,
            is_announced=False,
        )
        return SyncCallResult.OK if killed.error is None else SyncCallResult.ERROR

    def _sync_terminated_pod(self, pod: Pod, now: datetime) -> Routine[SyncCallResult]:
        self._set_pod_status(pod, self._generate(pod, now, is_terminal=True), now)
        is_unmounted = yield from self._volumes.wait_for_unmounts(pod, now)
        if not is_unmounted:
            return SyncCallResult.ERROR
        now = (yield NOW).at
        old = self._statuses.get(pod.uid)
        if self._is_last(old):
            return SyncCallResult.OK
        last = self._statuses.terminate_pod(
            pod, now, api_status=self._statuses.in_source(pod)
        )
        self.journal_changes(pod, last, old, now)
        return SyncCallResult.OK

    def _generate(
        self, pod: Pod, now: datetime, *, is_terminal: bool = False
    ) -> PodStatus:
        """Return the pod's current status; record DeadlineExceeded once."""
        published = self._statuses.get(pod.uid)
        is_past = published is not None and past_active_deadline(pod, published, now)
        if is_past and published is not None and published.reason != DEADLINE_EXCEEDED:
            self._turn.normal(pod, DEADLINE_EXCEEDED, DEADLINE_MESSAGE, now)
        return generate_api_pod_status(
            pod,
            self._cache.get(pod.uid),
            published,
            self._reasons,
            self._probes.update_pod_status,
            api_status=self._statuses.in_source(pod),
            is_terminal=is_terminal,
            is_past_deadline=is_past,
            rules=self._rules,
        )

    def _set_pod_status(self, pod: Pod, status: PodStatus, now: datetime) -> None:
        old = self._statuses.get(pod.uid)
        if self._is_last(old):
            return
        published = self._statuses.set_pod_status(
            pod, status, now, api_status=self._statuses.in_source(pod)
        )
        self.journal_changes(pod, published, old, now)

    def _is_last(self, published: PodStatus | None) -> bool:
        """Return whether this is the last status of a pod past its deadline."""
        return (
            published is not None
            and published.reason == DEADLINE_EXCEEDED
            and self._rules.status_ends_at_deadline
        )

    def _remember_reasons(self, pod: Pod, result: PodSyncResult) -> None:
        """Store the start failures for the next status.

        Source: kubelet/reason_cache.go, v1.32.10, Update.
        """
        for sync_result in result.results:
            if sync_result.action != "StartContainer":
                continue
            if sync_result.reason:
                failure = StartFailure(sync_result.reason, sync_result.message)
                self._reasons.set(pod.uid, sync_result.target, failure)
            else:
                self._reasons.remove(pod.uid, sync_result.target)


def _judge_sync(result: PodSyncResult) -> SyncCallResult:
    """Return the result of a sync; containers in back-off alone are no error.

    Quirk, kept: the sandbox's own good result is among the rest, so that a pod with a
    container in back-off is nearly always an error, and tried again after 10 s.
    """
    if result.error is None:
        return SyncCallResult.OK
    if result.sync_error is None and all(
        sync_result.reason in BACK_OFFS for sync_result in result.results
    ):
        return SyncCallResult.OK
    return SyncCallResult.ERROR


class StatusChange(NamedTuple):
    """A changed property of a status."""

    container_name: str
    subject: str
    what: StateField
    before: str
    after: str


def status_changes(old: PodStatus | None, new: PodStatus) -> Iterator[StatusChange]:
    """Yield the changes between two statuses of a pod."""
    before = "" if old is None else old.phase
    if before != new.phase:
        yield StatusChange("", "", StateField.PHASE, before, new.phase)
    for condition in new.conditions:
        known = None if old is None else old.condition(condition.type)
        was = "" if known is None else known.status
        if was != condition.status:
            yield StatusChange(
                "", condition.type, StateField.CONDITION, was, condition.status
            )
    for status in (
        *(new.init_container_statuses or ()),
        *(new.container_statuses or ()),
    ):
        earlier = None if old is None else old.container(status.name)
        was_ready = earlier is not None and earlier.ready
        if was_ready is not status.ready:
            yield StatusChange(
                status.name, "", StateField.READY, _word(was_ready), _word(status.ready)
            )
        was_started = earlier is not None and bool(earlier.started)
        if was_started is not bool(status.started):
            yield StatusChange(
                status.name,
                "",
                StateField.STARTED,
                _word(was_started),
                _word(bool(status.started)),
            )


def _word(flag: bool) -> str:  # noqa: FBT001  # the flag is the thing to be said
    return "true" if flag else "false"
