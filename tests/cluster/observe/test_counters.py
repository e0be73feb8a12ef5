"""Ticks derived from counters, compared with the log of a real kubelet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.cluster.observe.probe_counters import (
    CountedTicks,
    NodeCounters,
    ProbeCounts,
    SeriesReader,
)
from probetui.cluster.observe.result_run import ResultRun
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.worker import Worker
from probetui.kubelet_rules import PORTED_RULES, KubeletRules, rules_of
from tests.builders import START, a_container, a_key, a_pod
from tests.cluster import recording
from tests.cluster.recording import Poll, TrueTick

_SLACK = timedelta(milliseconds=100)
"""The kubelet's log line and the counter are written one after the other."""


def _result_run(
    probe: Probe, kind: ProbeType, rules: KubeletRules = PORTED_RULES
) -> ResultRun:
    container = a_container()
    return ResultRun(
        Worker(a_key(kind), a_pod(container), container, probe, rules=rules)
    )


def _observed(chosen: list[Poll]) -> Iterator[CountedTicks]:
    counters = NodeCounters()
    periods = {key: it.period_seconds for key, it in recording.probes().items()}
    for poll in chosen:
        yield from counters.observe(
            poll.counts, poll.asked_at, poll.answered_at, periods
        )


class _Truth:
    """The ticks of one worker without errors, consumed in order."""

    def __init__(self, key: ProbeKey) -> None:
        ticks = recording.true_ticks().get(key, [])
        self._left = [tick for tick in ticks if tick.result is not None]

    def consume(self, counted: CountedTicks) -> list[TrueTick]:
        ticks = self._left[: counted.counts.total]
        del self._left[: counted.counts.total]
        return ticks


def _counts(ticks: list[TrueTick]) -> ProbeCounts:
    failures = sum(tick.result is Result.FAILURE for tick in ticks)
    return ProbeCounts(len(ticks) - failures, failures)


_EVERY = {
    "every 0.5 s": (lambda _: 1, {"Liveness": 0.898, "Readiness": 0.992, "Startup": 1}),
    "every half period": (
        lambda period: max(1, period),
        {"Liveness": 0.877, "Readiness": 0.991, "Startup": 1},
    ),
}


@pytest.mark.parametrize(("stride_of", "least"), _EVERY.values(), ids=_EVERY.keys())
def test_what_is_exact_is_the_truth_and_as_much_as_can_be(
    stride_of: Callable[[int], int], least: dict[str, float]
) -> None:
    exact: dict[str, int] = defaultdict(int)
    ticks: dict[str, int] = defaultdict(int)
    for key, probe in recording.probes().items():
        stride = stride_of(probe.period_seconds)
        for phase in range(min(4, stride)):
            truth = _Truth(key)
            ticks[key.probe_type] += len(recording.true_ticks().get(key, []))
            run, true_run = _result_run(probe, key.probe_type), _TrueRun(key, probe)
            for counted in _observed(list(recording.polls()[phase::stride])):
                if counted.key == key:
                    consumed = truth.consume(counted)
                    _assert_true(counted, consumed)
                    if not (counted.counts.successes and counted.counts.failures):
                        exact[key.probe_type] += len(consumed)
                    _count(run, counted)
                    for tick in consumed:
                        true_run.count(tick.result)
                    _assert_run(run, true_run)
    for kind, share in least.items():
        assert exact[kind] / ticks[kind] >= share - 0.0005, kind


def _assert_true(counted: CountedTicks, ticks: list[TrueTick]) -> None:
    assert _counts(ticks) == counted.counts
    for tick in ticks:
        assert counted.earliest - _SLACK <= tick.at <= counted.latest + _SLACK


def _assert_run(run: ResultRun, true_run: _TrueRun) -> None:
    bound = run.bound
    if bound.is_exact:
        assert (bound.last, bound.run) == (true_run.last, true_run.run)
    elif bound.last is true_run.last and true_run.reached is None:
        assert bound.run <= true_run.run
    if run.reached is not None:
        assert run.reached is true_run.reached


class _TrueRun:
    """The result run of a worker by the kubelet's rule, from all results."""

    def __init__(self, key: ProbeKey, probe: Probe) -> None:
        self._probe = probe
        self._kind = key.probe_type
        self.last, self.run = Result.SUCCESS, 0
        self.reached: Result | None = None

    def count(self, result: Result | None) -> None:
        if result is None:
            return
        self.run = self.run + 1 if result is self.last else 1
        self.last, self.reached = result, None
        failed = result is Result.FAILURE
        most = self._probe.failure_threshold
        most = most if failed else self._probe.success_threshold
        if self.run >= most:
            self.reached = result
            holds = self._kind is ProbeType.STARTUP or (
                self._kind is ProbeType.LIVENESS and failed
            )
            self.run = 0 if holds else self.run


def _count(run: ResultRun, counted: CountedTicks) -> None:
    if counted.is_baseline:
        run.forget("baseline")
        return
    if counted.is_new_worker:
        run.begin()
    if counted.counts.successes and counted.counts.failures:
        run.count_in_any_order(counted.counts)
    else:
        run.count(Result.SUCCESS, counted.counts.successes)
        run.count(Result.FAILURE, counted.counts.failures)


_KINDS = st.sampled_from(list(ProbeType))
_RESULTS = st.lists(st.sampled_from([Result.SUCCESS, Result.FAILURE]), max_size=40)


@given(
    kind=_KINDS,
    failures=st.integers(1, 4),
    successes=st.integers(1, 3),
    results=_RESULTS,
    cuts=st.lists(st.integers(0, 40), max_size=20),
    joined_at=st.integers(0, 40),
)
def test_a_run_that_is_called_exact_is_and_a_bound_is_none_too_high(
    kind: ProbeType,
    failures: int,
    successes: int,
    results: list[Result],
    cuts: list[int],
    joined_at: int,
) -> None:
    probe = Probe(None, failure_threshold=failures, success_threshold=successes)
    run = _result_run(probe, kind)
    truth = _TrueRun(ProbeKey("u", "c", kind), probe)
    edges = sorted({0, len(results), *(cut for cut in cuts if cut < len(results))})
    for first, last in pairwise(edges):
        part = results[first:last]
        for result in part:
            truth.count(result)
        if first < joined_at:
            run.forget("joined later")
            continue
        failed = part.count(Result.FAILURE)
        counts = ProbeCounts(len(part) - failed, failed)
        if counts.successes and counts.failures:
            run.count_in_any_order(counts)
        else:
            run.count(part[0], len(part))
        bound = run.bound
        if bound.is_exact:
            assert (bound.last, bound.run) == (truth.last, truth.run)
        elif bound.last is truth.last and truth.reached is None:
            assert bound.run <= truth.run
        if run.reached is not None:
            assert run.reached is truth.reached


_SECOND = timedelta(seconds=1)
_KEY = ProbeKey("uid", "app", ProbeType.LIVENESS)
_OTHER = ProbeKey("uid", "app", ProbeType.READINESS)


class _Poller:
    """Polls one kubelet each second."""

    def __init__(self) -> None:
        self._counters = NodeCounters()
        self._now = START

    def poll(self, **counts: ProbeCounts | None) -> list[CountedTicks]:
        self._now += _SECOND
        found = {
            key: value
            for key, value in (
                (_KEY, counts.get("live")),
                (_OTHER, counts.get("ready")),
            )
            if value is not None
        }
        return list(
            self._counters.observe(found, self._now, self._now, {_KEY: 2, _OTHER: 2})
        )

    def fail(self) -> None:
        self._now += _SECOND
        self._counters.fail()


def test_a_count_that_falls_is_a_restart_for_all_of_the_node() -> None:
    poller = _Poller()
    poller.poll(live=ProbeCounts(9, 0), ready=ProbeCounts(1, 0))

    found = poller.poll(live=ProbeCounts(1, 0), ready=ProbeCounts(1, 0))

    assert [(it.key, it.counts, it.is_new_worker, it.may_lack) for it in found] == [
        (_KEY, ProbeCounts(1, 0), True, True),
        (_OTHER, ProbeCounts(1, 0), True, True),
    ]


def test_a_series_that_was_missing_starts_again() -> None:
    poller = _Poller()
    poller.poll(live=ProbeCounts(5, 3))
    poller.poll()

    (found,) = poller.poll(live=ProbeCounts(6, 3))

    assert (found.counts, found.is_new_worker) == (ProbeCounts(6, 3), True)


def test_after_failed_polls_low_counts_may_be_those_of_a_restarted_kubelet() -> None:
    poller = _Poller()
    poller.poll(live=ProbeCounts(2, 0))
    poller.fail()

    (found,) = poller.poll(live=ProbeCounts(3, 0))

    assert (found.is_baseline, found.may_lack) == (True, True)


def test_a_higher_count_after_failed_polls_continues_the_series() -> None:
    poller = _Poller()
    poller.poll(live=ProbeCounts(90, 0))
    poller.fail()

    (found,) = poller.poll(live=ProbeCounts(91, 0))

    assert (found.counts, found.is_new_worker) == (ProbeCounts(1, 0), False)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'prober_probe_total{probe_type="Liveness"} 1', id="labels"),
        pytest.param(b"prober_probe_total{} NaN", id="number"),
        pytest.param(
            b'prober_probe_total{container="a",pod_uid="u",probe_type="Liveness",'
            b'result="successful"} 1e999',
            id="infinite",
        ),
        pytest.param(b"\xff\x00" * 1000, id="bytes"),
    ],
)
def test_what_is_no_series_is_left_out(text: bytes) -> None:
    assert SeriesReader().read(text) == {}


def test_labels_are_read_in_any_order_with_escapes() -> None:
    text = (
        b'prober_probe_total{result="failed",pod="a\\"b",probe_type="Startup",'
        b'pod_uid="u",container="c"} 3\n'
    )

    assert SeriesReader().read(text) == {
        ProbeKey("u", "c", ProbeType.STARTUP): ProbeCounts(0, 3)
    }


def test_failures_of_which_the_beginning_is_unknown_are_a_bound() -> None:
    run = _result_run(Probe(None, failure_threshold=3), ProbeType.LIVENESS)
    run.forget("joined later")

    run.count(Result.FAILURE)
    run.record_same_instance()
    run.count(Result.FAILURE)

    assert run.bound == (Result.FAILURE, 2, False, "joined later")
    assert run.reached is None


def test_a_success_makes_an_unknown_run_exact_again() -> None:
    run = _result_run(Probe(None, failure_threshold=3), ProbeType.LIVENESS)
    run.forget("joined later")

    for result in (Result.FAILURE, Result.SUCCESS, Result.FAILURE):
        run.count(result)

    assert run.bound == (Result.FAILURE, 1, True, "")


@pytest.mark.parametrize(("version", "run"), [("1.20", 2), ("1.32", 0)])
def test_a_run_is_counted_by_the_rules_of_the_nodes_kubelet(
    version: str, run: int
) -> None:
    probe = Probe(None, failure_threshold=3)
    observed = _result_run(probe, ProbeType.STARTUP, rules_of(version))

    observed.count(Result.SUCCESS, 2)

    assert observed.bound == (Result.SUCCESS, run, True, "")
