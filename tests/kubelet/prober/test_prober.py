from __future__ import annotations

import pytest

from probetui.k8s.probe import ProbeType
from probetui.kubelet.outcome import (
    FORWARDED,
    NOT_TIMED,
    Attempt,
    ProbeOutcome,
    ProbeResult,
    Result,
)
from probetui.kubelet.prober.prober import judge_outcome
from tests.builders import START, an_outcome


@pytest.mark.parametrize(
    ("outcome", "result", "reason", "message"),
    [
        pytest.param(ProbeResult.SUCCESS, Result.SUCCESS, None, None, id="success"),
        pytest.param(
            ProbeResult.WARNING,
            Result.SUCCESS,
            "ProbeWarning",
            "Liveness probe warning: a\n%s",
            id="a warning is a success",
        ),
        pytest.param(
            ProbeResult.FAILURE,
            Result.FAILURE,
            "Unhealthy",
            "Liveness probe failed: a\n%s",
            id="failure",
        ),
        pytest.param(
            ProbeResult.UNKNOWN,
            Result.FAILURE,
            "Unhealthy",
            "Liveness probe failed: a\n%s",
            id="unknown is a failure",
        ),
    ],
)
def test_the_outcome_decides_the_result(
    outcome: ProbeResult, result: Result, reason: str | None, message: str | None
) -> None:
    judged = judge_outcome(ProbeType.LIVENESS, an_outcome(outcome, output="a\n%s"))

    assert judged == (result, None, reason, message)


@pytest.mark.parametrize("outcome", list(ProbeResult), ids=str)
def test_an_error_takes_precedence_over_the_outcome(outcome: ProbeResult) -> None:
    """Quirk: its event has the reason of a failure, though nothing comes of it."""
    judged = judge_outcome(ProbeType.STARTUP, an_outcome(outcome, error="e"))

    assert judged == (Result.FAILURE, "e", "Unhealthy", "Startup probe errored: e")


def test_an_error_without_words_is_an_error() -> None:
    judged = judge_outcome(ProbeType.READINESS, an_outcome(error=""))

    assert judged.error == ""
    assert judged.message == "Readiness probe errored: "


def test_the_last_attempt_counts() -> None:
    attempts = (Attempt(ProbeResult.UNKNOWN, error="e"), Attempt(ProbeResult.SUCCESS))

    judged = judge_outcome(ProbeType.LIVENESS, ProbeOutcome(attempts, START))

    assert judged == (Result.SUCCESS, None, None, None)


@pytest.mark.parametrize(
    ("detail", "is_timed", "is_forwarded"),
    [
        pytest.param("200 OK", True, False, id="its own"),
        pytest.param(NOT_TIMED, False, False, id="observed"),
        pytest.param(f"200 OK, {FORWARDED}", True, True, id="forwarded"),
        pytest.param(f"{FORWARDED}, 200 OK", True, False, id="said elsewhere"),
    ],
)
def test_an_attempts_detail_says_where_it_comes_from(
    detail: str, *, is_timed: bool, is_forwarded: bool
) -> None:
    attempt = Attempt(ProbeResult.SUCCESS, detail=detail)

    assert (attempt.is_timed, attempt.is_forwarded) == (is_timed, is_forwarded)


def test_a_result_is_printed_as_the_kubelet_does() -> None:
    assert [str(result) for result in Result] == ["Unknown", "Success", "Failure"]
