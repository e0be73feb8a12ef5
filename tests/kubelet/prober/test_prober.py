from __future__ import annotations

import pytest

from probetui.k8s.probe import ProbeType
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult, Result
from probetui.kubelet.prober.prober import judge_outcome
from tests.builders import START, an_outcome


@pytest.mark.parametrize(
    ("said", "result", "reason", "message"),
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
def test_what_was_said_decides(
    said: ProbeResult, result: Result, reason: str | None, message: str | None
) -> None:
    judged = judge_outcome(ProbeType.LIVENESS, an_outcome(said, output="a\n%s"))

    assert judged == (result, None, reason, message)


@pytest.mark.parametrize("said", list(ProbeResult), ids=str)
def test_an_error_outweighs_what_was_said(said: ProbeResult) -> None:
    """Quirk: its event has the reason of a failure, though nothing comes of it."""
    judged = judge_outcome(ProbeType.STARTUP, an_outcome(said, error="e"))

    assert judged == (Result.FAILURE, "e", "Unhealthy", "Startup probe errored: e")


def test_an_error_without_words_is_an_error() -> None:
    judged = judge_outcome(ProbeType.READINESS, an_outcome(error=""))

    assert judged.error == ""
    assert judged.message == "Readiness probe errored: "


def test_the_last_attempt_counts() -> None:
    attempts = (Attempt(ProbeResult.UNKNOWN, error="e"), Attempt(ProbeResult.SUCCESS))

    judged = judge_outcome(ProbeType.LIVENESS, ProbeOutcome(attempts, START))

    assert judged == (Result.SUCCESS, None, None, None)
