"""How long things take by a probe's settings."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from probetui.analysis.timing import ProbeTiming, TimeRange, timing_of
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.kubelet.kuberuntime.grace_period import GraceSource
from probetui.kubelet_rules import PORTED_RULES
from tests.builders import a_container, a_pod, a_probe


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


def test_what_is_not_ready_is_let_back_in_and_never_killed() -> None:
    probe = a_probe(period_seconds=5, success_threshold=2)
    container = a_container(readiness_probe=probe)

    timing = timing_of(a_pod(container), container, ProbeType.READINESS, PORTED_RULES)

    assert (timing.grace, timing.restarted, timing.budget) == (None, None, None)
    assert timing.recovered == seconds(5, 11)


def test_probes_have_their_cost() -> None:
    assert liveness(period_seconds=5).cost == 12
    assert liveness(period_seconds=7).cost == Fraction(60, 7)
