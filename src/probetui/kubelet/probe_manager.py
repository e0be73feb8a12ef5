"""Which workers exist, and when they step.

Source: prober/prober_manager.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from probetui.k8s.event import EventType
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import PodStatus
from probetui.kubelet.believed_status import BelievedStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.delay import delayed_outcome
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.inputs import ProbeFinished
from probetui.kubelet.interventions import Interventions
from probetui.kubelet.journal import (
    Action,
    Exit,
    Skip,
    StateEntry,
    TickEntry,
    Trigger,
    What,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober import Judged, judge_outcome
from probetui.kubelet.results import ResultsManager
from probetui.kubelet.tick_action import tick_action
from probetui.kubelet.timers import Timers
from probetui.kubelet.turn import Ledger
from probetui.kubelet.worker import Recorded, Run, Worker
from probetui.kubelet.worker_loop import InFlight, Stop, WorkerLoop

ORDER = (ProbeType.STARTUP, ProbeType.READINESS, ProbeType.LIVENESS)
"""In which the kubelet looks at a container's probes."""

NOTHING_RECORDED = Recorded(0, 0, stored=False)


def _no_status(_pod_uid: str) -> None:
    """Know of no pod."""


class ProbeManager:
    """All workers of all pods; owned by the engine.

    Args:
        config: the kubelet's periods and switches.
        started_at: when the kubelet's clock of this session began.
        status_of: the pod status as the status manager holds it, by pod UID.
        ledger: where effects and journal entries go.
        rng: the engine's random source.
        interventions: what people did to probes.
    """

    def __init__(
        self,
        config: KubeletConfig,
        started_at: datetime,
        *,
        status_of: Callable[[str], PodStatus | None] = _no_status,
        ledger: Ledger | None = None,
        rng: Random | None = None,
        interventions: Interventions | None = None,
    ) -> None:
        self.results = {each: ResultsManager(each) for each in ProbeType}
        self.paused = False
        self._resumed_at = started_at
        self.changed_pods: set[str] = set()
        """Pods whose workers changed since the owner last emptied this set."""
        self._config = config
        self._born_at = started_at - config.age
        self._status_of = status_of
        self._ledger = ledger or Ledger()
        self._rng = rng or Random(config.seed)  # noqa: S311  # jitter, not secrets
        self._interventions = interventions or Interventions()
        self._breaker = self._interventions.breaker
        self._injections = self._interventions.injections
        self._answers = self._interventions.answers
        self._loops: dict[ProbeKey, WorkerLoop] = {}
        self._timers: Timers[ProbeKey] = Timers()
        self._in_flight: dict[int, WorkerLoop] = {}
        self._woken: dict[ProbeKey, None] = {}
        self._believed = BelievedStatus(
            self.results, has_worker=self._loops.__contains__, trigger=self.trigger
        )

    @property
    def is_probing(self) -> bool:
        """Whether any probe is under way."""
        return bool(self._in_flight)

    # -- workers come and go

    def add_pod(self, pod: Pod, now: datetime) -> None:
        """Make the workers of a pod that do not exist yet.

        Quirk, kept: the whole call ends at the first worker that exists, so a container
        behind one that has workers never gets its own.

        Source: prober_manager.go, v1.32.10, AddPod.
        """
        for container in (*pod.containers, *pod.sidecars):
            for probe_type in ORDER:
                probe = container.probe(probe_type)
                if probe is None:
                    continue
                key = ProbeKey(pod.uid, container.name, probe_type)
                if key in self._loops:
                    return
                worker = Worker(
                    key,
                    pod,
                    container,
                    probe,
                    sidecar_ends_with_never=self._config.sidecar_probes_end_with_never,
                )
                self._interventions.apply_to(worker)
                loop = WorkerLoop(worker, now + self._start_jitter(worker, now))
                self._loops[key] = loop
                self._schedule(loop)
                self.changed_pods.add(pod.uid)

    def replace_pod(self, pod: Pod) -> None:
        """Let the workers of a pod see its changed definition."""
        for loop in self._of_pod(pod.uid):
            loop.worker.pod = pod

    def stop_liveness_and_startup(self, pod: Pod) -> None:
        """Stop these workers of the regular containers; sidecars are not reached.

        Source: prober_manager.go, v1.32.10, StopLivenessAndStartup.
        """
        for container in pod.containers:
            for probe_type in (ProbeType.LIVENESS, ProbeType.STARTUP):
                self._stop(ProbeKey(pod.uid, container.name, probe_type))

    def remove_pod(self, pod: Pod) -> None:
        """Stop all workers of the containers and sidecars of this pod object.

        Source: prober_manager.go, v1.32.10, RemovePod.
        """
        for container in (*pod.containers, *pod.sidecars):
            for probe_type in ProbeType:
                self._stop(ProbeKey(pod.uid, container.name, probe_type))

    def cleanup_pods(self, desired_pod_uids: Collection[str]) -> None:
        """Stop every worker of a pod that is not wanted any more.

        Source: prober_manager.go, v1.32.10, CleanupPods.
        """
        for key in self._loops:
            if key.pod_uid not in desired_pod_uids:
                self._stop(key)

    def workers(self) -> Iterator[WorkerLoop]:
        """Yield every worker there is, oldest first."""
        yield from self._loops.values()

    def worker(self, key: ProbeKey) -> WorkerLoop | None:
        """Return one worker, None if it does not exist."""
        return self._loops.get(key)

    # -- time

    def next_deadline(self) -> datetime | None:
        """Return when a worker next has something to do; no tick while paused."""
        ticks_at = None if self.paused else self._timers.next_deadline()
        if not self._answers:
            return ticks_at
        ends_at = self._answers.next_deadline()
        return min(
            (each for each in (ticks_at, ends_at) if each is not None), default=None
        )

    def run_due(self, now: datetime) -> None:
        """Step every worker that is due or was woken; take in answers that are due."""
        answers = self._answers
        while True:
            if answers and (finished := answers.pop_due(now)):
                self._answered(finished, now)
            elif (key := self._pop_ready(now)) is not None:
                self._select(key, now)
            else:
                return

    def trigger(self, key: ProbeKey, trigger: Trigger = Trigger.USER) -> bool:
        """Ask a worker to probe at once; False if it has no free slot, or is not there.

        A trigger that waits moves the ticker when it is taken.
        """
        loop = self._loops.get(key)
        if loop is None or loop.trigger is not None:
            return False
        loop.trigger = trigger
        self._woken[key] = None
        self.changed_pods.add(key.pod_uid)
        return True

    def pause(self) -> None:
        """Hold back all ticks from now on; a probe in flight goes on."""
        self.paused = True
        self.changed_pods.update(key.pod_uid for key in self._loops)

    def resume(self, now: datetime) -> None:
        """Let ticks go; each worker runs at most one that was held back.

        Results that a break-point held back go first.
        """
        self.paused = False
        self._resumed_at = now
        for key in tuple(self._breaker.held):
            self._release(key, now)
        self._woken.update(
            (key, None) for key, loop in self._loops.items() if loop.trigger
        )
        self.changed_pods.update(key.pod_uid for key in self._loops)

    def step(self, now: datetime) -> ProbeKey | None:
        """Run exactly one tick, the next in time, and return whose; None for none.

        A result that a break-point held back goes before any tick.
        """
        if self._breaker.held:
            key = next(iter(self._breaker.held))
            self._release(key, now)
            return key
        upcoming = self.queue(now)
        if not upcoming:
            return None
        key = upcoming[0][1]
        loop = self._loops[key]
        due = loop.next_tick_at
        trigger = loop.run_early(now)
        self._step(loop, trigger, now, self._held(trigger, due, now))
        return key

    def queue(self, now: datetime) -> list[tuple[datetime, ProbeKey]]:
        """Return the ticks to come, next first; one per worker that is not busy."""
        waiting = [
            (now if loop.trigger else loop.next_tick_at, key)
            for key, loop in self._loops.items()
            if loop.in_flight is None
        ]
        # The kubelet has no order among equal instants; ours is that of creation.
        return sorted(waiting, key=lambda each: each[0])

    # -- what people change

    def apply_mutes(self) -> None:
        """Let each worker know whether its results have consequences."""
        for key, loop in self._loops.items():
            loop.worker.muted = self._interventions.is_muted(key)
            self.changed_pods.add(key.pod_uid)

    def retime(self, key: ProbeKey, now: datetime) -> None:
        """Let a worker go by its probe's changed timing; its ticker begins anew."""
        loop = self._loops.get(key)
        if loop is None:
            return
        manifest = loop.worker.container.probe(key.probe_type)
        if manifest is None:
            return
        loop.worker.probe = self._interventions.probe(key, manifest)
        loop.restart_ticker(now)
        if loop.in_flight is None:
            self._schedule(loop)
        self.changed_pods.add(key.pod_uid)

    # -- one probe

    def finish(self, finished: ProbeFinished, now: datetime) -> None:
        """Take in what a probe came to in the world, now or once it is to be known."""
        loop = self._in_flight[finished.probe_id]
        delay = self._interventions.delay(loop.worker.key)
        flight = loop.in_flight
        if not delay or flight is None:
            self._answered(finished, now)
            return
        loop.in_flight = flight._replace(delay=delay)
        outcome = delayed_outcome(finished.outcome, delay, flight.asked)
        at = max(now, flight.started_at + outcome.duration)
        self._answers.set(replace(finished, outcome=outcome), at)

    def _answered(self, finished: ProbeFinished, now: datetime) -> None:
        """Take in what a probe came to, or hold it back at a break-point.

        Source: worker.go, v1.32.10, doProbe (after the probe); prober.go, probe.
        """
        loop = self._in_flight[finished.probe_id]
        worker = loop.worker
        judged = judge_outcome(worker.key.probe_type, finished.outcome)
        if (
            self._breaker.points
            and judged.error is None
            and self._breaker.holds_back(worker, judged.result, finished, now)
        ):
            self.pause()
        else:
            self._take_in(loop, finished, judged, now)

    def _release(self, key: ProbeKey, now: datetime) -> None:
        """Take in what a break-point held back."""
        finished = self._breaker.held.pop(key)
        judged = judge_outcome(key.probe_type, finished.outcome)
        self._take_in(self._loops[key], finished, judged, now)

    def _take_in(
        self, loop: WorkerLoop, finished: ProbeFinished, judged: Judged, now: datetime
    ) -> None:
        """Count what a probe came to, and go on with that worker's loop."""
        del self._in_flight[finished.probe_id]
        flight = loop.land()
        worker = loop.worker
        key = worker.key
        results = self.results[key.probe_type]
        result = judged.result if judged.error is None else None
        recorded = (
            NOTHING_RECORDED if result is None else worker.record(result, results)
        )
        loop.count(result)
        stored_after = results.get(worker.container_id)
        entry = TickEntry(
            self._ledger.next_sequence(),
            now,
            key,
            loop.ticks,
            flight.trigger,
            flight.started_at,
            now - flight.started_at,
            worker.container_id,
            flight.new_container,
            flight.gates,
            None,
            None,
            finished.outcome.attempts,
            result,
            finished.outcome.injected,
            recorded.run if result is not None else worker.result_run,
            recorded.threshold or worker.threshold(Result.FAILURE),
            flight.stored_before,
            stored_after,
            flight.hold_before,
            worker.on_hold,
            tick_action(
                key.probe_type,
                result,
                recorded,
                flight.stored_before,
                kills=self._config.kills,
            ),
            worker.muted,
            flight.delay,
            flight.held,
        )
        self._write(loop, entry)
        loop.last_run = entry
        if judged.reason is not None:
            self._ledger.event(
                worker.pod,
                EventType.WARNING,
                judged.reason,
                judged.message or "",
                now=now,
                container_name=key.container_name,
                tick=entry,
            )
        self._go_on(loop, now)

    def spare(self, container_id: ContainerID, now: datetime) -> None:
        """Let the workers that wanted a container killed begin anew with it."""
        for loop in self._loops.values():
            worker = loop.worker
            if worker.container_id != container_id or not worker.on_hold:
                continue
            results = self.results[worker.key.probe_type]
            if results.get(container_id) is not Result.FAILURE:
                continue
            worker.spare(results)
            after = str(worker.initial_result)
            self._tell_change(worker.key, What.RESULT, "Failure", after, now)
            self._tell_change(worker.key, What.HOLD, "on", "off", now)
            self.changed_pods.add(worker.key.pod_uid)

    # -- what the results mean

    def update_pod_status(self, pod: Pod, status: PodStatus) -> PodStatus:
        """Return the status with `started` and `ready` of its containers filled in."""
        return self._believed.fill_in(pod, status)

    # -- inside

    def _start_jitter(self, worker: Worker, now: datetime) -> timedelta:
        """Return how long a worker waits before its first step.

        Quirk, kept: the random part is of the whole period, however old the kubelet is
        already; and only a kubelet younger than the period waits at all.
        """
        period = timedelta(seconds=worker.probe.period_seconds)
        if period <= now - self._born_at:
            return timedelta()
        return self._rng.random() * period

    def _of_pod(self, pod_uid: str) -> list[WorkerLoop]:
        return [loop for key, loop in self._loops.items() if key.pod_uid == pod_uid]

    def _stop(self, key: ProbeKey) -> None:
        loop = self._loops.get(key)
        if loop is not None and not loop.stop:
            self._drop_held(loop)
            loop.stop = True
            self._woken[key] = None
            self.changed_pods.add(key.pod_uid)

    def _drop_held(self, loop: WorkerLoop) -> None:
        """Let go of a worker that a break-point kept; its result counts no more."""
        finished = self._breaker.held.pop(loop.worker.key, None)
        if finished is not None:
            del self._in_flight[finished.probe_id]
            loop.land()

    def _schedule(self, loop: WorkerLoop) -> None:
        self._timers.set(loop.worker.key, loop.next_tick_at)

    def _pop_ready(self, now: datetime) -> ProbeKey | None:
        if self._woken:
            key = next(iter(self._woken))
            del self._woken[key]
            return key
        return None if self.paused else self._timers.pop_due(now)

    def _select(self, key: ProbeKey, now: datetime) -> None:
        """Let a worker take one of the things that are ready for it."""
        loop = self._loops.get(key)
        if loop is None:
            return
        due = loop.next_tick_at
        chosen = (
            loop.select_while_paused(now)
            if self.paused
            else loop.select(now, self._rng)
        )
        if chosen is None:
            if loop.in_flight is None:
                self._schedule(loop)
        elif isinstance(chosen, Stop):
            self._leave(loop)
        else:
            self._step(loop, chosen, now, self._held(chosen, due, now))

    def _held(self, trigger: Trigger, due: datetime, now: datetime) -> timedelta:
        """Return how long a tick was due before a pause let it go."""
        is_late = trigger is Trigger.PERIODIC and due < now
        if is_late and (self.paused or due < self._resumed_at):
            return now - due
        return timedelta()

    def _step(
        self, loop: WorkerLoop, trigger: Trigger, now: datetime, held: timedelta
    ) -> None:
        worker = loop.worker
        key = worker.key
        status = self._status_of(key.pod_uid)
        results = self.results[key.probe_type]
        before = results.get(worker.container_id)
        hold_before = worker.on_hold
        self.changed_pods.add(key.pod_uid)
        decision = worker.decide(status, results, now)
        if isinstance(decision, Run):
            probe_id = self._ledger.next_id()
            gates = loop.gates.gates_of(worker.considered, None)
            effect = RunProbe(
                probe_id,
                key,
                worker.pod,
                worker.container,
                worker.probe,
                decision.container_id,
                "" if status is None else status.pod_ip,
            )
            loop.in_flight = InFlight(
                effect,
                trigger,
                now,
                gates,
                worker.new_container,
                results.get(worker.container_id),
                hold_before,
                held=held,
            )
            self._timers.cancel(key)
            self._in_flight[probe_id] = loop
            if not self._injections.begin(effect, now):
                self._ledger.emit(effect)
            return
        loop.ticks += 1
        loop.skips += 1
        self._write(
            loop,
            self._skipped(loop, decision, trigger, before, hold_before, now)._replace(
                held=held
            ),
        )
        if isinstance(decision, Exit):
            self._leave(loop)
        else:
            self._go_on(loop, now)

    def _skipped(
        self,
        loop: WorkerLoop,
        decision: Skip | Exit,
        trigger: Trigger,
        before: Result | None,
        hold_before: bool,  # noqa: FBT001  # a fact of the tick, not a choice
        now: datetime,
    ) -> TickEntry:
        worker = loop.worker
        gates = loop.gates.gates_of(worker.considered, decision)
        return TickEntry(
            self._ledger.next_sequence(),
            now,
            worker.key,
            loop.ticks,
            trigger,
            now,
            timedelta(),
            worker.container_id,
            worker.new_container,
            gates,
            None if isinstance(decision, Exit) else decision,
            decision if isinstance(decision, Exit) else None,
            (),
            None,
            injected=False,
            run=worker.result_run,
            threshold=worker.threshold(Result.FAILURE),
            stored_before=before,
            stored_after=self.results[worker.key.probe_type].get(worker.container_id),
            hold_before=hold_before,
            hold_after=worker.on_hold,
            action=Action.NONE,
        )

    def _write(self, loop: WorkerLoop, entry: TickEntry) -> None:
        self._ledger.write(entry)
        loop.history.append(entry)
        self.changed_pods.add(entry.key.pod_uid)
        if entry.new_container or entry.stored_before is not entry.stored_after:
            before = "" if entry.new_container else str(entry.stored_before)
            self._write_state(entry, What.RESULT, before, str(entry.stored_after))
        if entry.hold_before and entry.new_container:
            self._write_state(entry, What.HOLD, "on", "off")
        if entry.hold_after and (entry.new_container or not entry.hold_before):
            self._write_state(entry, What.HOLD, "off", "on")

    def _tell_change(
        self, key: ProbeKey, what: What, before: str, after: str, now: datetime
    ) -> None:
        sequence = self._ledger.next_sequence()
        self._ledger.write(StateEntry(sequence, now, *key, what, before, after))

    def _write_state(
        self, entry: TickEntry, what: What, before: str, after: str
    ) -> None:
        self._ledger.write(
            StateEntry(
                self._ledger.next_sequence(),
                entry.at,
                entry.key.pod_uid,
                entry.key.container_name,
                entry.key.probe_type,
                what,
                before,
                after,
                entry.sequence,
            )
        )

    def _go_on(self, loop: WorkerLoop, now: datetime) -> None:
        """Look at the slots again, now that a step is over."""
        key = loop.worker.key
        next_tick_at = loop.next_tick_at
        if loop.stop or loop.trigger is not None or next_tick_at <= now:
            self._woken[key] = None
        self._timers.set(key, next_tick_at)

    def _leave(self, loop: WorkerLoop) -> None:
        key = loop.worker.key
        self._timers.cancel(key)
        if loop.worker.container_id:
            self.results[key.probe_type].remove(loop.worker.container_id)
        del self._loops[key]
        self.changed_pods.add(key.pod_uid)
