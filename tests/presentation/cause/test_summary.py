"""What a session says on the terminal that its screen has left."""

from __future__ import annotations

from datetime import UTC

import pytest
from msgspec.structs import replace

from probetui.analysis.session_summary import SessionSummary, summarize_session
from probetui.drive.scenario.behavior import ProbeAnswer
from probetui.k8s.pod import Pod
from probetui.kubelet_rules import PORTED_RULES
from probetui.presentation.cause.summary import summary_lines
from probetui.presentation.text.view import TimeFormat, TimeFormatter, View
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.drive.engine_bench import FAILS, SUCCEEDS, EngineBench, always, probing

POD = a_pod(a_container(liveness_probe=a_probe(period_seconds=4)), name="web")
VIEW = View(TimeFormatter(at(14), START, TimeFormat.SINCE_START, UTC))


def summary_of(pod: Pod, answer: ProbeAnswer) -> SessionSummary:
    bench = EngineBench(pod, probing=probing(liveness=always(answer)))
    bench.run_until(14)
    return summarize_session(bench.journal, [pod], START, at(14), PORTED_RULES)


def lines(
    summary: SessionSummary,
    record: str = "/sessions/1.jsonl.gz",
    *,
    is_last: bool = True,
    view: View = VIEW,
) -> list[str]:
    return [*summary_lines(summary, [POD], view, record, is_last=is_last)]


def test_six_lines_say_how_long_what_was_worst_and_what_reads_the_record() -> None:
    assert lines(summary_of(POD, FAILS)) == [
        "The session ran for 14s: 1 kill, 1 restart.",
        (
            "Worst: web/app was killed at +12.0s: its liveness probe failed 3 of 3 "
            "times in a row (exit 0), because the probe failed after 0ms: not well."
        ),
        "Record: /sessions/1.jsonl.gz",
        "  probetui why     what happened to each container, and why",
        "  probetui replay  the session once more, forwards and back",
        "  probetui report  a page of it, to send and to keep",
    ]


def test_a_session_without_trouble_says_so() -> None:
    assert lines(summary_of(POD, SUCCEEDS))[:2] == [
        "The session ran for 14s: no kills, no restarts.",
        "Nothing failed.",
    ]


def test_commands_name_a_record_that_is_not_the_last_one() -> None:
    told = lines(summary_of(POD, SUCCEEDS), "/my sessions/1.jsonl", is_last=False)

    assert told[3:] == [
        "  probetui why '/my sessions/1.jsonl'",
        "  probetui replay '/my sessions/1.jsonl'",
        "  probetui report '/my sessions/1.jsonl'",
    ]


def test_nothing_reads_a_session_that_is_not_recorded() -> None:
    assert lines(summary_of(POD, SUCCEEDS), "")[2:] == ["Record: none."]


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "no would-be kills"), (1, "1 would-be kill"), (2, "2 would-be kills")],
    ids=["none", "one", "two"],
)
def test_kills_of_a_session_that_only_watches_are_would_be_kills(
    number: int, said: str
) -> None:
    summary = replace(summary_of(POD, SUCCEEDS), kills=number)

    assert f": {said}, " in lines(summary, view=replace(VIEW, acts=False))[0]
