"""Notes, warnings and errors for the user."""

from __future__ import annotations

import sys

import pytest

from probetui.cli.printing import NoteLevel, Notes, print_output


def test_every_note_is_a_line_on_standard_error(
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


def test_quiet_prints_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    notes = Notes(quiet=True)

    notes.note("one")
    notes.warning("two")
    notes.error("three")

    assert capsys.readouterr().err == "probetui: error: three\n"


def test_notes_are_redirected_to_the_screen_while_it_is_open(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown: list[tuple[NoteLevel, str]] = []
    notes = Notes(quiet=False)

    with notes.redirected(lambda weight, text: shown.append((weight, text))):
        notes.warning("on the screen")
    notes.note("after it")

    assert shown == [(NoteLevel.WARNING, "on the screen")]
    assert capsys.readouterr().err == "probetui: note: after it\n"


def test_a_closed_standard_error_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_escape_sequences_in_notes_are_escaped(
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
