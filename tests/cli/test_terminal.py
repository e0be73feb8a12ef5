"""The choice between the screen and plain lines."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from probetui.cli.terminal import Form, Terminal, choose_form, draws_unicode
from probetui.errors import UsageError

ALL = Terminal(
    stdin=True, stdout=True, stderr=True, term="xterm-256color", has_keyboard=True
)


def form(
    terminal: Terminal = ALL,
    wanted: str | None = None,
    *,
    reads_stdin: bool = False,
    records_to_stdout: bool = False,
) -> Form:
    return choose_form(
        terminal,
        wanted=wanted,
        reads_stdin=reads_stdin,
        records_to_stdout=records_to_stdout,
    )


def test_a_terminal_gets_the_screen() -> None:
    assert form() is Form.SCREEN


def test_plain_prints_lines_on_any_terminal() -> None:
    assert form(wanted="plain") is Form.LINES


@pytest.mark.parametrize(
    ("terminal", "reason"),
    [
        pytest.param(replace(ALL, stdin=False), "standard input", id="stdin"),
        pytest.param(replace(ALL, stderr=False), "standard error", id="stderr"),
        pytest.param(replace(ALL, term="dumb"), 'TERM="dumb"', id="TERM=dumb"),
        pytest.param(replace(ALL, term=""), 'TERM=""', id="no TERM"),
    ],
)
def test_an_incomplete_terminal_gets_lines_and_tui_is_refused_with_the_reason(
    terminal: Terminal, reason: str
) -> None:
    assert form(terminal) is Form.LINES
    with pytest.raises(UsageError, match=reason):
        form(terminal, "tui")


def test_a_pipe_on_stdout_gets_lines_unless_tui_is_given() -> None:
    piped = replace(ALL, stdout=False)

    assert form(piped) is Form.LINES
    assert form(piped, "tui") is Form.SCREEN


def test_a_record_on_a_pipe_does_not_disable_the_screen() -> None:
    assert form(replace(ALL, stdout=False), records_to_stdout=True) is Form.SCREEN


def test_a_record_is_not_printed_to_the_screen() -> None:
    assert form(records_to_stdout=True) is Form.LINES
    with pytest.raises(UsageError, match="would write into the screen"):
        form(wanted="tui", records_to_stdout=True)


def test_a_piped_manifest_allows_the_screen_if_the_keyboard_opens() -> None:
    piped = replace(ALL, stdin=False)

    assert form(piped, reads_stdin=True) is Form.SCREEN
    assert form(replace(piped, has_keyboard=False), reads_stdin=True) is Form.LINES


@pytest.mark.parametrize(
    ("encoding", "draws"),
    [
        pytest.param("utf-8", True, id="UTF-8"),
        pytest.param("latin-1", False, id="ISO 8859-1"),
        pytest.param("ascii", False, id="ASCII"),
        pytest.param("cp437", False, id="has lines, but no marks"),
    ],
)
def test_the_screen_uses_the_capabilities_of_the_terminal(
    encoding: str,
    draws: bool,  # noqa: FBT001  # a column
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")

    assert draws_unicode(stream) is draws
    assert draws_unicode(None)
