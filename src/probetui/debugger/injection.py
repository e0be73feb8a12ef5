"""Injected results and delays: outcomes that replace or delay real ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec.structs import replace

from probetui.debugger.commands import Injected
from probetui.k8s.pod import Container
from probetui.k8s.probe import Probe, ProbeKey
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES
from probetui.kubelet.prober.timeout_text import format_timeout, timed_out

DETAIL = "injected"
NO_DELAY = timedelta()

_OUTPUTS = {
    Injected.SUCCESS: (ProbeResult.SUCCESS, "injected success"),
    Injected.FAILURE: (ProbeResult.FAILURE, "injected failure"),
    Injected.WARNING: (ProbeResult.WARNING, "injected warning"),
}


def injected_duration(injected: Injected, probe: Probe) -> timedelta:
    """Return the duration of a probe: its limit for a timeout, else zero."""
    if injected is Injected.TIMED_OUT:
        return timedelta(seconds=probe.timeout_seconds)
    return timedelta()


def injected_outcome(
    injected: Injected,
    probe: Probe,
    container: Container,
    pod_ip: str,
    started_at: datetime,
) -> ProbeOutcome:
    """Return the outcome for an injected result; its output names it as such."""
    duration = injected_duration(injected, probe)
    match injected:
        case Injected.ERRORED:
            error = "injected error: the probe could not be run"
            attempt = Attempt(ProbeResult.UNKNOWN, error=error, detail=DETAIL)
            attempts = (attempt,) * MAX_PROBE_RETRIES
        case Injected.TIMED_OUT:
            output = f"injected: {format_timeout(probe, container, pod_ip)}"
            attempts = (
                Attempt(ProbeResult.FAILURE, output, duration=duration, detail=DETAIL),
            )
        case _:
            result, output = _OUTPUTS[injected]
            attempts = (Attempt(result, output, detail=DETAIL),)
    return ProbeOutcome(attempts, started_at, duration, injected=True)


class Injections:
    """Pending injected results; owned by the overrides."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: dict[ProbeKey, tuple[Injected, ...]] = {}

    def set(self, key: ProbeKey, results: tuple[Injected, ...]) -> None:
        """Inject results for the next runs of a probe."""
        if results:
            self._pending[key] = results
        else:
            self._pending.pop(key, None)

    def pending(self, key: ProbeKey) -> tuple[Injected, ...]:
        """Return the pending results, next first."""
        return self._pending.get(key, ())

    def next_outcome(self, effect: RunProbe, now: datetime) -> ProbeOutcome | None:
        """Use up the next result of a probe; return its outcome, None without one."""
        pending = self._pending.get(effect.key)
        if pending is None:
            return None
        self.set(effect.key, pending[1:])
        return injected_outcome(
            pending[0], effect.probe, effect.container, effect.pod_ip, now
        )

    def forget_pod(self, pod_uid: str) -> None:
        """Forget the results of a removed pod."""
        for key in [
            probe_key for probe_key in self._pending if probe_key.pod_uid == pod_uid
        ]:
            del self._pending[key]


def delayed_outcome(
    outcome: ProbeOutcome, delay: timedelta, effect: RunProbe
) -> ProbeOutcome:
    """Return the outcome of a probe with each of its attempts delayed.

    An attempt that is not answered within the probe's limit ends there, with its
    handler's output for a time-out. It counts as a failure, not an error, so no retry
    follows.
    """
    attempts = tuple(_delayed_attempts(outcome, delay, effect))
    duration = sum((attempt.duration for attempt in attempts), timedelta())
    return replace(outcome, attempts=attempts, duration=duration)


def _delayed_attempts(
    outcome: ProbeOutcome, delay: timedelta, effect: RunProbe
) -> Iterator[Attempt]:
    limit = timedelta(seconds=effect.probe.timeout_seconds)
    is_alone = len(outcome.attempts) == 1
    for attempt in outcome.attempts:
        duration = outcome.duration if is_alone else attempt.duration
        if duration < limit <= duration + delay:
            late_answer = timed_out(
                effect.probe, effect.container, effect.pod_ip, effect.rules
            )
            yield replace(late_answer, detail="answered too late")
            return
        # An attempt that timed out by itself is not delayed further.
        added = delay if duration < limit else NO_DELAY
        yield replace(attempt, duration=duration + added)
