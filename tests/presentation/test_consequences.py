"""How far a tick's result got, on one line (UX-01)."""

from __future__ import annotations

from typing import Any

import pytest

from probetui.kubelet.journal import Action, Skip
from probetui.presentation.consequences import consequences
from tests.tui.states import DEMO_KEY, NOW, a_tick


@pytest.mark.parametrize(
    ("letter", "fields", "words"),
    [
        pytest.param(
            "f",
            {"run": 2, "threshold": 3},
            "ignored: run 2 of 3 -> stored result stays Success",
            id="below the threshold",
        ),
        pytest.param(
            "f",
            {"threshold": 3, "stored_before": None},
            "ignored: run 1 of 3 -> stored result stays none",
            id="nothing stored",
        ),
        pytest.param(
            "f",
            {"run": 3, "threshold": 3, "action": Action.KILL, "hold_after": True},
            "acted: run 3 of 3 -> stored Failure -> kill requested -> on hold",
            id="kill",
        ),
        pytest.param(
            "f",
            {"run": 3, "threshold": 3, "action": Action.NOT_READY},
            "acted: run 3 of 3 -> stored Failure -> container not ready",
            id="not ready",
        ),
        pytest.param(
            "s",
            {"action": Action.READY},
            "acted: run 1 of 1 -> stored Success -> container ready",
            id="ready",
        ),
        pytest.param(
            "s",
            {"action": Action.STARTED},
            "acted: run 1 of 1 -> stored Success -> container started",
            id="started",
        ),
        pytest.param(
            "s",
            {"run": 2},
            "as stored: run 2 of 1 -> stored Success as before",
            id="as stored",
        ),
        pytest.param(
            "e",
            {},
            "discarded: errored 3 times -> run and stored result unchanged",
            id="errored",
        ),
        pytest.param(
            "h",
            {"skip": Skip.ON_HOLD},
            "skipped: on hold until a tick sees a new container id",
            id="skipped",
        ),
    ],
)
def test_a_tick_says_how_far_its_result_got(
    letter: str, fields: dict[str, Any], words: str
) -> None:
    assert consequences(a_tick(DEMO_KEY, NOW, letter, **fields)) == words
