"""Keys that a real terminal sends in one read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.on_terminal import on_terminal
from tests.e2e.program import SAMPLES, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

_SIMULATED = ("sim", "-f", str(SAMPLES / "exec-liveness.yaml"))


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        pytest.param(b"/mmm", b"mmm", id="filter"),
        pytest.param(b":mute", b":mute", id="command line"),
    ],
)
def test_a_burst_goes_to_the_field_that_its_first_key_opens(
    tmp_path: Path, typed: bytes, shown: bytes
) -> None:
    with on_terminal(tmp_path, *_SIMULATED) as terminal:
        wait_until(lambda: terminal.shows(b"Containers"), "the screen")
        terminal.send(typed)

        wait_until(lambda: terminal.shows(shown), "what was typed")
        assert not terminal.shows(b"MUTED")
