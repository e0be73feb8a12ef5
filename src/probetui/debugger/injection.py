"""Injected results and delays: outcomes in place of runs, and late ones."""

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
    """Return how long the probe takes: for a timeout its limit, else no time."""
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
            words = f"injected: {format_timeout(probe, container, pod_ip)}"
            attempts = (
                Attempt(ProbeResult.FAILURE, words, duration=duration, detail=DETAIL),
            )
        case _:
            result, words = _OUTPUTS[injected]
            attempts = (Attempt(result, words, detail=DETAIL),)
    return ProbeOutcome(attempts, started_at, duration, injected=True)


class Injections:
    """Injected results that are not used yet; owned by the overrides."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: dict[ProbeKey, tuple[Injected, ...]] = {}

    def set(self, key: ProbeKey, results: tuple[Injected, ...]) -> None:
        """Inject results for the next runs of a probe."""
        if results:
            self._left[key] = results
        else:
            self._left.pop(key, None)

    def left(self, key: ProbeKey) -> tuple[Injected, ...]:
        """Return the results that are not used yet, next first."""
        return self._left.get(key, ())

    def next_outcome(self, effect: RunProbe, now: datetime) -> ProbeOutcome | None:
        """Use up the next result of a probe; return its outcome, None without one."""
        left = self._left.get(effect.key)
        if left is None:
            return None
        self.set(effect.key, left[1:])
        return injected_outcome(
            left[0], effect.probe, effect.container, effect.pod_ip, now
        )

    def forget_pod(self, pod_uid: str) -> None:
        """Forget the results of a removed pod."""
        for key in [
            probe_key for probe_key in self._left if probe_key.pod_uid == pod_uid
        ]:
            del self._left[key]


def delayed_outcome(
    outcome: ProbeOutcome, delay: timedelta, asked: RunProbe
) -> ProbeOutcome:
    """Return the outcome of a probe with each of its attempts delayed.

    An attempt whose answer does not come within the probe's limit is over at the
    limit, in the words that its handler has for that; as it failed, and was no error,
    no other one follows.
    """
    attempts = tuple(_delayed_attempts(outcome, delay, asked))
    duration = sum((attempt.duration for attempt in attempts), timedelta())
    return replace(outcome, attempts=attempts, duration=duration)


def _delayed_attempts(
    outcome: ProbeOutcome, delay: timedelta, asked: RunProbe
) -> Iterator[Attempt]:
    limit = timedelta(seconds=asked.probe.timeout_seconds)
    is_alone = len(outcome.attempts) == 1
    for attempt in outcome.attempts:
        duration = outcome.duration if is_alone else attempt.duration
        if duration < limit <= duration + delay:
            late_answer = timed_out(
                asked.probe, asked.container, asked.pod_ip, asked.rules
            )
            yield replace(late_answer, detail="answered too late")
            return
        # One that has run into the limit by itself is not answered any later.
        late = delay if duration < limit else NO_DELAY
        yield replace(attempt, duration=duration + late)
