"""The one-sentence reason for what a tick did."""

from __future__ import annotations

import pytest

from probetui.kubelet.journal import TickAction
from probetui.presentation.container.ticks import ordinal, tick_sentence
from tests.ticks import DEMO_KEY, LIVENESS, NOW, changed_tick, history


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (1, "first"),
        (2, "second"),
        (10, "tenth"),
        (11, "11th"),
        (12, "12th"),
        (22, "22nd"),
        (31, "31st"),
        (43, "43rd"),
        (111, "111th"),
    ],
)
def test_an_ordinal_number(number: int, word: str) -> None:
    assert ordinal(number) == word


@pytest.mark.parametrize(
    ("letters", "action", "sentence"),
    [
        pytest.param(
            "sff",
            TickAction.NONE,
            "second failure in a row; 3 are needed, so nothing was done.",
            id="below the threshold",
        ),
        pytest.param(
            "ss",
            TickAction.NONE,
            "second success in a row; Success is stored already.",
            id="as before",
        ),
        pytest.param(
            "fff",
            TickAction.KILL,
            "third failure in a row, of 3: container killed, probe on hold.",
            id="a kill",
        ),
        pytest.param(
            "fff",
            TickAction.MUTED,
            "third failure in a row, of 3; muted, so nothing was done.",
            id="muted",
        ),
        pytest.param(
            "fff",
            TickAction.WOULD_KILL,
            "third failure in a row, of 3; only watched, so nothing was done.",
            id="only watched",
        ),
        pytest.param(
            "e",
            TickAction.DISCARDED,
            "error after 3 attempts; not counted, so nothing was done.",
            id="an error",
        ),
        pytest.param(
            "h",
            TickAction.NONE,
            "skipped: on hold until the container has restarted.",
            id="on hold",
        ),
    ],
)
def test_the_reason_is_one_sentence(
    letters: str, action: TickAction, sentence: str
) -> None:
    tick = changed_tick(history(DEMO_KEY, LIVENESS, letters, NOW)[-1], action=action)

    assert tick_sentence(tick) == sentence


def test_an_injected_result_is_named_as_injected() -> None:
    tick = changed_tick(history(DEMO_KEY, LIVENESS, "f", NOW)[-1], injected=True)

    assert tick_sentence(tick).startswith("first injected failure in a row; ")
