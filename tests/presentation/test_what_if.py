"""How a session under other settings differs, in words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.analysis.session_outcome import ContainerTotals
from probetui.presentation.what_if import difference_words


def totals(kills: int, restarts: int, not_ready: float) -> ContainerTotals:
    return ContainerTotals(kills, restarts, timedelta(seconds=not_ready))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        pytest.param((1, 1, 4), (0, 0, 12), "no kill, 8s longer not ready", id="none"),
        pytest.param((3, 3, 9), (1, 1, 9), "1 kill instead of 3", id="fewer"),
        pytest.param((0, 0, 2), (2, 2, 2), "2 kills instead of 0", id="more"),
        pytest.param((3, 3, 9), (0, 0, 9), "no kill instead of 3", id="none of many"),
        pytest.param((0, 2, 0), (0, 1, 0), "1 restart instead of 2", id="restarts"),
        pytest.param((0, 0, 9), (0, 0, 2), "7s less long not ready", id="readiness"),
        pytest.param((1, 1, 4), (1, 1, 4.4), "no difference so far", id="the same"),
    ],
)
def test_what_differs_is_said(
    before: tuple[int, int, float], after: tuple[int, int, float], words: str
) -> None:
    assert difference_words(totals(*before), totals(*after)) == words
