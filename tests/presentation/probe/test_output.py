"""The full output of a probe, which probetui keeps."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.analysis.timeline import Timeline
from probetui.k8s.probe import HTTPHeader
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeResult
from probetui.presentation.container.detail import Subject
from probetui.presentation.probe.output import output_lines, shown_tick
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.why import attempt_sentences
from probetui.record.masking import Mask
from tests.presentation.looking import VIEW
from tests.ticks import demo_tick
from tests.tui.snapshots import demo

ANSWER = HTTPAnswer(
    500,
    (HTTPHeader("Content-Type", "text/plain"), HTTPHeader("Set-Cookie", "id=1")),
    "database: gone\ncache: \x1b[31mfine",
)
FAILED = Attempt(
    ProbeResult.FAILURE,
    "HTTP probe failed with statuscode: 500",
    None,
    timedelta(milliseconds=3),
    "HTTP 500",
    ANSWER,
)


def a_tick(*attempts: Attempt) -> TickEntry:
    return demo_tick("f", attempts=attempts)


def output_texts(tick: TickEntry | None, view: View = VIEW) -> list[str]:
    return [text_of(line) for line in output_lines(tick, view)]


def test_a_response_is_shown_with_its_headers_and_the_body_that_no_event_shows() -> (
    None
):
    assert output_texts(a_tick(FAILED)) == [
        "attempt 1/3  HTTP 500 in 3ms -> failure",
        "  HTTP probe failed with statuscode: 500",
        "status    500",
        "header    Content-Type: text/plain",
        "header    Set-Cookie: ***",
        "body      database: gone",
        r"          cache: \x1b[31mfine",
        "",
    ]


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        pytest.param("no such file", ["error in 2ms: no such file"], id="once"),
        pytest.param(
            "one\ntwo", ["error in 2ms: one⏎two", "  one", "  two"], id="several lines"
        ),
    ],
)
def test_an_error_that_fits_in_one_line_is_shown_once(
    error: str, lines: list[str]
) -> None:
    errored = Attempt(ProbeResult.UNKNOWN, "", error, timedelta(milliseconds=2))

    first, *others = lines
    assert output_texts(a_tick(errored)) == [f"attempt 1/3  {first}", *others, ""]


def test_secrets_in_headers_are_shown_on_request() -> None:
    view = replace(VIEW, mask=Mask(hides=False))

    assert "header    Set-Cookie: id=1" in output_texts(a_tick(FAILED), view)


def test_followed_redirects_are_shown_in_order() -> None:
    answer = HTTPAnswer(200, redirects=("/a", "/b"))
    attempt = Attempt(ProbeResult.SUCCESS, "ok", None, timedelta(), "HTTP 200", answer)

    assert output_texts(a_tick(attempt))[2:4] == ["followed  /a", "followed  /b"]
    assert "Redirects followed on the same host: /a, then /b." in list(
        attempt_sentences(a_tick(attempt), VIEW)
    )


def test_a_truncated_response_is_marked() -> None:
    answer = HTTPAnswer(200, (HTTPHeader("a", "b"),), cut_bytes=4_800_000)
    attempt = Attempt(ProbeResult.SUCCESS, http=answer)

    lines = output_texts(a_tick(attempt))

    assert lines[-3:] == [
        "header    a: b",
        "cut: 4.8MB of headers and redirects",
        "",
    ]


def test_a_redirect_to_another_host_shows_its_target() -> None:
    answer = HTTPAnswer(302, (HTTPHeader("location", "http://example.org/"),))
    attempt = Attempt(ProbeResult.WARNING, "", None, timedelta(), "HTTP 302", answer)

    assert "Redirect to another host, not followed: http://example.org/." in list(
        attempt_sentences(a_tick(attempt), VIEW)
    )


def test_the_beginning_of_a_body_is_part_of_the_explanation() -> None:
    assert any(
        sentence.startswith("Response body (in no event): database: gone")
        for sentence in attempt_sentences(a_tick(FAILED), VIEW)
    )


def test_all_attempts_are_shown() -> None:
    error = Attempt(ProbeResult.UNKNOWN, error="cannot")

    headings = [
        line for line in output_texts(a_tick(error, error)) if "attempt" in line
    ]

    assert len(headings) == 2


def test_missing_output_is_stated() -> None:
    attempt = Attempt(ProbeResult.SUCCESS, "")

    assert "  (no output)" in output_texts(a_tick(attempt))
    assert output_texts(None) == ["not probed yet"]
    assert output_texts(a_tick()) == ["the probe did not run in this tick: no output"]


def test_the_output_is_that_of_the_selected_tick() -> None:
    pod = demo()
    container = pod.containers[0]
    probe = container.probes[0]
    timeline = Timeline.of(probe.history)

    newest = shown_tick(Subject(pod, container, probe))
    older = shown_tick(Subject(pod, container, probe, timeline, 2))

    assert newest is probe.last_run
    assert older is probe.history[2]
    assert shown_tick(Subject(pod, container, None)) is None
