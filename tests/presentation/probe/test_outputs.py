"""The output of probes and containers on the screen."""

from __future__ import annotations

from datetime import timedelta

from probetui.k8s.runtime import LogLine
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.container.logs import log_cells, log_text
from probetui.presentation.probe.output import output_block, output_blocks
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import View
from probetui.record.masking import Mask
from tests.presentation.looking import TIMES, VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NOW, a_tick
from tests.tui.snapshots import a_probe_snapshot, clock


def test_every_run_of_a_probe_is_listed_with_the_newest_first() -> None:
    probe = a_probe_snapshot(DEMO_KEY, LIVENESS, "|dsf", last_at=clock("08:21:05.1"))

    assert [text_of(block) for block in output_blocks(probe, VIEW)] == [
        "probe #3  08:21:05.1  ✗ exit 1 in 34ms",
        "  cat: can't open '/tmp/healthy': No such file or directory",
        "probe #2  08:21:00.1  ✓ exit 0 in 28ms",
        "  ok",
    ]


def test_an_empty_output_is_stated() -> None:
    tick = a_tick(DEMO_KEY, NOW, attempts=(Attempt(ProbeResult.SUCCESS, ""),))

    (heading,) = [text_of(line) for line in output_block(tick, VIEW)]
    assert heading.endswith("  no output")


def test_a_probe_that_could_not_run_shows_its_error() -> None:
    probe = a_probe_snapshot(DEMO_KEY, LIVENESS, "|e")

    lines = [text_of(block) for block in output_blocks(probe, VIEW)]

    assert lines[1] == '  exec: "cat": executable file not found'


def test_a_long_output_is_shown_in_full() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    tick = a_tick(DEMO_KEY, NOW, attempts=(Attempt(ProbeResult.SUCCESS, text),))

    lines = [text_of(line) for line in output_block(tick, VIEW)]

    assert lines[1] == "  line 0"
    assert lines[-1] == "  line 999"


def test_a_log_line_has_its_time_if_known() -> None:
    at = NOW - timedelta(seconds=1)

    assert text_of(log_cells(LogLine(at, "here"), VIEW)) == "08:21:06.0 here"
    assert text_of(log_cells(LogLine(None, "here"), VIEW)) == "here"


def test_a_line_of_standard_error_has_a_mark() -> None:
    line = LogLine(None, "oops", is_stderr=True)

    assert text_of(log_cells(line, VIEW)) == "! oops"


def test_a_line_after_a_gap_is_marked() -> None:
    line = log_cells(LogLine(None, "on"), VIEW, is_after_skip=True)

    assert text_of(line) == "(lines may be missing) on"


def test_escape_sequences_in_output_are_shown_and_not_obeyed() -> None:
    view = View(TIMES, mask=Mask(["s3cr3t-token"]))
    text = "\x1b[2J[red]\udcff\u202e\ts3cr3t-token\r\n"

    assert log_text(LogLine(None, text), view) == "\\x1b[2J[red]\\xff\\u202e    ***"
