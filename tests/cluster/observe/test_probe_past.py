"""What samples say for the choice of settings, beside what really was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest
from msgspec.structs import replace

from probetui.analysis.probe_fit import (
    FitGoal,
    LivenessFit,
    MeasuredProbe,
    NotFitted,
    ProbeEvidence,
    false_kill_every,
    fit_liveness,
    probe_evidence,
    untruncated,
)
from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.probe_past import (
    ContainerPast,
    ProbePast,
    container_past,
    evidence_of,
    past_under,
)
from probetui.cluster.observe.result_run import Bounds
from probetui.cluster.observe.sampled_container import Sample
from probetui.k8s.probe import ProbeType
from tests.builders import a_probe
from tests.cluster.observe.sampled_pods import (
    INTERVALS,
    Faults,
    Story,
    sampled,
    simulate,
)
from tests.sweeps import sampled as some_of

_SECONDS = 1200.0
_CALM = Faults(knows_process=True)
_SOME = Faults(jitter=2.0, lost=0.1, restarts=True, deletes=True)
_KILLING = (ProbeType.STARTUP, ProbeType.LIVENESS)


def _started(story: Story, interval: float) -> tuple[Sample, ...]:
    scrapes = (number * interval for number in range(int(_SECONDS / interval) + 1))
    known = (
        (at, [begun for seen_at, begun in story.starts if seen_at <= at])
        for at in scrapes
    )
    return tuple(Sample(at, begun[-1]) for at, begun in known if begun)


def _past(
    story: Story, interval: float, faults: Faults, chance: Random
) -> ContainerPast:
    samples = sampled(story, interval, _SECONDS, faults, chance)
    return container_past(samples, story.settings, _started(story, interval))


def _first(story: Story) -> ProbeType:
    own = story.pod.containers[0]
    return next(kind for kind in _KILLING if own.probe(kind) is not None)


def _true_starts(story: Story) -> list[float]:
    """Return how long each start took that a success ended."""
    times = [*(begun for _, begun in story.starts), math.inf]
    found = []
    for begun, until in pairwise(times):
        successes = (
            at
            for at, failed, _ in story.ticks.get(_first(story), ())
            if begun <= at < until and not failed
        )
        first = next(successes, None)
        if first is not None:
            found.append(first - begun)
    return found


# -- starts


@pytest.mark.parametrize("faults", [_CALM, _SOME], ids=["calm", "faults"])
@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("seed", some_of(range(24)))
def test_a_start_is_between_its_bounds(
    seed: int, interval: float, faults: Faults
) -> None:
    chance = Random(seed)
    story = simulate(chance, _SECONDS, faults)

    past = _past(story, interval, faults, chance)

    truth = _true_starts(story)
    for start in past.starts:
        # A sample has the start in whole seconds.
        assert any(start.least <= took <= start.most + 1 for took in truth), start


# -- runs that healed, under other thresholds


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("seed", some_of(range(24)))
def test_a_lower_threshold_kills_as_many_runs_as_reached_it(
    seed: int, interval: float
) -> None:
    chance = Random(seed)
    story = simulate(chance, _SECONDS, _CALM)
    samples = sampled(story, interval, _SECONDS, _CALM, chance)
    past = container_past(samples, story.settings)
    probe = past.probes.get(ProbeType.LIVENESS)
    if probe is None:
        return
    observed = (0.0, _SECONDS)
    healed = story.healed(ProbeType.LIVENESS, *observed)

    for threshold in range(1, probe.probe.failure_threshold):
        under = past_under(probe, replace(probe.probe, failure_threshold=threshold))

        least, most = under.new
        assert most is not None
        reached = sum(run >= threshold for run in healed)
        # What came before the first sample is not in them.
        assert most >= least
        assert least <= reached
        if samples.created_at is not None:
            assert reached <= most or reached - most <= probe.counts.failures
        assert under.kept == past.probes[ProbeType.LIVENESS].kills


# -- by hand


def _known(kills: int, *healed: int, threshold: int = 3, **more: object) -> ProbePast:
    """Return a past without doubt: its kills, and the runs of at least 1, 2, ... ."""
    probe = a_probe(period_seconds=10, failure_threshold=threshold)
    bounds = tuple(Bounds(count, count) for count in healed)
    counts = ProbeCounts(10_000, kills * threshold + sum(healed))
    return ProbePast(probe, counts, Bounds(kills, kills), bounds)


def test_a_higher_threshold_may_spare_each_kill_and_delays_those_it_does_not() -> None:
    past = _known(9, 60, 20)

    under = past_under(past, replace(past.probe, failure_threshold=5))

    assert under.before == (9, 9)
    assert under.spared == (0, 9)
    assert under.after == (0, 9)
    assert under.later == (20, 20)
    assert under.reasons
    # Of 60 runs 20 went on: one in two does, so 20 would have been kills.
    assert under.likely_spared == 9


def test_of_few_kills_by_rare_runs_few_are_spared() -> None:
    # One in ten goes on: 60 runs below three make 0.6 of three.
    past = _known(9, 66, 6)

    under = past_under(past, replace(past.probe, failure_threshold=5))

    assert under.likely_spared == 1


def test_a_lower_threshold_is_reached_by_the_runs_that_healed() -> None:
    past = _known(9, 60, 20)

    under = past_under(past, replace(past.probe, failure_threshold=2))

    assert under.spared == (0, 0)
    assert under.new == (20, 20)
    assert under.after == (29, 29)
    assert not under.reasons


def test_another_period_is_as_certain_as_the_time_that_was_probed() -> None:
    past = _known(9, 60, 20)

    sooner = past_under(past, replace(past.probe, period_seconds=5))
    later = past_under(past, replace(past.probe, period_seconds=20))

    # Three ticks of ten seconds are 20 seconds, in which four of five come.
    assert sooner.kept == (9, 9)
    # A run of one was up to 20 seconds long, a run of two at least ten.
    assert sooner.new == (0, 60)
    assert later.kept == (0, 9)
    assert later.new == (0, 0)


def test_a_shorter_time_out_needs_durations() -> None:
    past = _known(0)
    shorter = replace(past.probe, timeout_seconds=1)
    past = replace(past, probe=replace(past.probe, timeout_seconds=5))
    known = replace(past, successes_by={0.5: 9_000.0, 1.0: 9_990.0, 2.5: 10_000.0})

    assert past_under(past, shorter).new == (0, None)
    assert past_under(known, shorter).new == (0, 3)


# -- fits


def test_runs_below_a_threshold_say_how_they_go_on() -> None:
    for goes_on in (0.1, 0.3, 0.5):
        for threshold in (3, 5, 10):
            lengths = range(1, threshold)
            weights = [goes_on ** (length - 1) for length in lengths]
            mean = sum(
                length * weight for length, weight in zip(lengths, weights, strict=True)
            ) / sum(weights)

            found = untruncated(mean, threshold)

            assert found == pytest.approx(goes_on, abs=1e-6)
    assert untruncated(1.0, 2) is None
    assert untruncated(1.5, 3) is None


def _truth(story: Story, past: ProbePast) -> ProbeEvidence:
    life = [
        MeasuredProbe(at, not failed, 0.01)
        for at, failed, _ in story.ticks[ProbeType.LIVENESS]
    ]
    return probe_evidence(past.probe, [life])


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("seed", some_of(range(24)))
def test_samples_promise_no_more_than_each_result_would(
    seed: int, interval: float
) -> None:
    chance = Random(seed)
    story = simulate(chance, _SECONDS, _CALM)
    past = _past(story, interval, _CALM, chance).probes.get(ProbeType.LIVENESS)
    if past is None or any(killed for _, _, killed in story.ticks[ProbeType.LIVENESS]):
        return
    evidence, truth = evidence_of(past), _truth(story, past)

    assert evidence.longest_failure_run >= truth.longest_failure_run
    assert evidence.begun >= len(truth.failure_runs)
    same = replace(truth, probes=evidence.probes)
    if len(evidence.failure_runs) == len(truth.failure_runs):
        assert false_kill_every(evidence, past.probe) <= false_kill_every(
            same, past.probe
        ) + timedelta(seconds=1)


def test_the_histogram_gives_the_time_out() -> None:
    past = replace(
        _known(0, 12, 2, threshold=5),
        probe=a_probe(period_seconds=10, failure_threshold=5, timeout_seconds=5),
        successes_by={0.1: 9_000.0, 0.25: 9_999.0, 0.5: 10_000.0, math.inf: 10_000.0},
    )
    goal = FitGoal(timedelta(days=30), timedelta(minutes=5))

    fit = fit_liveness(evidence_of(past), goal)

    assert isinstance(fit, LivenessFit)
    assert fit.probe.timeout_seconds == 1
    assert fit.p99 == 0.25
    near = replace(_known(0, 200, threshold=5), probe=past.probe)
    near = replace(near, successes_by={2.5: 9_000.0, 5.0: 10_000.0})
    missing = fit_liveness(evidence_of(near), goal)
    assert isinstance(missing, NotFitted)
    assert "may have been cut off after 5 s" in missing.missing[0]


def test_pasts_add_up() -> None:
    past = ContainerPast(1, {ProbeType.LIVENESS: _known(2, 5)}, doubts={"x": 1})

    both: Sequence[ContainerPast] = [past.plus(past), past.plus(past)]

    assert both[0].containers == 2
    assert both[0].probes[ProbeType.LIVENESS].kills == (4, 4)
    assert both[0].probes[ProbeType.LIVENESS].healed == (Bounds(10, 10),)
    assert both[0].doubts == {"x": 2}
