"""Fitted settings have the promised effect, for applications with known behavior."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
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
