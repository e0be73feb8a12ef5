"""A probe that is answered late because a person wants to see what comes of that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from probetui.kubelet.effects import RunProbe
from probetui.kubelet.injection import time_out_words
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult

NO_DELAY = timedelta()
DETAIL = "answered too late"


def delayed_outcome(
    outcome: ProbeOutcome, delay: timedelta, asked: RunProbe
) -> ProbeOutcome:
    """Return what a probe comes to if each of its attempts is answered later.

    An attempt whose answer does not come within the probe's limit is over at the
    limit, in the words that its handler has for that; as it failed, and was no error,
    no other one follows.
    """
    attempts = tuple(_attempts(outcome, delay, asked))
    duration = sum((each.duration for each in attempts), timedelta())
    return replace(outcome, attempts=attempts, duration=duration)


def _attempts(
    outcome: ProbeOutcome, delay: timedelta, asked: RunProbe
) -> Iterator[Attempt]:
    limit = timedelta(seconds=asked.probe.timeout_seconds)
    is_alone = len(outcome.attempts) == 1
    for each in outcome.attempts:
        took = outcome.duration if is_alone else each.duration
        if took < limit <= took + delay:
            words = time_out_words(asked.probe, asked.container, asked.pod_ip)
            yield Attempt(ProbeResult.FAILURE, words, duration=limit, detail=DETAIL)
            return
        # One that has run into the limit by itself is not answered any later.
        late = delay if took < limit else NO_DELAY
        yield replace(each, duration=took + late)
