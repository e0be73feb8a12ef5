"""What containers printed last and what hooks did is told where they failed."""

from __future__ import annotations

import pytest

from probetui.k8s.runtime import ContainerID, LogLine
from probetui.kubelet.journal import HookEntry, HookType, LastOutputEntry
from probetui.presentation.container.evidence import (
    hook_sentences,
    hook_text,
    last_line,
    last_line_sentence,
    output_lines,
    own_message,
)
from probetui.presentation.text.view import TimeFormat, TimeFormatter, View
from probetui.record.masking import Mask
from tests.builders import START, at

MASK = Mask(["hunter22"])
VIEW = View(TimeFormatter(at(42), START, TimeFormat.SINCE_START), mask=MASK)
ID = ContainerID("fake://1")


def printed(*texts: str, message: str = "") -> LastOutputEntry:
    lines = tuple(LogLine(None, text) for text in texts)
    return LastOutputEntry(1, START, "uid", "app", ID, 0, lines, message)


def a_hook(error: str | None, output: str = "", *, ended: bool = True) -> HookEntry:
    ended_at = at(3.5) if ended else None
    return HookEntry(
        1, START, "uid", "app", ID, HookType.PRE_STOP, at(2), ended_at, error, output
    )


UNREADABLE = LastOutputEntry(1, START, "uid", "app", ID, 0, None, "", "no such log")


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        pytest.param(
            printed("a", "no database"), 'Its last line was "no database".', id="line"
        ),
        pytest.param(
            printed("no database", "", "  "),
            'Its last line was "no database".',
            id="blank lines at the end",
        ),
        pytest.param(
            printed("uses hunter22"), 'Its last line was "uses ***".', id="secret"
        ),
        pytest.param(
            printed("\x1b[2J\udcff\u202e"),
            r'Its last line was "\x1b[2J\xff\u202e".',
            id="what a terminal would obey",
        ),
        pytest.param(
            printed(message="bye\n"), 'Its termination message is "bye".', id="message"
        ),
        pytest.param(printed(), "It printed nothing.", id="nothing"),
        pytest.param(
            UNREADABLE,
            "What it printed last could not be read: no such log",
            id="unreadable",
        ),
    ],
)
def test_the_last_line_is_a_sentence(entry: LastOutputEntry, sentence: str) -> None:
    assert last_line_sentence(entry, VIEW) == sentence


def test_a_long_last_line_is_shortened_in_its_sentence_and_whole_below() -> None:
    entry = printed("x" * 500)

    (heading, line) = output_lines(entry, VIEW)

    assert len(last_line_sentence(entry, VIEW)) < 200
    assert heading == "It last printed:"
    assert line == f"  {'x' * 500}"


def test_all_lines_are_printed_below_a_heading_without_secrets() -> None:
    entry = printed("opens hunter22", "panic: \x1b[31m", message="out of cheese\n")

    assert list(output_lines(entry, VIEW)) == [
        "It last printed:",
        "  opens ***",
        r"  panic: \x1b[31m",
        "(termination message)",
        "  out of cheese",
    ]


@pytest.mark.parametrize("entry", [printed(), printed("one"), UNREADABLE])
def test_a_single_line_is_not_repeated_below_its_sentence(
    entry: LastOutputEntry,
) -> None:
    assert list(output_lines(entry, VIEW)) == []


@pytest.mark.parametrize(
    ("message", "own"),
    [
        pytest.param("a\nb\n", "", id="FallbackToLogsOnError"),
        pytest.param("earlier\na\nb\n", "", id="of more lines than are kept"),
        pytest.param("b\n", "", id="of fewer lines"),
        pytest.param("xb\n", "xb", id="of its own"),
    ],
)
def test_a_message_that_repeats_the_output_is_left_out(message: str, own: str) -> None:
    assert own_message(printed("a", "b", message=message)) == own


def test_without_output_the_last_line_is_that_of_the_message() -> None:
    assert last_line(printed(message="one\ntwo\n")) == "two"


@pytest.mark.parametrize(
    ("hook", "sentences"),
    [
        pytest.param(
            a_hook(None, ended=False),
            ["Its preStop hook has run since +2.0s, for 40s."],
            id="runs",
        ),
        pytest.param(
            a_hook(None), ["Its preStop hook succeeded after 1.5s."], id="silent"
        ),
        pytest.param(
            a_hook(None, "HTTP 503: hunter22"),
            [
                "Its preStop hook succeeded after 1.5s.",
                "The hook printed: HTTP 503: ***",
            ],
            id="prints",
        ),
        pytest.param(
            a_hook("command 'x' exited with 3: ", "boom\n"),
            ["Its preStop hook failed after 1.5s: command 'x' exited with 3: boom"],
            id="fails, and printed on stdout",
        ),
    ],
)
def test_a_hook_is_described(hook: HookEntry, sentences: list[str]) -> None:
    assert list(hook_sentences(hook, VIEW)) == sentences


@pytest.mark.parametrize(
    ("error", "output", "text"),
    [
        ("exited with 3: err\n", "err\n", "exited with 3: err"),
        ("exited with 3: err\n", "outerr\n", "exited with 3: err; it printed: outerr"),
        ("connection refused", "", "connection refused"),
    ],
)
def test_what_a_failed_hook_printed_is_told_once(
    error: str, output: str, text: str
) -> None:
    assert hook_text(a_hook(error, output)) == text
