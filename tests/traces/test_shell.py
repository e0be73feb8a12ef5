"""What commands come to, read from their text."""

from __future__ import annotations

import pytest

from tests.traces.shell import NotUnderstoodError, run


def sh(text: str, *files: str) -> tuple[float | None, int]:
    found = run(["/bin/sh", "-c", text], frozenset(files))
    return found.lasts, found.exit_code


@pytest.mark.parametrize(
    ("text", "lasts", "exit_code"),
    [
        pytest.param("true", 0, 0, id="nothing"),
        pytest.param("false", 0, 1, id="failure"),
        pytest.param("sleep 1; exit 3; sleep 9", 1, 3, id="an exit"),
        pytest.param("sleep 4; false", 4, 1, id="the last command"),
        pytest.param("test -f /ok", 0, 1, id="no such file"),
        pytest.param("touch /ok; test -f /ok", 0, 0, id="a file of its own"),
        pytest.param("while true; do sleep 1; done", None, 0, id="a loop"),
    ],
)
def test_a_script_lasts_and_ends(
    text: str, lasts: float | None, exit_code: int
) -> None:
    assert sh(text) == (lasts, exit_code)


def test_files_of_others_are_seen() -> None:
    assert sh("test -f /ok", "/ok") == (0, 0)
    assert run(["cat", "/ok"], frozenset({"/ok"})).exit_code == 0
    missing = "cat: can't open '/no': No such file or directory\n"
    assert run(["cat", "/no"]).output == missing


def test_files_come_and_go() -> None:
    once = run(["sh", "-c", "touch /a; sleep 30; rm -f /a; sleep 600"])
    again = run(["sh", "-c", "while true; do touch /a; sleep 9; rm /a; sleep 9; done"])

    assert [bool(once.files_at(age)) for age in (0, 29, 31)] == [True, True, False]
    assert [bool(again.files_at(age)) for age in (8, 10, 19)] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "stops_after", "stop_code"),
    [
        pytest.param("sleep 600", None, 0, id="no handler"),
        pytest.param(
            "trap '' TERM; while true; do sleep 1; done", None, 0, id="ignored"
        ),
        pytest.param(
            "trap 'sleep 2; exit 4' TERM; while true; do sleep 1; done",
            2.5,
            4,
            id="a handler",
        ),
        pytest.param(
            "trap 'exit 0' TERM; while true; do sleep 600; done",
            None,
            0,
            id="a handler that waits for a long command",
        ),
    ],
)
def test_who_handles_a_signal_ends(
    text: str, stops_after: float | None, stop_code: int
) -> None:
    found = run(["sh", "-c", text])

    assert (found.stops_after, found.stop_code) == (stops_after, stop_code)


def test_a_program_that_is_nowhere_is_missing() -> None:
    assert run(["/no/such/binary"]).is_missing


@pytest.mark.parametrize(
    "text",
    [
        "httpd -f -p 8080 -h /www",
        "while true; do true; done",
        "while true; do sleep 1",
        "trap 'exit 1' USR1",
        "[ -f /ok ] && echo ok",
    ],
)
def test_what_is_not_understood_is_said(text: str) -> None:
    with pytest.raises(NotUnderstoodError):
        run(["sh", "-c", text])
