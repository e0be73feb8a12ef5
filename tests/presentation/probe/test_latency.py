"""Probe latencies, and how soon failures are detected."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.analysis.timing import notice_delay
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet_rules import PORTED_RULES
from probetui.presentation.probe.detail import cost_line, latency_line, timing_lines
from probetui.presentation.text.spans import text_of
from tests.ticks import DEMO_KEY, LIVENESS, changed_tick
from tests.tui.snapshots import DEMO, a_probe_snapshot, demo


def seconds(probe: Probe) -> tuple[int, int]:
    soonest, latest = notice_delay(probe)
    return soonest // timedelta(seconds=1), latest // timedelta(seconds=1)


@pytest.mark.parametrize(
    ("period", "timeout", "failures", "expected"),
    [
        pytest.param(5, 1, 3, (10, 16), id="the documented example"),
        pytest.param(10, 1, 1, (0, 11), id="one failure is enough"),
        pytest.param(1, 4, 3, (2, 13), id="probes that take longer than a period"),
    ],
)
def test_the_bounds_of_failure_detection(
    period: int, timeout: int, failures: int, expected: tuple[int, int]
) -> None:
    probe = Probe(None, 0, timeout, period, 1, failures)

    assert seconds(probe) == expected


def test_latencies_of_the_last_runs() -> None:
    probe = a_probe_snapshot(DEMO_KEY, LIVENESS, "|sssf")

    assert text_of(latency_line(probe)).split(None, 1)[1] == (
        "last 34ms   median 28ms   max 34ms"
    )


def test_before_the_first_run_there_is_no_latency() -> None:
    probe = a_probe_snapshot(DEMO_KEY, LIVENESS, "dd")

    assert "not probed yet" in text_of(latency_line(probe))


def test_a_last_run_older_than_the_history_still_counts() -> None:
    probe = a_probe_snapshot(DEMO_KEY, LIVENESS, "s")

    line = text_of(latency_line(replace(probe, history=())))

    assert "last 28ms" in line


@pytest.mark.parametrize(
    ("period", "words"),
    [
        pytest.param(5, "12 runs a minute, 354ms of it spent probing", id="often"),
        pytest.param(120, "0.5 runs a minute, 14ms of it spent probing", id="seldom"),
    ],
)
def test_the_cost_of_probing(period: int, words: str) -> None:
    spec = replace(LIVENESS, period_seconds=period)

    assert words in text_of(cost_line(a_probe_snapshot(DEMO_KEY, spec, "|sssf")))


def test_a_probe_slower_than_its_period_runs_as_often_as_it_ends() -> None:
    spec = replace(LIVENESS, period_seconds=1, timeout_seconds=10)
    probe = a_probe_snapshot(DEMO_KEY, spec, "|sss")
    slow = tuple(
        changed_tick(
            tick, attempts=(replace(tick.attempts[0], duration=timedelta(seconds=5)),)
        )
        for tick in probe.history
        if tick.attempts
    )

    words = text_of(cost_line(replace(probe, history=slow)))

    assert "12 runs a minute (60 were due), 60s of it spent probing" in words


def test_probing_costs_nothing_before_the_first_run() -> None:
    assert "nothing yet" in text_of(cost_line(a_probe_snapshot(DEMO_KEY, LIVENESS)))


def test_a_readiness_probe_never_kills() -> None:
    container = demo().containers[0]
    key = DEMO_KEY._replace(probe_type=ProbeType.READINESS)

    lines = [
        text_of(line)
        for line in timing_lines(
            DEMO, container, a_probe_snapshot(key, LIVENESS), PORTED_RULES
        )
    ]

    assert lines[-1].endswith("not ready at once; never killed")
