"""How long things take by a probe's settings."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from probetui.analysis.timing import (
    Latency,
    ProbeTiming,
    TimeRange,
    ready_after_start,
    start_budget,
    summarize_latency,
    ticks_lost,
    timing_of,
)
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.kubelet.kuberuntime.grace_period import GraceSource
from probetui.kubelet_rules import PORTED_RULES, rules_of
from tests.builders import a_container, a_key, a_pod, a_probe, at
from tests.ticks import a_tick


def liveness(**fields: Any) -> ProbeTiming:
    container = a_container(liveness_probe=a_probe(**fields))
    return timing_of(a_pod(container), container, ProbeType.LIVENESS, PORTED_RULES)


def seconds(least: int, most: int) -> TimeRange:
    return TimeRange(timedelta(seconds=least), timedelta(seconds=most))


@pytest.mark.parametrize(
    ("period", "failures", "timeout", "expected"),
    [
        pytest.param(5, 3, 1, (10, 16), id="worked example"),
        pytest.param(10, 3, 1, (20, 31), id="defaults"),
        pytest.param(10, 1, 1, (0, 11), id="first failure counts"),
        pytest.param(1, 3, 5, (2, 16), id="slower than its period"),
    ],
)
def test_a_failure_is_noticed_within(
    period: int, failures: int, timeout: int, expected: tuple[int, int]
) -> None:
    timing = liveness(
        period_seconds=period, failure_threshold=failures, timeout_seconds=timeout
    )

    assert timing.noticed == seconds(*expected)


def test_a_first_probe_may_be_almost_a_second_before_its_delay() -> None:
    """A start counts from its whole second."""
    timing = liveness(initial_delay_seconds=5, period_seconds=10)

    assert timing.first == seconds(4, 15)


def test_without_a_delay_the_first_tick_probes() -> None:
    assert liveness(period_seconds=10).first == seconds(0, 10)


def test_a_restart_comes_after_the_grace_period_at_the_latest() -> None:
    timing = liveness(period_seconds=5)

    assert timing.grace is not None
    assert (timing.grace.seconds, timing.grace.source) == (30, GraceSource.POD)
    assert timing.restarted == seconds(10, 46)


def test_the_grace_period_of_the_probe_counts_for_what_it_kills() -> None:
    timing = liveness(period_seconds=5, termination_grace_period_seconds=2)

    assert timing.restarted == seconds(10, 18)


@pytest.mark.parametrize(
    ("policy", "of_container", "is_restarted"),
    [
        pytest.param(RestartPolicy.NEVER, None, False, id="never"),
        pytest.param(RestartPolicy.ON_FAILURE, None, True, id="on failure"),
        pytest.param(RestartPolicy.NEVER, RestartPolicy.ALWAYS, True, id="sidecar"),
    ],
)
def test_a_restart_is_a_matter_of_policy(
    policy: RestartPolicy, of_container: RestartPolicy | None, *, is_restarted: bool
) -> None:
    container = a_container(liveness_probe=a_probe(), restart_policy=of_container)
    pod = a_pod(container, restart_policy=policy)

    timing = timing_of(pod, container, ProbeType.LIVENESS, PORTED_RULES)

    assert (timing.restarted is not None) is is_restarted


def test_a_startup_probe_gives_a_container_its_budget() -> None:
    probe = a_probe(initial_delay_seconds=3, period_seconds=5, failure_threshold=4)
    container = a_container(startup_probe=probe)

    timing = timing_of(a_pod(container), container, ProbeType.STARTUP, PORTED_RULES)

    assert timing.budget == seconds(2 + 3 * 5, 3 + 4 * 5 + 1)


@pytest.mark.parametrize(
    ("version", "timeout", "expected"),
    [
        pytest.param("1.20", 1, (5, 11), id="in turn"),
        pytest.param("1.21", 1, (0, 11), id="statuses trigger probes"),
        pytest.param("1.20", 7, (5, 21), id="slower than its period"),
    ],
)
def test_what_is_not_ready_is_let_back_in_and_never_killed(
    version: str, timeout: int, expected: tuple[int, int]
) -> None:
    probe = a_probe(period_seconds=5, success_threshold=2, timeout_seconds=timeout)
    container = a_container(readiness_probe=probe)

    timing = timing_of(
        a_pod(container), container, ProbeType.READINESS, rules_of(version)
    )

    assert (timing.grace, timing.restarted, timing.budget) == (None, None, None)
    assert timing.recovered == seconds(*expected)


def test_probes_have_their_cost() -> None:
    assert liveness(period_seconds=1).cost == 60
    assert liveness(period_seconds=5).cost == 12
    assert liveness(period_seconds=7).cost == Fraction(60, 7)


@pytest.mark.parametrize(
    ("version", "startup", "readiness", "expected"),
    [
        pytest.param("1.36", None, None, None, id="at once"),
        pytest.param("1.36", {"period_seconds": 4}, None, (0, 5), id="started"),
        pytest.param(
            "1.20", {"period_seconds": 4}, None, (0, 95), id="started, by a resync"
        ),
        pytest.param(
            "1.36",
            None,
            {"initial_delay_seconds": 5, "period_seconds": 3, "timeout_seconds": 2},
            (4, 10),
            id="ready",
        ),
        pytest.param(
            "1.36",
            None,
            {"period_seconds": 3, "timeout_seconds": 5, "success_threshold": 3},
            (0, 3 + 2 * 5 + 5),
            id="ready by the third success",
        ),
        pytest.param(
            "1.20",
            None,
            {"period_seconds": 3, "timeout_seconds": 1, "success_threshold": 3},
            (2 * 3, 3 + 2 * 3 + 1),
            id="ready by the third success in turn",
        ),
        pytest.param(
            "1.36",
            {"initial_delay_seconds": 20, "period_seconds": 4},
            {"period_seconds": 3, "timeout_seconds": 2},
            (19, 20 + 4 + 1 + 3 + 2),
            id="ready after its start",
        ),
    ],
)
def test_an_app_that_answers_at_once_is_ready_within(
    version: str,
    startup: dict[str, Any] | None,
    readiness: dict[str, Any] | None,
    expected: tuple[int, int] | None,
) -> None:
    container = a_container(
        startup_probe=None if startup is None else a_probe(**startup),
        readiness_probe=None if readiness is None else a_probe(**readiness),
    )

    ready = ready_after_start(container, rules_of(version))

    assert ready == (None if expected is None else seconds(*expected))


@pytest.mark.parametrize(("version", "later"), [("1.36", 0), ("1.20", 90)])
def test_a_startup_probe_kills_at_a_resync_in_old_versions(
    version: str, later: int
) -> None:
    startup = a_probe(period_seconds=2, failure_threshold=5, timeout_seconds=3)
    container = a_container(startup_probe=startup, liveness_probe=a_probe())
    budget = start_budget(container, rules_of(version))
    assert budget == seconds(8, 2 + 4 * 3 + 3 + later)

    without = a_container(liveness_probe=a_probe(initial_delay_seconds=5))
    assert start_budget(without, rules_of(version)) == seconds(4 + 20, 15 + 20 + 1)
    assert start_budget(a_container(), rules_of(version)) is None


@pytest.mark.parametrize(
    ("took", "following", "own", "lost"),
    [
        pytest.param(4, 5, 5, 0, id="within its period"),
        pytest.param(5, 20, 5, 0, id="as long as its period"),
        pytest.param(7, 7, 5, 0, id="one waits"),
        pytest.param(12, 12, 5, 1, id="one is lost"),
        pytest.param(12, 12, 0, 3, id="by the period that is given"),
        pytest.param(12, None, 5, 0, id="the last one"),
    ],
)
def test_a_probe_that_takes_longer_than_its_period_loses_ticks(
    took: int, following: int | None, own: int, lost: int
) -> None:
    tick = a_tick(a_key(), at(0), period_seconds=own, duration=timedelta(seconds=took))

    assert ticks_lost(tick, None if following is None else at(following), 3) == lost


def test_latencies_are_told_by_the_last_the_middle_and_the_longest() -> None:
    times = [timedelta(seconds=number) for number in (4, 9, 1, 2)]

    assert summarize_latency(times) == Latency(times[3], times[0], times[1])
    assert summarize_latency([]) is None
