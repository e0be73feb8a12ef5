from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.debugger.injection import delayed_outcome
from probetui.k8s.probe import Probe
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from tests.builders import (
    START,
    a_container,
    a_grpc_probe,
    a_key,
    a_pod,
    a_tcp_probe,
    an_exec_probe,
    an_http_probe,
)

APP = a_container()


def a_run_probe(probe: Probe | None = None) -> RunProbe:
    probe = probe or an_exec_probe("true", timeout_seconds=2)
    return RunProbe(1, a_key(), a_pod(APP), APP, probe, ContainerID("x://1"), "::1")


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def took(number: float, error: str | None = None) -> Attempt:
    result = ProbeResult.SUCCESS if error is None else ProbeResult.UNKNOWN
    return Attempt(result, "well", error, seconds(number), "exit 0")


def outcome(*attempts: Attempt) -> ProbeOutcome:
    total = sum((attempt.duration for attempt in attempts), timedelta())
    return ProbeOutcome(attempts, START, total)


def test_an_answer_within_the_limit_only_takes_longer() -> None:
    late = delayed_outcome(outcome(took(0.5)), seconds(1), a_run_probe())

    assert late == outcome(took(1.5))


@pytest.mark.parametrize("delay", [1.5, 1.6, 3600])
def test_an_answer_that_does_not_come_within_the_limit_is_a_time_out_at_the_limit(
    delay: float,
) -> None:
    late = delayed_outcome(outcome(took(0.5)), seconds(delay), a_run_probe())

    assert late.duration == late.last.duration == seconds(2)
    assert late.last.result is ProbeResult.FAILURE
    assert late.last.error is None


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        pytest.param(
            an_exec_probe("cat", "x y", timeout_seconds=2),
            'command timed out: "cat x y" timed out after 2s',
            id="exec",
        ),
        pytest.param(
            an_http_probe(8080, timeout_seconds=2),
            'Get "http://[::1]:8080/healthz": context deadline exceeded '
            "(Client.Timeout exceeded while awaiting headers)",
            id="http",
        ),
        pytest.param(
            a_tcp_probe(8080, timeout_seconds=2),
            "dial tcp [::1]:8080: i/o timeout",
            id="tcp",
        ),
        pytest.param(
            a_grpc_probe(8080, timeout_seconds=2),
            "timeout: health rpc did not complete within 2s",
            id="grpc",
        ),
    ],
)
def test_a_time_out_speaks_as_the_handler_does(probe: Probe, words: str) -> None:
    late = delayed_outcome(outcome(took(0)), seconds(2), a_run_probe(probe))

    assert late.last.output == words


def test_each_errored_attempt_is_answered_late() -> None:
    errored = took(0.1, "cannot be run")

    late = delayed_outcome(
        outcome(errored, errored, errored), seconds(1), a_run_probe()
    )

    assert [attempt.duration for attempt in late.attempts] == [seconds(1.1)] * 3
    assert late.duration == seconds(3.3)


def test_after_a_time_out_there_is_no_other_attempt() -> None:
    errored = took(0.1, "cannot be run")

    late = delayed_outcome(
        outcome(errored, errored, errored), seconds(2), a_run_probe()
    )

    assert len(late.attempts) == 1
    assert late.duration == seconds(2)


def test_an_attempt_that_has_timed_out_by_itself_stays_as_it_is() -> None:
    timed_out = outcome(took(2.03))

    assert delayed_outcome(timed_out, seconds(5), a_run_probe()) == timed_out


def test_an_attempt_that_is_alone_took_as_long_as_its_probe() -> None:
    simulated = ProbeOutcome((took(0),), START, seconds(0.5))

    late = delayed_outcome(simulated, seconds(1), a_run_probe())

    assert late.duration == seconds(1.5)
