"""Fitted settings have the promised effect, for applications with known behavior."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.analysis.probe_fit import (
    FitGoal,
    LivenessFit,
    MeasuredProbe,
    NotFitted,
    ProbeEvidence,
    StartEvidence,
    StartupFit,
    false_kill_every,
    fit_liveness,
    fit_startup,
    probe_evidence,
    student_quantile,
    untruncated,
    upper_bound,
)
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet.prober.worker import Worker

RECORDED = Probe(ExecAction(("check",)), period_seconds=10, timeout_seconds=5)
GOAL = FitGoal(timedelta(days=1_000_000), timedelta(minutes=4))
RUNS = 10_000
TICKS = 60


class Application:
    """An application whose start times, latencies and runs of failures are known.

    A run begins at a probe with probability `begins` and goes on with `goes_on`.
    """

    def __init__(self, seed: int, begins: float = 0.02, goes_on: float = 0.3) -> None:
        self._random = random.Random(seed)  # no secret
        self._begins = begins
        self._goes_on = goes_on
        self._is_failing = False

    def start_seconds(self) -> float:
        return self._random.lognormvariate(3.0, 0.2)

    def latency(self) -> float:
        return self._random.lognormvariate(-1.0, 0.3)

    def phase(self, period: int) -> float:
        return self._random.uniform(0, period)

    def is_well(self) -> bool:
        chance = self._goes_on if self._is_failing else self._begins
        self._is_failing = self._random.random() < chance
        return not self._is_failing


def measure(application: Application, count: int) -> Iterator[MeasuredProbe]:
    for number in range(count):
        yield MeasuredProbe(number * 10.0, application.is_well(), application.latency())


def evidence_of(application: Application, lives: int = 3) -> ProbeEvidence:
    return probe_evidence(
        RECORDED, [list(measure(application, 2_000)) for _ in range(lives)]
    )


def worker_of(probe: Probe, kind: ProbeType) -> tuple[Worker, ResultsManager]:
    container = Container("app")
    pod = Pod("uid", "web", containers=(container,))
    worker = Worker(ProbeKey("uid", "app", kind), pod, container, probe)
    worker.container_id = ContainerID("sim://1")
    return worker, ResultsManager(kind)


def is_killed(worker: Worker, results: ResultsManager, result: Result) -> bool:
    kills = worker.would_kill(result)
    worker.record(result, results)
    return kills


def fitted(seed: int) -> tuple[LivenessFit, StartupFit]:
    application = Application(seed)
    starts = StartEvidence(tuple(application.start_seconds() for _ in range(30)))
    liveness = fit_liveness(evidence_of(application), GOAL)
    startup = fit_startup(starts, RECORDED, GOAL)
    assert isinstance(liveness, LivenessFit)
    assert isinstance(startup, StartupFit)
    return liveness, startup


@pytest.mark.sweep
def test_a_healthy_container_is_never_killed_in_ten_thousand_runs() -> None:
    liveness, startup = fitted(1)
    application = Application(2)
    killed = 0

    for _ in range(RUNS):
        worker, results = worker_of(startup.probe, ProbeType.STARTUP)
        ready_at = application.start_seconds()
        age = application.phase(startup.probe.period_seconds)
        while age < ready_at:
            killed += is_killed(worker, results, Result.FAILURE)
            age += startup.probe.period_seconds
        worker, results = worker_of(liveness.probe, ProbeType.LIVENESS)
        for _ in range(TICKS):
            is_well = application.is_well() and (
                application.latency() < liveness.probe.timeout_seconds
            )
            result = Result.SUCCESS if is_well else Result.FAILURE
            killed += is_killed(worker, results, result)

    assert killed == 0


def test_the_recorded_settings_would_have_killed_it() -> None:
    application = Application(2)
    worker, results = worker_of(RECORDED, ProbeType.LIVENESS)
    results_of = (
        Result.SUCCESS if application.is_well() else Result.FAILURE
        for _ in range(RUNS * TICKS)
    )

    assert any(is_killed(worker, results, result) for result in results_of)


def test_a_dead_container_is_noticed_in_the_time_promised_in_ten_thousand_runs() -> (
    None
):
    liveness, _ = fitted(1)
    probe = liveness.probe
    draw = random.Random(3)  # no secret
    longest = 0.0

    for _ in range(RUNS):
        died_at = draw.uniform(0, probe.period_seconds)
        worker, results = worker_of(probe, ProbeType.LIVENESS)
        # Some die at once, some leave each probe hanging until its time-out.
        took = draw.choice((0.0, float(probe.timeout_seconds)))
        tick = 0.0 if died_at == 0 else float(probe.period_seconds)
        while not is_killed(worker, results, Result.FAILURE):
            tick += max(probe.period_seconds, took)
        longest = max(longest, tick + took - died_at)

    assert longest <= liveness.noticed.total_seconds() <= GOAL.notice.total_seconds()


def test_false_kills_come_no_oftener_than_estimated() -> None:
    evidence = evidence_of(Application(4))
    probe = replace(RECORDED, failure_threshold=3)
    application = Application(5)
    worker, results = worker_of(probe, ProbeType.LIVENESS)
    kills, ticks = 0, 300_000

    for _ in range(ticks):
        result = Result.SUCCESS if application.is_well() else Result.FAILURE
        kills += is_killed(worker, results, result) and worker.result_run == 0

    kill_interval = timedelta(seconds=ticks * 10) / kills
    estimated = false_kill_every(evidence, probe)
    assert estimated < kill_interval
    # It is cautious, by the width of the intervals, and no more.
    assert kill_interval < 4 * estimated


def test_failures_before_the_first_success_belong_to_the_start() -> None:
    life = [
        MeasuredProbe(0.0, is_success=False, took=0.1),
        MeasuredProbe(1.0, is_success=False, took=0.1),
        MeasuredProbe(2.0, is_success=True, took=0.1),
    ]

    evidence = probe_evidence(RECORDED, [life])

    assert (evidence.probes, evidence.failure_runs, evidence.kills) == (1, (), 0)


def marks(text: str) -> list[MeasuredProbe]:
    known = {"+": True, "-": False, "?": None}
    return [
        MeasuredProbe(float(age), known[mark], 0.1) for age, mark in enumerate(text)
    ]


@pytest.mark.parametrize(
    ("text", "probes", "runs", "kills"),
    [
        pytest.param("+++", 3, (), 0, id="well"),
        pytest.param("+-+--+", 6, (1, 2), 0, id="two-runs"),
        pytest.param("++---", 2, (), 1, id="killed"),
        pytest.param("++--", 2, (), 0, id="ended-in-a-run-too-short-to-kill"),
        pytest.param("+-?-+", 4, (2,), 0, id="errors-count-for-nothing"),
        pytest.param("---", 0, (), 0, id="never-started"),
    ],
)
def test_runs_of_failures_end_by_themselves_or_in_kills(
    text: str, probes: int, runs: Sequence[int], kills: int
) -> None:
    evidence = probe_evidence(RECORDED, [marks(text)])

    assert (evidence.probes, evidence.failure_runs) == (probes, runs)
    assert evidence.kills == kills


def test_the_threshold_is_above_the_longest_recorded_run_of_failures() -> None:
    evidence = probe_evidence(RECORDED, [marks("+" * 500 + "------" + "+" * 500)])

    fit = fit_liveness(evidence, FitGoal(timedelta(hours=1), timedelta(minutes=30)))

    assert isinstance(fit, LivenessFit)
    assert fit.probe == replace(RECORDED, timeout_seconds=1, failure_threshold=7)
    assert fit.noticed == timedelta(seconds=7 * 10 + 1)
    assert fit.assumed == (
        "runs of failures: only 1 recorded, which does not say how long they last; "
        "each is taken to be as likely to go on as to end"
    )


def test_without_a_failure_it_is_assumed_how_long_they_last() -> None:
    evidence = probe_evidence(RECORDED, [marks("+" * 2_000)])

    fit = fit_liveness(evidence, FitGoal(timedelta(days=1), timedelta(minutes=5)))

    assert isinstance(fit, LivenessFit)
    assert fit.assumed.startswith("failures: none recorded, which does not say")
    # 3.0 of 2,000 begin, and every other one goes on: 10 / (0.0015 / 2 ** 4) seconds.
    assert fit.probe.failure_threshold == 5
    assert fit.false_kill_every == false_kill_every(evidence, fit.probe)
    chance = (1 - 0.05 ** (1 / 2_000)) * 0.5**4
    assert fit.false_kill_every.total_seconds() == pytest.approx(10 / chance)


MANY_RUNS = [marks("+" * 40 + "-+" + "+" * 40 + "--+")] * 8
"""Sixteen runs of failures, every other one of two ticks."""


def test_with_many_runs_it_is_known_how_long_they_last() -> None:
    evidence = probe_evidence(replace(RECORDED, failure_threshold=9), MANY_RUNS)

    every = false_kill_every(evidence, replace(RECORDED, failure_threshold=3))

    well = evidence.probes - 24
    begins, goes_on = upper_bound(16, well + 16), upper_bound(8, 24)
    assert every.total_seconds() == pytest.approx(10 / (begins * goes_on**2))
    fit = fit_liveness(evidence, FitGoal(timedelta(hours=1), timedelta(minutes=5)))
    assert isinstance(fit, LivenessFit)
    assert fit.assumed == ""


def test_kills_may_all_be_runs_that_had_gone_on() -> None:
    probe = replace(RECORDED, failure_threshold=3)
    evidence = probe_evidence(probe, [*MANY_RUNS, *[marks("+" * 40 + "---")] * 2])

    every = false_kill_every(evidence, probe)

    # Of two kills each went on twice; runs of two at most say no more than that.
    begins = upper_bound(16, evidence.probes - 24 + 16)
    goes_on = upper_bound(8 + 4, 24 + 4)
    assert every.total_seconds() == pytest.approx(10 / (begins * goes_on**2))


@pytest.mark.parametrize(("period", "share"), [(5, 0.5), (10, 1), (20, 1)])
def test_runs_have_more_ticks_in_a_shorter_period_and_no_fewer_in_a_longer(
    period: int, share: float
) -> None:
    evidence = probe_evidence(replace(RECORDED, failure_threshold=9), MANY_RUNS)
    probe = replace(RECORDED, period_seconds=period, failure_threshold=3)

    every = false_kill_every(evidence, probe)

    begins = upper_bound(16, evidence.probes - 24 + 16)
    goes_on = upper_bound(8, 24) ** share
    assert every.total_seconds() == pytest.approx(period / (begins * goes_on**2))


@pytest.mark.parametrize("threshold", [3, 5, 20])
@pytest.mark.parametrize("goes_on", [0.1, 0.5, 0.8])
def test_what_a_threshold_cut_off_is_taken_into_account(
    threshold: int, goes_on: float
) -> None:
    weights = {length: goes_on ** (length - 1) for length in range(1, threshold)}
    seen = sum(length * weight for length, weight in weights.items())
    mean = seen / sum(weights.values())

    assert untruncated(mean, threshold) == pytest.approx(goes_on)


def test_runs_as_long_as_they_can_be_do_not_say_how_often_they_go_on() -> None:
    assert untruncated(2.5, 5) is None


def test_a_period_that_notices_too_late_is_shortened() -> None:
    evidence = probe_evidence(
        replace(RECORDED, period_seconds=30), [marks("+" * 2_000)]
    )

    fit = fit_liveness(evidence, FitGoal(timedelta(hours=6), timedelta(seconds=60)))

    assert isinstance(fit, LivenessFit)
    assert fit.probe.period_seconds < 30
    assert fit.noticed <= timedelta(seconds=60)


def test_the_time_out_has_a_margin_over_the_longest_latency() -> None:
    life = [MeasuredProbe(float(age), is_success=True, took=0.7) for age in range(200)]
    slow = [*life, MeasuredProbe(200.0, is_success=True, took=1.6)]

    fit = fit_liveness(
        probe_evidence(RECORDED, [slow]),
        FitGoal(timedelta(hours=1), timedelta(hours=1)),
    )

    assert isinstance(fit, LivenessFit)
    assert fit.probe.timeout_seconds == 4
    assert fit.p99 == 0.7


def missing_of(fit: LivenessFit | StartupFit | NotFitted) -> str:
    assert isinstance(fit, NotFitted)
    return "; ".join(fit.missing)


def test_too_few_probes_are_refused() -> None:
    fit = fit_liveness(probe_evidence(RECORDED, [marks("+" * 99)]), GOAL)

    assert "99 probes of the running container seen; 100 are needed" in missing_of(fit)


def test_latencies_that_were_cut_off_are_refused() -> None:
    life = [
        MeasuredProbe(float(age), age % 10 != 0, 5.0, is_cut_off=age % 10 == 0)
        for age in range(1, 202)
    ]

    text = missing_of(fit_liveness(probe_evidence(RECORDED, [life]), GOAL))

    assert "20 of 201 probes were cut off after 5 s" in text
    assert "record with a larger timeoutSeconds" in text


def test_what_cannot_be_had_both_is_refused_with_the_soonest_notice() -> None:
    evidence = evidence_of(Application(1))

    fit = fit_liveness(evidence, FitGoal(timedelta(days=30), timedelta(seconds=20)))

    assert missing_of(fit) == (
        "no period and threshold satisfy both: with false kills that rare the soonest "
        "notice is 102 s (periodSeconds 9, failureThreshold 11); allow more of either, "
        "or record longer"
    )


def test_too_few_starts_are_refused() -> None:
    fit = fit_startup(StartEvidence((1.0, 2.0, 3.0, 4.0)), RECORDED, GOAL)

    assert missing_of(fit) == (
        "4 starts seen; 5 are needed: record several sessions, or ask about a longer "
        "time"
    )


def test_starts_that_differ_have_a_margin_by_how_much() -> None:
    seconds = (3.0, 5.0, 8.0, 13.0, 6.0, 7.0)
    goal = FitGoal(timedelta(days=10), timedelta(minutes=1))
    probe = replace(RECORDED, initial_delay_seconds=7, failure_threshold=1)

    fit = fit_startup(StartEvidence(seconds), probe, goal)

    assert isinstance(fit, StartupFit)
    logs = [math.log(start) for start in seconds]
    mean = sum(logs) / 6
    deviation = math.sqrt(sum((log - mean) ** 2 for log in logs) / 5)
    quantile = student_quantile(1 - 0.001, 5)
    reach = mean + quantile * deviation * math.sqrt(1 + 1 / 6)
    needed = math.exp(reach)
    assert fit.needed.total_seconds() == pytest.approx(needed, abs=1e-3)
    assert fit.probe == replace(
        RECORDED,
        initial_delay_seconds=0,
        period_seconds=1,
        failure_threshold=math.ceil(needed) + 1,
    )


def test_starts_are_probed_every_ten_seconds_at_the_least() -> None:
    fit = fit_startup(StartEvidence((300.0,) * 5), RECORDED, GOAL)

    assert isinstance(fit, StartupFit)
    assert fit.probe.period_seconds == 10
    assert fit.probe.failure_threshold == 46


def test_a_start_is_ended_no_oftener_than_the_goal_allows() -> None:
    assert FitGoal(timedelta(days=10), timedelta()).start_risk == 0.001
    assert FitGoal(timedelta(days=4_000), timedelta()).start_risk == 1 / 4_000


def test_starts_that_were_ended_are_refused() -> None:
    starts = StartEvidence((1.0, 2.0, 3.0, 4.0, 5.0), unfinished=2)

    text = missing_of(fit_startup(starts, RECORDED, GOAL))

    assert text == (
        "2 starts were ended before a first success, and how long they take is "
        "unknown: record with a larger failureThreshold of the startup probe, or "
        "initialDelaySeconds"
    )


def test_equal_starts_have_a_margin_all_the_same() -> None:
    fit = fit_startup(StartEvidence((20.0,) * 10), RECORDED, GOAL)

    assert isinstance(fit, StartupFit)
    assert fit.needed == timedelta(seconds=30)
    assert fit.probe.period_seconds == 2
    assert fit.probe.failure_threshold == 16


@pytest.mark.parametrize(
    ("successes", "trials", "bound"),
    [
        # 1 - 0.05 ** (1 / n); Clopper and Pearson's tables, one-sided.
        pytest.param(0, 100, 0.02951, id="none"),
        pytest.param(1, 100, 0.04656, id="one"),
        pytest.param(5, 10, 0.77756, id="half"),
        pytest.param(10, 10, 1.0, id="all"),
        # Wilson's, as there are more than a sum can be made of.
        pytest.param(3_000, 10_000, 0.30759, id="many"),
    ],
)
def test_the_upper_bound_is_clopper_and_pearsons(
    successes: int, trials: int, bound: float
) -> None:
    assert upper_bound(successes, trials) == pytest.approx(bound, abs=1e-4)


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 1), (1, 2), (7, 50), (99, 100), (2_000, 9_000)]
)
def test_at_the_upper_bound_so_few_successes_have_a_chance_of_a_twentieth(
    successes: int, trials: int
) -> None:
    bound = upper_bound(successes, trials)

    chance = math.fsum(
        math.exp(
            math.log(math.comb(trials, number))
            + number * math.log(bound)
            + (trials - number) * math.log1p(-bound)
        )
        for number in range(successes + 1)
    )
    assert chance == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize(
    ("successes", "trials"), [(2_001, 9_000), (3_000, 3_001), (50_000, 1_000_000)]
)
def test_the_upper_bound_of_many_is_as_far_away_as_one_success_in_twenty_is(
    successes: int, trials: int
) -> None:
    bound = upper_bound(successes, trials)

    deviation = math.sqrt(bound * (1 - bound) / trials)
    assert (bound - successes / trials) / deviation == pytest.approx(1.6448536269)


def test_the_upper_bound_is_no_more_than_always() -> None:
    assert [upper_bound(5, trials) for trials in (4, 5)] == [1.0, 1.0]
    assert upper_bound(5, 6) < 1


@pytest.mark.parametrize(
    ("probability", "freedom", "quantile"),
    [
        # From tables of Student's distribution.
        pytest.param(0.975, 10, 2.228, id="975-10"),
        pytest.param(0.999, 4, 7.173, id="999-4"),
        pytest.param(0.999, 30, 3.385, id="999-30"),
    ],
)
def test_students_quantile_is_near_that_of_tables(
    probability: float, freedom: int, quantile: float
) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(quantile, rel=0.04)


def test_students_quantile_is_the_sum_of_four_terms_of_the_series() -> None:
    # With x = 2 their g1, g2 and g3 are 10/4, 294/96 and 1,098/384.
    probability = NormalDist().cdf(2)

    assert student_quantile(probability, 1) == pytest.approx(
        2 + 10 / 4 + 294 / 96 + 1_098 / 384
    )
    assert student_quantile(probability, 2) == pytest.approx(
        2 + 10 / 8 + 294 / 384 + 1_098 / 3_072
    )


@given(
    st.lists(st.integers(1, 6), max_size=14),
    st.integers(100, 5_000),
    st.integers(1, 60),
    st.floats(1, 400),
)
@settings(max_examples=50, deadline=None)
def test_a_fitted_threshold_is_the_least_that_reaches_the_goal(
    runs: list[int], probes: int, period: int, days: float
) -> None:
    probe = replace(RECORDED, period_seconds=period, failure_threshold=7)
    evidence = ProbeEvidence(probe, probes + sum(runs), (0.1,), failure_runs=(*runs,))
    per = timedelta(days=days)

    fit = fit_liveness(evidence, FitGoal(per, timedelta(days=10_000)))

    assert isinstance(fit, LivenessFit)
    threshold = fit.probe.failure_threshold
    assert threshold > max(runs, default=0)
    assert fit.false_kill_every >= per * (1 - 1e-9)
    less = replace(fit.probe, failure_threshold=threshold - 1)
    assert threshold == max(runs, default=0) + 1 or (
        false_kill_every(evidence, less) < per
    )


@pytest.mark.parametrize(
    ("latencies", "p99", "slowest"),
    [
        pytest.param((), 0.0, 0.0, id="none"),
        pytest.param((3.0,), 3.0, 3.0, id="one"),
        pytest.param((2.0, 1.0), 2.0, 2.0, id="two"),
        pytest.param(range(100, 0, -1), 99, 100, id="a-hundred"),
        pytest.param(range(1, 102), 100, 101, id="one-more"),
        pytest.param(range(1, 201), 198, 200, id="two-hundred"),
    ],
)
def test_99_percent_take_no_longer(
    latencies: Sequence[float], p99: float, slowest: float
) -> None:
    evidence = ProbeEvidence(RECORDED, latencies=tuple(latencies))

    assert (evidence.p99, evidence.slowest) == (p99, slowest)


@pytest.mark.parametrize(
    ("successes_by", "p99", "slowest"),
    [
        pytest.param({0.5: 99, 1.0: 100, 2.5: 100}, 0.5, 1.0, id="bounds"),
        pytest.param({0.5: 98.9, 1.0: 100, 2.5: 100}, 1.0, 1.0, id="just-below"),
        pytest.param({2.5: 50, 10.0: 100}, 5.0, 5.0, id="no-longer-than-the-time-out"),
        pytest.param({2.5: 50, math.inf: 100}, 5.0, 5.0, id="beyond-all-bounds"),
    ],
)
def test_of_buckets_the_bounds_are_known(
    successes_by: dict[float, float], p99: float, slowest: float
) -> None:
    evidence = ProbeEvidence(RECORDED, successes_by=successes_by)

    assert (evidence.p99, evidence.slowest) == (p99, slowest)


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        pytest.param({}, "", id="enough"),
        pytest.param({"probes": 99}, "99 probes of the running", id="too-few"),
        pytest.param({"probes": 1}, "1 probe of the running", id="one"),
        pytest.param({"cut_off": 1}, "", id="one-in-a-hundred-cut-off"),
        pytest.param(
            {"cut_off": 2},
            "2 of 100 probes were cut off after 5 s, so how long they take is unknown: "
            "record with a larger timeoutSeconds",
            id="two-cut-off",
        ),
        pytest.param({"probes": 250, "cut_off": 2}, "", id="half-is-rounded-to-even"),
        pytest.param(
            {"cut_off": 2, "successes_by": {1.0: 100}},
            "2 of 100 probes may have been cut off after 5 s",
            id="buckets",
        ),
    ],
)
def test_what_is_missing_for_a_fit_of_liveness(
    fields: dict[str, Any], missing: str
) -> None:
    evidence = ProbeEvidence(RECORDED, **{"probes": 100, "latencies": (0.1,), **fields})

    fit = fit_liveness(evidence, FitGoal(timedelta(days=1), timedelta(days=1)))

    said = "; ".join(fit.missing) if isinstance(fit, NotFitted) else ""
    assert said.startswith(missing)
    assert bool(said) is bool(missing)


@pytest.mark.parametrize(
    ("slowest", "has_latencies", "limit"),
    [
        pytest.param(0.1, True, 1, id="a-second-at-least"),
        pytest.param(0.5, True, 1, id="just-a-second"),
        pytest.param(0.51, True, 2, id="rounded-up"),
        pytest.param(3.0, True, 6, id="twice-as-long"),
        pytest.param(0.0, False, 5, id="as-recorded-where-it-is-not-known"),
    ],
)
def test_a_time_out_is_twice_what_the_slowest_took(
    slowest: float, limit: int, *, has_latencies: bool
) -> None:
    evidence = ProbeEvidence(RECORDED, 1_000, (slowest,), has_latencies=has_latencies)

    fit = fit_liveness(evidence, FitGoal(timedelta(days=1), timedelta(days=1)))

    assert isinstance(fit, LivenessFit)
    assert fit.probe.timeout_seconds == limit


def chance_of(evidence: ProbeEvidence, threshold: int = 1) -> float:
    """Return with which chance a false kill begins at a tick."""
    probe = replace(evidence.probe, failure_threshold=threshold)
    return probe.period_seconds / false_kill_every(evidence, probe).total_seconds()


def test_probes_that_all_failed_are_taken_as_one_success() -> None:
    evidence = ProbeEvidence(RECORDED, 3, failure_runs=(2, 1))

    assert chance_of(evidence) == pytest.approx(upper_bound(2, 1 + 2))


@pytest.mark.parametrize(("begun", "counted"), [(0, 2), (1, 2), (2, 2), (5, 5)])
def test_runs_that_were_joined_are_counted_as_those_that_they_may_be(
    begun: int, counted: int
) -> None:
    evidence = ProbeEvidence(RECORDED, 500, failure_runs=(2, 1), begun=begun)

    bound = upper_bound(counted, 500 - 3 + counted)
    assert chance_of(evidence) == pytest.approx(bound)


@pytest.mark.parametrize(
    ("runs", "goes_on"),
    [
        pytest.param((), 0.5, id="none"),
        pytest.param((1,) * 9, 0.5, id="too-few"),
        pytest.param((1,) * 8 + (4,), 0.5, id="too-few-and-shorter"),
        pytest.param((4,) * 9, 0.75, id="too-few-and-longer"),
        pytest.param((1,) * 9 + (4,), upper_bound(3, 13), id="enough"),
    ],
)
def test_how_long_runs_last_is_known_of_ten(
    runs: tuple[int, ...], goes_on: float
) -> None:
    probe = replace(RECORDED, failure_threshold=50)
    evidence = ProbeEvidence(probe, 1_000, (0.1,), failure_runs=runs)

    ratio = chance_of(evidence, 2) / chance_of(evidence, 1)
    assert ratio == pytest.approx(goes_on, rel=1e-3)
    fit = fit_liveness(evidence, FitGoal(timedelta(days=1), timedelta(days=1)))
    assert isinstance(fit, LivenessFit)
    assert bool(fit.assumed) is (len(runs) < 10)


def test_a_threshold_that_is_never_reached_kills_after_half_of_all_time() -> None:
    evidence = ProbeEvidence(RECORDED, 1_000, (0.1,))
    probe = replace(RECORDED, failure_threshold=10_000)

    every = false_kill_every(evidence, probe)

    assert every / timedelta.max == pytest.approx(0.5)


def test_a_failure_may_be_noticed_as_late_as_the_goal_has_it() -> None:
    evidence = ProbeEvidence(RECORDED, 1_000, (0.1,))
    fit = fit_liveness(evidence, FitGoal(timedelta(days=1), timedelta(days=1)))
    assert isinstance(fit, LivenessFit)

    assert fit_liveness(evidence, FitGoal(timedelta(days=1), fit.noticed)) == fit
    sooner = fit.noticed - timedelta(seconds=1)
    assert fit_liveness(evidence, FitGoal(timedelta(days=1), sooner)) != fit


def test_of_periods_that_notice_as_soon_the_longest_is_told() -> None:
    evidence = ProbeEvidence(replace(RECORDED, period_seconds=12), 200, (0.1,))

    text = missing_of(fit_liveness(evidence, FitGoal(timedelta(days=1), timedelta())))

    # One each 8 seconds with a threshold of 12 takes 97 seconds as well.
    assert "soonest notice is 97 s (periodSeconds 12, failureThreshold 8)" in text


@pytest.mark.parametrize(
    ("seconds", "period"),
    [
        *((4, 1), (14, 1), (16, 2), (24, 2), (26, 3), (94, 9), (96, 10), (300, 10)),
    ],
)
def test_a_start_is_probed_ten_times_within_its_usual_length(
    seconds: float, period: int
) -> None:
    fit = fit_startup(StartEvidence((float(seconds),) * 5), RECORDED, GOAL)

    assert isinstance(fit, StartupFit)
    assert fit.probe.period_seconds == period


def test_a_start_that_took_no_time_has_a_second() -> None:
    fit = fit_startup(StartEvidence((0.0,) * 5), RECORDED, GOAL)

    assert isinstance(fit, StartupFit)
    assert fit.needed == timedelta(seconds=0.001)
    assert (fit.probe.period_seconds, fit.probe.failure_threshold) == (1, 2)


def test_one_start_too_few_and_one_that_was_ended_are_told_as_one() -> None:
    text = missing_of(fit_startup(StartEvidence((1.0,), 1), RECORDED, GOAL))

    assert text.startswith("1 start seen; 5 are needed: ")
    assert "; 1 start was ended before a first success, " in text
