"""The terminal is closed while the screen is on it."""

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


def test_it_ends_its_pods_and_itself(demo: OnTerminal) -> None:
    wait_until(lambda: demo.shows(b"Running"), "the screen")

    os.close(demo.terminal)

    wait_until(lambda: demo.has_ended, "the end")
    assert demo.status == HUNG_UP


def test_it_does_so_too_while_it_draws_its_first_screen(demo: OnTerminal) -> None:
    """What cannot be written any more is more than the framework keeps."""
    wait_until(lambda: demo.shows(ALTERNATE_SCREEN), "the screen begins")

    os.close(demo.terminal)

    wait_until(lambda: demo.has_ended, "the end")
    assert demo.status == HUNG_UP


def test_it_does_so_too_when_it_was_stopped_for_the_shell(demo: OnTerminal) -> None:
    wait_until(lambda: demo.shows(b"Running"), "the screen")
    os.write(demo.terminal, TO_THE_SHELL)
    wait_until(lambda: demo.is_stopped, "the shell")

    os.close(demo.terminal)

    wait_until(lambda: demo.has_ended, "the end")
    assert demo.status == HUNG_UP
