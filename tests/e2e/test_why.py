"""`why` on a real terminal, and from the record of the session."""

from __future__ import annotations

import re

import pytest

from tests.e2e.program import PROGRAM, Program
from tests.e2e.screen import terminal

WHY = "its liveness probe failed 3 of 3 times in a row"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.tmux,
]


def sentences(text: str) -> list[str]:
    """Return the sentences of a pane, without its frame and line breaks."""
    lines = (re.sub("[┃│█]", "", line).strip() for line in text.splitlines())
    return re.split(r"(?<=[.?]) ", " ".join(line for line in lines if line))


def test_why_a_container_was_killed(program: Program) -> None:
    with terminal(program.environment) as tty:
        record = program.home / "lesson.jsonl"
        lesson = f"{PROGRAM} demo liveness --no-quiz --record {record}"
        tty.enter(f"{lesson}; echo status $?")
        tty.wait_for("RESTART 1")
        tty.type("Space")
        tty.wait_for("PAUSED")
        tty.type("Enter")
        tty.wait_for("instance 1", "killed by liveness", "5 Decision trace")
        tty.type("Left", "Left")
        tty.wait_for("older tick")
        tty.type("w")
        tty.wait_for("Exit of", WHY)
        on_the_screen = sentences(tty.text)
        tty.type("q", "q", "q")
        tty.wait_for("status 0")

        explanation = next(sentence for sentence in on_the_screen if WHY in sentence)
        # A command is not a sentence: it has no full stop.
        explanation = explanation[explanation.index(WHY) :]
        tty.enter("clear")
        tty.enter(f"{PROGRAM} why {record} | head -40; echo status $?")
        tty.wait_for("status 0", "Instances:")

        assert any(explanation in sentence for sentence in sentences(tty.text))
