"""The terminal is closed while the screen is open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.on_terminal import OnTerminal, on_terminal
from tests.e2e.program import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HUNG_UP = 129
TO_THE_SHELL = b"\x1a"
ALTERNATE_SCREEN = b"\x1b[?1049h"


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[OnTerminal]:
    with on_terminal(tmp_path, "demo") as started:
        yield started


def test_a_hang_up_ends_the_pods_and_the_program(demo: OnTerminal) -> None:
    wait_until(lambda: demo.shows(b"Running"), "the screen")

    os.close(demo.terminal)

    wait_until(lambda: demo.has_ended, "the end")
    assert demo.status == HUNG_UP


def test_a_hang_up_during_the_first_paint_ends_the_program(demo: OnTerminal) -> None:
    """The output that cannot be written any more exceeds Textual's buffer."""
    wait_until(lambda: demo.shows(ALTERNATE_SCREEN), "the screen begins")

    os.close(demo.terminal)

    wait_until(lambda: demo.has_ended, "the end")
    assert demo.status == HUNG_UP


def test_a_hang_up_of_a_suspended_program_ends_it(demo: OnTerminal) -> None:
    wait_until(lambda: demo.shows(b"Running"), "the screen")
    os.write(demo.terminal, TO_THE_SHELL)
    wait_until(lambda: demo.is_stopped, "the shell")

    os.close(demo.terminal)

    wait_until(lambda: demo.has_ended, "the end")
    assert demo.status == HUNG_UP
