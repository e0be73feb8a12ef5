"""Probe overrides: the prober's hooks of the debugger."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from msgspec.structs import replace

from probetui.debugger.breakpoints import Breakpoints
from probetui.debugger.injection import NO_DELAY, Injections, delayed_outcome
from probetui.debugger.scope import Scope, ScopedSetting
from probetui.debugger.timing import Timing
from probetui.k8s.pod import Pod
from probetui.k8s.probe import Probe, ProbeKey
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.journal import NOT_OVERRIDDEN, Overridden, Trigger
from probetui.kubelet.outcome import ProbeOutcome, Result
from probetui.kubelet.prober.worker import Worker

_NO_PODS: Mapping[str, Pod] = MappingProxyType({})


class ProbeOverrides:
    """Injected results, delays, breakpoints, mutes, timings and a pause.

    The probe manager asks it as its `ProbeHooks`; owned by the engine.

    Args:
        pods: the pods that are known, by UID; for their names.

    Attributes:
        holds_ticks: whether probes are paused.
    """

    def __init__(self, pods: Mapping[str, Pod] = _NO_PODS) -> None:
        self.injections = Injections()
        self.delays: ScopedSetting[timedelta] = ScopedSetting(default=NO_DELAY)
        self.breakpoints = Breakpoints(pods)
        self.muted: ScopedSetting[bool] = ScopedSetting(default=False)
        self.timings: dict[ProbeKey, Timing] = {}
        self.holds_ticks = False
        self._resumed_at: datetime | None = None
        # The ticks that have started and are not over.
        self._overridden: dict[ProbeKey, Overridden] = {}

    def pause(self) -> None:
        """Hold back all ticks from now on."""
        self.holds_ticks = True

    def resume(self, now: datetime) -> None:
        """Resume ticks."""
        self.holds_ticks = False
        self._resumed_at = now

    def is_muted(self, key: ProbeKey) -> bool:
        """Return whether the results of a probe have no consequences."""
        return self.muted.of(Scope.of(key)) if self.muted else False

    def delay_of(self, key: ProbeKey) -> timedelta:
        """Return the delay of each attempt of a probe."""
        return self.delays.of(Scope.of(key)) if self.delays else NO_DELAY

    def forget_pod(self, pod_uid: str) -> None:
        """Forget the overrides of a removed pod."""
        self.injections.forget_pod(pod_uid)
        self.delays.forget_pod(pod_uid)
        self.breakpoints.points.forget_pod(pod_uid)
        self.muted.forget_pod(pod_uid)
        for by_key in (self.timings, self._overridden):
            for key in [key for key in by_key if key.pod_uid == pod_uid]:
                del by_key[key]

    # -- ProbeHooks

    def apply_timing(self, key: ProbeKey, probe: Probe) -> Probe:
        """Return a probe with the timing that the user set."""
        timing = self.timings.get(key)
        return probe if timing is None else timing.applied_to(probe)

    def replace_run(self, effect: RunProbe, now: datetime) -> ProbeOutcome | None:
        """Return the next injected result of a probe, as an outcome."""
        return self.injections.next_outcome(effect, now)

    def delay_outcome(
        self, effect: RunProbe, outcome: ProbeOutcome
    ) -> tuple[ProbeOutcome, timedelta]:
        """Return an outcome with the delay of its probe, and that delay."""
        key = effect.key
        delay = self.delay_of(key)
        if not delay:
            return outcome, delay
        overridden = self._overridden.get(key, NOT_OVERRIDDEN)
        self._overridden[key] = replace(overridden, delay=delay)
        return delayed_outcome(outcome, delay, effect), delay

    def hold_result(self, worker: Worker, result: Result, now: datetime) -> bool:
        """Hold a result at a breakpoint, and pause."""
        is_held = (
            bool(self.breakpoints.points)
            and not self.is_muted(worker.key)
            and self.breakpoints.stops_before_kill(worker, result, now)
        )
        if is_held:
            self.pause()
        return is_held

    def stores_result(self, key: ProbeKey) -> bool:
        """Withhold the results of muted probes."""
        return not self.is_muted(key)

    def held_for(
        self, key: ProbeKey, trigger: Trigger, due: datetime, now: datetime
    ) -> timedelta:
        """Return how long a pause held a due tick."""
        self._overridden.pop(key, None)
        if trigger is not Trigger.PERIODIC or due >= now:
            return NO_DELAY
        was_paused = self._resumed_at is not None and due < self._resumed_at
        if not self.holds_ticks and not was_paused:
            return NO_DELAY
        self._overridden[key] = Overridden(held=now - due)
        return now - due

    def overridden(self, key: ProbeKey, outcome: ProbeOutcome | None) -> Overridden:
        """Return what the user changed of a tick that ends."""
        overridden = self._overridden.pop(key, NOT_OVERRIDDEN)
        if outcome is None or not (outcome.injected or self.muted):
            return overridden
        return replace(overridden, injected=outcome.injected, muted=self.is_muted(key))
