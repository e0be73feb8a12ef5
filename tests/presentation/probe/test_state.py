"""A probe's gauge, its cell and its badge."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import BackoffSnapshot, ProbeSnapshot
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeHandler,
    ProbeType,
    TCPSocketAction,
)
from probetui.kubelet.journal import Skip
from probetui.kubelet.outcome import Result
from probetui.presentation.probe.state import (
    format_handler,
    format_timing,
    format_timing_briefly,
    next_tick,
    probe_state_word,
    run_gauge,
)
from probetui.presentation.text.spans import text_of
from probetui.presentation.tick.marks import UNICODE
from tests.presentation.looking import VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NOW
from tests.tui.snapshots import a_probe_snapshot

STARTUP_KEY = DEMO_KEY._replace(probe_type=ProbeType.STARTUP)
_SECOND = timedelta(seconds=1)


def a_probe(letters: str = "s", **fields: Any) -> ProbeSnapshot:
    spec = replace(LIVENESS, **fields.pop("spec", {}))
    return a_probe_snapshot(fields.pop("key", DEMO_KEY), spec, letters, **fields)


@pytest.mark.parametrize(
    ("probe", "shown"),
    [
        pytest.param(a_probe(""), "·", id="nothing yet"),
        pytest.param(a_probe("ss"), "✓", id="as stored"),
        pytest.param(a_probe("sf"), "✗·· 1/3", id="one failure"),
        pytest.param(a_probe("sff"), "✗✗· 2/3", id="two failures"),
        pytest.param(
            a_probe("fff", stored_result=Result.FAILURE), "✗", id="failure is stored"
        ),
        pytest.param(
            a_probe("fs", stored_result=Result.FAILURE, spec={"success_threshold": 2}),
            "✓· 1/2",
            id="towards success",
        ),
        pytest.param(
            a_probe("ffff", spec={"failure_threshold": 10}),
            "✗✗✗✗······ 4/10",
            id="ten places",
        ),
        pytest.param(
            a_probe("ffff", spec={"failure_threshold": 30}), "✗ 4/30", id="a number"
        ),
        pytest.param(
            a_probe("f", stored_result=Result.UNKNOWN),
            "✗·· 1/3",
            id="startup undecided",
        ),
        pytest.param(a_probe("sfffK"), "✓", id="reset on hold"),
        pytest.param(a_probe("eee"), "! err 3", id="errors only"),
        pytest.param(a_probe("sse"), "! err 1", id="an error after successes"),
        pytest.param(a_probe("ses"), "✓", id="a success after an error"),
        pytest.param(a_probe("sffe"), "✗✗· 2/3!", id="an error within a run"),
        pytest.param(a_probe("sw"), "~", id="a warning that counts as success"),
    ],
)
def test_gauge(probe: ProbeSnapshot, shown: str) -> None:
    assert text_of(run_gauge(probe, UNICODE)) == shown


def test_a_run_that_may_be_longer_is_shown_as_a_lower_bound() -> None:
    probe = replace(a_probe("sff"), run_doubt="it was joined in the middle")

    assert text_of(run_gauge(probe, UNICODE)) == "✗✗· >=2/3"


WAITING = BackoffSnapshot(20 * _SECOND, None, NOW + 71 * _SECOND, 40 * _SECOND)
IN_FLIGHT: dict[str, Any] = {"in_flight_since": NOW - 0.4 * _SECOND}
HELD: dict[str, Any] = {"on_hold": True, "upcoming_skip": Skip.ON_HOLD}
GATED: dict[str, Any] = {"upcoming_skip": Skip.NOT_STARTED}
DELAYED: dict[str, Any] = {
    "upcoming_skip": Skip.INITIAL_DELAY,
    "delay_until": NOW + 3 * _SECOND,
}


def test_the_next_tick_is_the_next_one_that_probes_if_there_is_one() -> None:
    gated = a_probe("g", **GATED, next_tick_at=NOW + _SECOND)
    probing = a_probe("s", next_tick_at=NOW + 2 * _SECOND)

    assert next_tick([gated, probing]) is probing
    assert next_tick([gated]) is gated
    assert next_tick([]) is None


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        pytest.param(ExecAction(("cat", "/a b")), "exec cat /a b", id="exec"),
        pytest.param(HTTPGetAction(80, "/x"), "http GET :80/x", id="http"),
        pytest.param(
            HTTPGetAction("web", "/", "h", "HTTPS"), "https GET h:web/", id="https"
        ),
        pytest.param(TCPSocketAction(9000), "tcp :9000", id="tcp"),
        pytest.param(GRPCAction(9000, "s"), "grpc :9000 s", id="grpc"),
        pytest.param(GRPCAction(9000), "grpc :9000", id="grpc without a service"),
        pytest.param(
            ExecAction(("echo", "\x1b[2J")), "exec echo \\x1b[2J", id="hostile"
        ),
        pytest.param(None, "no handler", id="none"),
    ],
)
def test_the_text_of_a_handler(handler: ProbeHandler | None, words: str) -> None:
    assert format_handler(Probe(handler), VIEW) == words


def test_the_timing_in_full_and_in_short() -> None:
    probe = replace(LIVENESS, success_threshold=2)

    assert format_timing(probe) == (
        "period 5s  timeout 1s  delay 5s  failures 3  successes 2"
    )
    assert format_timing_briefly(probe) == "every 5s, 3 failures, 2 successes"


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        pytest.param(a_probe("ss"), "", id="well"),
        pytest.param(a_probe("sf"), "failing", id="failing"),
        pytest.param(a_probe("", worker_alive=False), "", id="no worker"),
        pytest.param(a_probe("s", key=STARTUP_KEY), "done", id="startup done"),
        pytest.param(a_probe("ee"), "error", id="errors only"),
        pytest.param(a_probe("fffK", on_hold=True), "on hold", id="on hold"),
        pytest.param(
            a_probe("g", upcoming_skip=Skip.NOT_STARTED),
            "waiting for startup",
            id="gate",
        ),
        pytest.param(
            a_probe("d", upcoming_skip=Skip.INITIAL_DELAY), "initial delay", id="delay"
        ),
        pytest.param(
            a_probe("n", upcoming_skip=Skip.NOT_RUNNING), "not running", id="down"
        ),
    ],
)
def test_the_badge_of_a_probe(probe: ProbeSnapshot, words: str) -> None:
    assert probe_state_word(probe) == words
