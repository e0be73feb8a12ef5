"""Bounds of what a store's samples show, beside what really was."""

from __future__ import annotations

import math
from random import Random

import pytest

from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.result_run import Bounds
from probetui.cluster.observe.sampled_container import (
    FROM_THE_MIDDLE,
    KUBELET_RESTARTED,
    NO_COUNTERS,
    NO_RESTARTS,
    NO_SETTINGS,
    OTHER_SETTINGS,
    RESTARTS_WENT_BACK,
    ContainerBounds,
    ContainerSamples,
    ContainerSettings,
    CountsSample,
    Sample,
    TimeNotReady,
    bound_container,
    failures_over,
)
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from tests.builders import a_container, a_pod, a_probe
from tests.cluster.observe.sampled_pods import (
    ALL_FAULTS,
    INTERVALS,
    Faults,
    a_life_that_hangs,
    a_pod_that_hangs,
    bounds_that_hold,
    sampled,
    simulate,
)
from tests.sweeps import sampled as some_of

_SECONDS = 1200.0
_LIVENESS = a_probe(period_seconds=10)
_WEB = a_pod(a_container(liveness_probe=_LIVENESS))


def _settings(pod: Pod = _WEB) -> ContainerSettings:
    return ContainerSettings(pod, pod.containers[0])


def _scrapes(*samples: tuple[float, int, int]) -> tuple[CountsSample, ...]:
    return tuple(
        CountsSample(at, ProbeCounts(successes, failures), is_same_process=True)
        for at, successes, failures in samples
    )


def _restarts(*values: int, every: float = 30.0) -> tuple[Sample, ...]:
    return tuple(Sample(30.0 + n * every, value) for n, value in enumerate(values))


def _bounds(
    *samples: tuple[float, int, int],
    restarts: tuple[Sample, ...] = (),
    settings: ContainerSettings | None = None,
    alive_until: float = math.inf,
) -> ContainerBounds:
    liveness = {ProbeType.LIVENESS: _scrapes(*samples)}
    return bound_container(
        ContainerSamples(0.0, liveness, restarts, alive_until=alive_until),
        settings or _settings(),
    )


# -- by hand


def test_failures_alone_have_one_order() -> None:
    bounds = _bounds(
        (30, 3, 0), (60, 3, 3), (90, 6, 3), restarts=_restarts(0, 0, 1, 1, 1)
    )

    assert bounds.probe_kills == (1, 1)
    assert bounds.restarts == (1, 1)
    assert bounds.is_exact


def test_two_of_three_failures_that_heal_are_a_near_miss() -> None:
    bounds = _bounds(
        (30, 3, 0), (60, 3, 2), (90, 6, 2), restarts=_restarts(0, 0, 0, 0, 0)
    )

    assert bounds.probe_kills == (0, 0)
    assert bounds.near_misses == (1, 1)


def test_a_mixture_is_a_kill_only_if_the_container_was_restarted() -> None:
    mixed = ((30, 3, 0), (60, 5, 1), (90, 5, 3), (120, 8, 3))

    restarted = _bounds(*mixed, restarts=_restarts(0, 0, 0, 1, 1, 1))
    went_on = _bounds(*mixed, restarts=_restarts(0, 0, 0, 0, 0, 0))

    assert restarted.probe_kills == (0, 1)
    assert went_on.probe_kills == (0, 0)


def test_without_restarts_known_each_order_is_possible() -> None:
    bounds = _bounds((30, 3, 0), (60, 5, 1), (90, 5, 3), (120, 8, 3))

    assert bounds.probe_kills == (0, 1)
    assert bounds.restarts is None
    assert NO_RESTARTS in bounds.doubts


def test_a_threshold_that_a_deleted_pod_reached_may_be_no_kill() -> None:
    samples = ((30.0, 3, 0), (60.0, 3, 3))

    assert _bounds(*samples, alive_until=60.0).probe_kills == (1, 1)
    assert _bounds(*samples, alive_until=45.0).probe_kills == (0, 1)


def test_a_run_from_before_the_first_sample_may_be_longer() -> None:
    bounds = _bounds((30, 3, 2), (60, 3, 3), restarts=_restarts(0, 0, 1, 1))

    assert bounds.probe_kills == (0, 1)
    assert FROM_THE_MIDDLE in bounds.doubts


def test_counters_that_go_back_are_those_of_another_kubelet() -> None:
    bounds = _bounds((30, 100, 0), (60, 2, 0), (90, 5, 0), restarts=_restarts(0, 0, 0))

    # Three failures before the restart would have been lost.
    assert bounds.probe_kills == (0, 1)
    assert KUBELET_RESTARTED in bounds.doubts


def test_more_results_than_the_period_allows_are_of_other_settings() -> None:
    bounds = _bounds((30, 3, 0), (60, 30, 3))

    assert bounds.near_misses is None
    assert OTHER_SETTINGS in bounds.doubts


def test_without_settings_failures_are_the_most_kills() -> None:
    liveness = {ProbeType.LIVENESS: _scrapes((30, 3, 0), (60, 4, 2))}
    restarts = _restarts(0, 0, 1, 1)

    bounds = bound_container(ContainerSamples(0.0, liveness, restarts), None)

    assert bounds.probe_kills == (0, 2)
    assert NO_SETTINGS in bounds.doubts


def test_a_restart_counter_that_goes_back_bounds_nothing() -> None:
    bounds = _bounds((30, 3, 0), (60, 3, 3), restarts=_restarts(4, 0, 1))

    assert bounds.restarts == (1, 5)
    assert RESTARTS_WENT_BACK in bounds.doubts


def test_a_probe_without_series_bounds_kills_by_restarts() -> None:
    samples = ContainerSamples(0.0, {}, _restarts(0, 2))

    bounds = bound_container(samples, _settings())

    assert bounds.probe_kills == (0, 2)
    assert bounds.near_misses is None


@pytest.mark.parametrize(
    "settings",
    [pytest.param(_settings(), id="known"), pytest.param(None, id="not-known")],
)
def test_near_misses_of_a_probe_without_series_are_not_known(
    settings: ContainerSettings | None,
) -> None:
    samples = ContainerSamples(0.0, {}, _restarts(0, 0))

    bounds = bound_container(samples, settings)

    assert bounds.probe_kills == (0, 0)
    assert bounds.near_misses is None
    assert bounds.doubts == (NO_COUNTERS,)


def test_a_container_without_probes_is_never_killed_by_one() -> None:
    samples = ContainerSamples(0.0, {}, _restarts(0, 2))

    bounds = bound_container(samples, _settings(a_pod()))

    assert bounds.probe_kills == (0, 0)
    assert bounds.is_exact


def test_failures_over_a_time_are_those_that_its_samples_show() -> None:
    kubelet_restarted = CountsSample(90, ProbeCounts(0, 2), is_same_process=False)
    probes = {
        ProbeType.LIVENESS: (*_scrapes((30, 5, 4), (60, 5, 7)), kubelet_restarted),
        ProbeType.READINESS: _scrapes((31, 5, 0), (61, 5, 1), (130, 9, 9)),
    }

    assert failures_over(ContainerSamples(0, probes), 0, 120, 4) == (0, 0, 4, 2)
    assert failures_over(ContainerSamples(0, {}), 0, 120, 4) is None


def test_failures_before_the_first_sample_are_those_of_a_new_pod_alone() -> None:
    probes = {ProbeType.LIVENESS: _scrapes((30, 5, 4))}
    new = ContainerSamples(0, probes, created_at=10)

    assert failures_over(new, 0, 60, 2) == (0, 4)
    assert failures_over(ContainerSamples(0, probes), 0, 60, 2) == (0, 0)


def test_between_two_samples_without_a_success_nothing_became_ready() -> None:
    counts = _scrapes((20, 3, 0), (50, 3, 3), (80, 3, 6), (110, 6, 6), (140, 9, 6))
    ready = tuple(
        Sample(at, value)
        for at, value in ((30.0, 1.0), (60.0, 0.0), (75.0, 0.0), (105.0, 1.0))
    )
    samples = ContainerSamples(0.0, {ProbeType.READINESS: counts}, (), ready)

    bounds = bound_container(samples, None)

    assert bounds.not_ready == TimeNotReady(15.0, 45.0, 75.0)


# -- simulated


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(Faults(), id="no faults"),
        pytest.param(Faults(jitter=2.0, lost=0.1, deletes=True), id="lost scrapes"),
        pytest.param(ALL_FAULTS, id="all faults"),
        pytest.param(
            Faults(lost=0.3, restarts=True, knows_process=True), id="known restarts"
        ),
    ],
)
@pytest.mark.parametrize("seed", some_of(range(22)))
def test_bounds_hold_what_really_was(seed: int, faults: Faults) -> None:
    random = Random(seed)
    story = simulate(random, _SECONDS, faults)
    for interval in INTERVALS:
        bounds_that_hold(story, interval, _SECONDS, faults, random)


@pytest.mark.parametrize("seed", some_of(range(22)))
def test_a_hang_is_at_least_possible_and_never_more_than_it_was(seed: int) -> None:
    random = Random(seed)
    story = simulate(random, _SECONDS, Faults(), a_pod_that_hangs, a_life_that_hangs)
    for interval in INTERVALS:
        samples = sampled(story, interval, _SECONDS, Faults(), random)
        kills = bound_container(samples, story.settings).probe_kills
        liveness = samples.probes[ProbeType.LIVENESS]
        begin, end = liveness[0].at, liveness[-1].at
        truth = story.kills(ProbeType.LIVENESS, begin, end)
        assert isinstance(kills, Bounds)
        assert kills.least <= truth <= kills.most <= truth + 1
