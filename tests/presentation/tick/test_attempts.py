"""The result of an attempt, in the terms of its kind of probe."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest

from probetui.kubelet.outcome import FORWARDED, Attempt, ProbeResult
from probetui.presentation.text.view import TimeFormatter, View
from probetui.presentation.tick.why import attempt_predicate
from tests.builders import START

VIEW = View(TimeFormatter(START, START, zone=UTC))
TOOK = timedelta(milliseconds=34)


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        pytest.param(
            Attempt(ProbeResult.FAILURE, "not well", detail="exit 1"),
            "gave exit 1 after 34ms, output: not well",
            id="a command",
        ),
        pytest.param(
            Attempt(ProbeResult.SUCCESS, detail="exit 0"),
            "gave exit 0 after 34ms, no output",
            id="a command that is silent",
        ),
        pytest.param(
            Attempt(
                ProbeResult.FAILURE, "command timed out", detail="timed out, killed"
            ),
            "timed out, killed (after 34ms): command timed out",
            id="a command that takes too long",
        ),
        pytest.param(
            Attempt(ProbeResult.FAILURE, "HTTP probe failed", detail="HTTP 503"),
            "got HTTP 503 after 34ms: HTTP probe failed",
            id="an answer over HTTP",
        ),
        pytest.param(
            Attempt(ProbeResult.SUCCESS, detail="HTTP 204"),
            "got HTTP 204 after 34ms",
            id="an answer without a body",
        ),
        pytest.param(
            Attempt(ProbeResult.SUCCESS, "service healthy", detail="SERVING"),
            "got SERVING after 34ms: service healthy",
            id="an answer over gRPC",
        ),
        pytest.param(
            Attempt(ProbeResult.SUCCESS, detail="connected"),
            "connected after 34ms",
            id="a connection",
        ),
        pytest.param(
            Attempt(ProbeResult.FAILURE, "connection refused"),
            "failed after 34ms: connection refused",
            id="no connection",
        ),
        pytest.param(
            Attempt(ProbeResult.SUCCESS, detail=f"HTTP 204, {FORWARDED}"),
            "got HTTP 204 after 34ms by port-forward to 127.0.0.1 in the pod",
            id="an answer through a forwarded port",
        ),
        pytest.param(
            Attempt(ProbeResult.FAILURE, "connection refused", detail=FORWARDED),
            "failed after 34ms by port-forward to 127.0.0.1 in the pod: connection "
            "refused",
            id="no connection through a forwarded port",
        ),
        pytest.param(
            Attempt(ProbeResult.SUCCESS), "succeeded after 34ms", id="by a script"
        ),
        pytest.param(
            Attempt(ProbeResult.UNKNOWN, error="no such file"),
            "could not run (34ms): no such file",
            id="an error",
        ),
    ],
)
def test_an_attempt_is_described_in_the_terms_of_its_kind(
    attempt: Attempt, words: str
) -> None:
    taken = Attempt(attempt.result, attempt.output, attempt.error, TOOK, attempt.detail)

    assert attempt_predicate(taken, VIEW) == words
