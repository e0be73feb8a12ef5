"""The title and the bell of a real terminal, byte by byte."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.on_terminal import OnTerminal, on_terminal
from tests.e2e.program import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PUSHED, POPPED = b"\x1b[22;2t", b"\x1b[23;2t"
DEMO = ("demo", "liveness", "--runtime", "sim", "--no-quiz", "--time-scale", "4")
NOTICE = b"\x1b]9;probetui: liveness/app killed: liveness probe failed\x07\x07"


def titles(terminal: OnTerminal) -> list[str]:
    """Return the titles that were set."""
    terminal.shows(b"")
    return [
        title.decode()
        for title in re.findall(rb"\x1b\]2;([^\x07]*)\x07", terminal.seen)
    ]


def wait_for_the_end_of(terminal: OnTerminal) -> None:
    """Read what the program prints until it has ended."""

    def has_ended() -> bool:
        terminal.shows(b"")
        return terminal.has_ended

    wait_until(has_ended, "the end")
    terminal.shows(b"")


def test_the_title_says_what_fails_and_is_restored(tmp_path: Path) -> None:
    with on_terminal(tmp_path, *DEMO) as terminal:
        wait_until(lambda: "✗2/3 liveness/app" in titles(terminal), "the title")
        assert terminal.seen.index(PUSHED) < terminal.seen.index(b"\x1b]2;")
        terminal.send(b"q")
        wait_for_the_end_of(terminal)

        assert terminal.status == 0
        assert terminal.seen.count(PUSHED) == terminal.seen.count(POPPED) == 1
        assert terminal.seen.rindex(POPPED) > terminal.seen.rindex(b"\x1b]2;")
        assert NOTICE not in terminal.seen


def test_a_title_is_sent_when_it_changes_only(tmp_path: Path) -> None:
    with on_terminal(tmp_path, *DEMO) as terminal:
        wait_until(lambda: len(titles(terminal)) > 4, "titles")
        shown = titles(terminal)

        assert all(before != after for before, after in pairwise(shown))


def test_a_kill_rings_the_bell_and_notifies_if_asked(tmp_path: Path) -> None:
    with on_terminal(tmp_path, *DEMO, "--notify") as terminal:
        wait_until(lambda: terminal.shows(NOTICE), "the notification")


@pytest.mark.parametrize("kind", ["linux", "dumb"])
def test_a_terminal_without_a_window_gets_no_title(tmp_path: Path, kind: str) -> None:
    words = [*DEMO, "--notify", "--until", "restarted"]
    with on_terminal(tmp_path, *words, environment={"TERM": kind}) as terminal:
        wait_for_the_end_of(terminal)

        assert PUSHED not in terminal.seen
        assert b"\x1b]" not in terminal.seen
