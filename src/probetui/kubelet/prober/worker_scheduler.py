"""The worker scheduler: steps worker loops when they are due.

The kubelet runs a goroutine per worker; here one scheduler steps all of them, when
`run_due` is called. A step that probes ends in a `RunProbe`; its outcome comes to
`finish`.

Source: prober/worker.go, v1.32.10, run, doProbe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from random import Random

from msgspec.structs import replace

from probetui.k8s.probe import ExecAction, ProbeKey, ProbeType
from probetui.k8s.status import PodStatus
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import (
    Exit,
    HoldChange,
    Overridden,
    Probed,
    Skip,
    StoredChange,
    TickEntry,
    TickRun,
    TickTiming,
    Trigger,
)
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult, Result
from probetui.kubelet.prober.hooks import ProbeHooks
from probetui.kubelet.prober.prober import WELL, JudgedOutcome, judge_outcome
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet.prober.worker import (
    ProbeNow,
    RecordedResult,
    Worker,
    tick_action,
)
from probetui.kubelet.prober.worker_loop import InFlight, Stop, TickStart, WorkerLoop
from probetui.kubelet.runtime.timers import Timers
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

TickObserver = Callable[[Worker, TickEntry, JudgedOutcome], None]
"""Is told of each tick at its end, with the outcome as judged."""

CANCELED = "rpc error: code = Canceled desc = context canceled"
"""The CRI client's error for a command whose context was canceled."""

TRIES = 3


def _canceled(now: datetime) -> ProbeOutcome:
    """Return the outcome of a cancelled command: three errors."""
    attempt = Attempt(ProbeResult.UNKNOWN, error=CANCELED)
    return ProbeOutcome((attempt,) * TRIES, now)


class PendingOutcomes:
    """Delayed outcomes, each to be handled at its own instant."""

    __slots__ = ("_deadlines", "_finished")

    def __init__(self) -> None:
        self._finished: dict[int, ProbeFinished] = {}
        self._deadlines: Timers[int] = Timers()

    def __bool__(self) -> bool:
        """Return whether any outcome is pending."""
        return bool(self._finished)

    def __contains__(self, probe_id: int) -> bool:
        """Return whether the outcome of a probe is pending."""
        return probe_id in self._finished

    def set(self, finished: ProbeFinished, at: datetime) -> None:
        """Schedule a probe's outcome, which has arrived, to be handled at `at`."""
        self._finished[finished.probe_id] = finished
        self._deadlines.set(finished.probe_id, at)

    def next_deadline(self) -> datetime | None:
        """Return the time of the next outcome, None without one."""
        return self._deadlines.next_deadline()

    def pop_due(self, now: datetime) -> ProbeFinished | None:
        """Remove and return an outcome due at `now`, None without one."""
        probe_id = self._deadlines.pop_due(now)
        return None if probe_id is None else self._finished.pop(probe_id)


class WorkerScheduler:
    """Steps workers and handles the outcomes of probes; owned by `ProbeManager`.

    Args:
        results: the stored results, by probe type.
        status_of: the pod status as the status manager holds it, by pod UID.
        turn: where effects go, and what numbers ticks.
        observer: is told of each tick.
        rng: the engine's random source.
        hooks: change probing from outside.
        kills: whether failures of liveness and startup probes kill.
        rules: those of the kubelet's version.

    Attributes:
        loops: the loop of each worker, oldest first.
        held: results that the hooks hold back, oldest first.
        changed_pods: pods whose workers changed since the owner last emptied this set.
    """

    def __init__(
        self,
        results: Mapping[ProbeType, ResultsManager],
        status_of: Callable[[str], PodStatus | None],
        turn: TurnBuilder,
        observer: TickObserver,
        rng: Random,
        hooks: ProbeHooks,
        *,
        kills: bool,
        rules: KubeletRules = PORTED_RULES,
    ) -> None:
        self.rules = rules
        self.loops: dict[ProbeKey, WorkerLoop] = {}
        self.held: dict[ProbeKey, ProbeFinished] = {}
        self.changed_pods: set[str] = set()
        self._results = results
        self._status_of = status_of
        self._turn = turn
        self._observer = observer
        self._rng = rng
        self._hooks = hooks
        self._kills = kills
        self._timers: Timers[ProbeKey] = Timers()
        self._in_flight: dict[int, WorkerLoop] = {}
        self._pending = PendingOutcomes()
        self._woken: dict[ProbeKey, None] = {}
        self._canceled_pods: set[str] = set()
        self._canceled_runs: set[int] = set()

    @property
    def is_probing(self) -> bool:
        """Whether any probe is in flight."""
        return bool(self._in_flight)

    def flight(self, probe_id: int) -> InFlight | None:
        """Return the tick of a probe that has not ended, None if it has."""
        loop = self._in_flight.get(probe_id)
        return None if loop is None else loop.in_flight

    def running_probes(self) -> tuple[int, ...]:
        """Return the IDs of the probes whose ticks have not ended, oldest first."""
        return tuple(self._in_flight)

    # -- workers

    def add(self, worker: Worker, first_at: datetime) -> None:
        """Schedule a worker; `first_at` is its first tick."""
        loop = self.loops[worker.key] = WorkerLoop(worker, first_at)
        self._timers.set(worker.key, loop.next_tick_at)
        self.changed_pods.add(worker.key.pod_uid)

    def stop(self, key: ProbeKey) -> None:
        """Ask a worker to stop at its next step.

        A held result is dropped.
        """
        loop = self.loops.get(key)
        if loop is None or loop.stop:
            return
        finished = self.held.pop(key, None)
        if finished is not None:
            del self._in_flight[finished.probe_id]
            loop.end_flight()
        loop.stop = True
        self.wake(key)
        self.changed_pods.add(key.pod_uid)

    def trigger(self, key: ProbeKey, trigger: Trigger = Trigger.USER) -> bool:
        """Trigger a worker; return False if its slot is taken or it does not exist.

        A pending trigger moves the ticker when it is consumed.
        """
        loop = self.loops.get(key)
        if loop is None or loop.trigger is not None:
            return False
        loop.trigger = trigger
        self.wake(key)
        self.changed_pods.add(key.pod_uid)
        return True

    def wake(self, key: ProbeKey) -> None:
        """Wake a worker to check its trigger and stop slots."""
        self._woken[key] = None

    def reload_timing(self, key: ProbeKey, now: datetime) -> None:
        """Apply the hooks' timing to a worker and restart its ticker."""
        loop = self.loops.get(key)
        probe = None if loop is None else loop.worker.container.probe(key.probe_type)
        if loop is None or probe is None:
            return
        loop.worker.probe = self._hooks.apply_timing(key, probe)
        loop.restart_ticker(now)
        if loop.in_flight is None:
            self._timers.set(key, loop.next_tick_at)
        self.changed_pods.add(key.pod_uid)

    # -- time

    def next_deadline(self) -> datetime | None:
        """Return the time of the next step, ignoring ticks while they are held."""
        ticks_at = None if self._hooks.holds_ticks else self._timers.next_deadline()
        if not self._pending:
            return ticks_at
        outcome_at = self._pending.next_deadline()
        if ticks_at is None or outcome_at is None:
            return ticks_at or outcome_at
        return min(ticks_at, outcome_at)

    def run_due(self, now: datetime) -> None:
        """Step every worker that is due or woken; handle outcomes that are due."""
        pending = self._pending
        while True:
            if pending and (finished := pending.pop_due(now)):
                self._receive(finished, now)
            elif (key := self._pop_ready(now)) is not None:
                self._select(key, now)
            else:
                return

    def run_early(self, key: ProbeKey, now: datetime) -> None:
        """Run the next step of a free worker before it is due."""
        loop = self.loops[key]
        due = loop.next_tick_at
        trigger = loop.run_early(now)
        self._step(loop, trigger, due, now)

    def _pop_ready(self, now: datetime) -> ProbeKey | None:
        if self._woken:
            key = next(iter(self._woken))
            del self._woken[key]
            return key
        return None if self._hooks.holds_ticks else self._timers.pop_due(now)

    def _select(self, key: ProbeKey, now: datetime) -> None:
        """Run one step of a worker for one of its ready events."""
        loop = self.loops.get(key)
        if loop is None:
            return
        due = loop.next_tick_at
        chosen = (
            loop.select_while_held(now)
            if self._hooks.holds_ticks
            else loop.select(now, self._rng)
        )
        if chosen is None:
            if loop.in_flight is None:
                self._timers.set(key, loop.next_tick_at)
        elif isinstance(chosen, Stop):
            self._leave(loop)
        else:
            self._step(loop, chosen, due, now)

    # -- one step

    def _step(
        self, loop: WorkerLoop, trigger: Trigger, due: datetime, now: datetime
    ) -> None:
        """Start a probe, or record why the tick skips it."""
        worker = loop.worker
        key = worker.key
        held_for = self._hooks.held_for(key, trigger, due, now)
        late_drops = 0
        if trigger is Trigger.PERIODIC and not held_for:
            late_drops = loop.late_drops(due, now)
        status = self._status_of(key.pod_uid)
        results = self._results[key.probe_type]
        stored_before = results.get(worker.container_id)
        hold_before = worker.on_hold
        self.changed_pods.add(key.pod_uid)
        decision = worker.decide(status, results, now)
        skipped = None if isinstance(decision, ProbeNow) else decision
        if skipped is None:
            stored_before = results.get(worker.container_id)
        start = TickStart(
            trigger,
            now,
            loop.gates.gates_of(worker.considered, skipped),
            worker.new_container,
            stored_before,
            hold_before,
            late_drops,
        )
        if skipped is None:
            pod_ip = "" if status is None else status.pod_ip
            self._begin_probe(loop, start, pod_ip)
            return
        loop.ticks += 1
        loop.skips += 1
        run = TickRun(worker.result_run, worker.threshold(Result.FAILURE))
        overridden = self._hooks.overridden(key, None)
        self._end_tick(loop, start, skipped, run, overridden, now)
        if isinstance(skipped, Exit):
            self._leave(loop)
        else:
            self._continue_loop(loop, now)

    def _begin_probe(self, loop: WorkerLoop, start: TickStart, pod_ip: str) -> None:
        worker, now = loop.worker, start.at
        effect = RunProbe(
            self._turn.next_id(),
            worker.key,
            worker.pod,
            worker.container,
            worker.probe,
            worker.container_id,
            pod_ip,
            self.rules,
        )
        loop.in_flight = InFlight(effect, start)
        self._timers.cancel(effect.key)
        self._in_flight[effect.probe_id] = loop
        outcome = self._hooks.replace_run(effect, now)
        if outcome is None and self._is_canceled(effect):
            outcome = _canceled(now)
        if outcome is None:
            self._turn.emit(effect)
        else:
            finished = ProbeFinished(effect.probe_id, outcome)
            self._pending.set(finished, now + outcome.duration)

    def cancel_commands(self, pod_uid: str, now: datetime) -> None:
        """Cancel current and future commands of a pod's probes."""
        self._canceled_pods.add(pod_uid)
        for probe_id, loop in list(self._in_flight.items()):
            flight = loop.in_flight
            has_ended = probe_id in self._pending or loop.worker.key in self.held
            if flight and self._is_canceled(flight.asked) and not has_ended:
                self._canceled_runs.add(probe_id)
                self._receive(ProbeFinished(probe_id, _canceled(now)), now)

    def _is_canceled(self, effect: RunProbe) -> bool:
        is_command = isinstance(effect.probe.handler, ExecAction)
        return is_command and effect.key.pod_uid in self._canceled_pods

    def finish(self, finished: ProbeFinished, now: datetime) -> None:
        """Handle a probe's outcome, delayed if a hook asks for it."""
        if finished.probe_id in self._canceled_runs:
            self._canceled_runs.discard(finished.probe_id)
            return
        loop = self._in_flight[finished.probe_id]
        flight = loop.in_flight
        if flight is not None:
            outcome, delay = self._hooks.delay_outcome(flight.asked, finished.outcome)
            if delay:
                at = max(now, flight.start.at + outcome.duration)
                self._pending.set(replace(finished, outcome=outcome), at)
                return
        self._receive(finished, now)

    def _receive(self, finished: ProbeFinished, now: datetime) -> None:
        """Judge a probe's outcome and record it, unless a hook holds it back."""
        loop = self._in_flight[finished.probe_id]
        worker = loop.worker
        judged = judge_outcome(worker.key.probe_type, finished.outcome, self.rules)
        if judged.error is None and self._hooks.hold_result(worker, judged.result, now):
            self.held[worker.key] = finished
        else:
            self._record(loop, finished, judged, now)

    def release(self, key: ProbeKey, now: datetime) -> None:
        """Record a held result."""
        finished = self.held.pop(key)
        judged = judge_outcome(key.probe_type, finished.outcome, self.rules)
        self._record(self.loops[key], finished, judged, now)

    def _record(
        self,
        loop: WorkerLoop,
        finished: ProbeFinished,
        judged: JudgedOutcome,
        now: datetime,
    ) -> None:
        """Record the result of a probe and continue the worker's loop."""
        del self._in_flight[finished.probe_id]
        flight = loop.end_flight()
        worker = loop.worker
        key = worker.key
        results = self._results[key.probe_type]
        result = judged.result if judged.error is None else None
        if result is None:
            recorded = RecordedResult(
                worker.result_run, worker.threshold(Result.FAILURE), stored=False
            )
        else:
            stores = self._hooks.stores_result(key)
            recorded = worker.record(result, results, stores=stores)
        loop.count(result)
        action = tick_action(
            key.probe_type,
            result,
            recorded,
            flight.start.stored_before,
            kills=self._kills,
            is_deleted=worker.pod.deletion_requested_at is not None,
        )
        loop.last_run = self._end_tick(
            loop,
            flight.start,
            Probed(finished.outcome.attempts, result, action),
            TickRun(recorded.run, recorded.threshold),
            self._hooks.overridden(key, finished.outcome),
            now,
            judged,
        )
        self._continue_loop(loop, now)

    def _end_tick(
        self,
        loop: WorkerLoop,
        start: TickStart,
        outcome: Probed | Skip | Exit,
        run: TickRun,
        overridden: Overridden,
        now: datetime,
        judged: JudgedOutcome = WELL,
    ) -> TickEntry:
        """Tell the observer of a tick that is over."""
        worker = loop.worker
        key = worker.key
        stored = self._results[key.probe_type].get(worker.container_id)
        tick = TickEntry(
            self._turn.next_sequence(),
            now,
            key,
            loop.ticks,
            start.trigger,
            TickTiming(
                start.at, now - start.at, worker.probe.period_seconds, start.late_drops
            ),
            worker.container_id,
            start.new_container,
            start.gates,
            outcome,
            run,
            StoredChange(start.stored_before, stored),
            HoldChange(start.hold_before, worker.on_hold),
            overridden,
        )
        loop.history.append(tick)
        self.changed_pods.add(key.pod_uid)
        self._observer(worker, tick, judged)
        return tick

    def _continue_loop(self, loop: WorkerLoop, now: datetime) -> None:
        """Check the slots of a worker after a step."""
        key = loop.worker.key
        next_tick_at = loop.next_tick_at
        if loop.stop or loop.trigger is not None or next_tick_at <= now:
            self.wake(key)
        self._timers.set(key, next_tick_at)

    def _leave(self, loop: WorkerLoop) -> None:
        key = loop.worker.key
        self._timers.cancel(key)
        if loop.worker.container_id:
            self._results[key.probe_type].remove(loop.worker.container_id)
        del self.loops[key]
        if all(other.pod_uid != key.pod_uid for other in self.loops):
            self._canceled_pods.discard(key.pod_uid)
        self.changed_pods.add(key.pod_uid)
