"""What is told to people."""

from __future__ import annotations

import sys

import pytest

from probetui.cli.printing import NoteLevel, Notes, print_output


def test_notes_go_to_standard_error_a_line_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    notes = Notes(quiet=False)

    notes.note("one\ntwo")
    notes.warning("three")
    notes.error("four")

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "probetui: note: one",
        "probetui: note: two",
        "probetui: warning: three",
        "probetui: error: four",
    ]


def test_quiet_leaves_the_errors(capsys: pytest.CaptureFixture[str]) -> None:
    notes = Notes(quiet=True)

    notes.note("one")
    notes.warning("two")
    notes.error("three")

    assert capsys.readouterr().err == "probetui: error: three\n"


def test_a_screen_gets_them_while_it_is_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told: list[tuple[NoteLevel, str]] = []
    notes = Notes(quiet=False)

    with notes.redirected(lambda weight, text: told.append((weight, text))):
        notes.warning("on the screen")
    notes.note("after it")

    assert told == [(NoteLevel.WARNING, "on the screen")]
    assert capsys.readouterr().err == "probetui: note: after it\n"


def test_nobody_left_to_tell_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, _text: str) -> None:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Gone())

    Notes(quiet=False).error("nobody hears this")


@pytest.mark.parametrize(
    ("is_terminal", "printed"),
    [
        pytest.param(False, "\x1b[31mred\n", id="into a pipe"),
        pytest.param(True, "red\n", id="on a terminal"),
    ],
)
def test_what_a_command_printed_is_obeyed_by_no_terminal(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,  # noqa: FBT001  # a column of the table
    printed: str,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)

    print_output(b"\x1b[31mred\n")

    out = capsys.readouterr().out
    assert ("\x1b" in out) is not is_terminal
    assert out.endswith(printed)
