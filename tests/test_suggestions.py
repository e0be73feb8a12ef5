"""Suggestions for words that are misspelt."""

from __future__ import annotations

import pytest

from probetui.suggestions import nearest, nearest_hint

WORDS = ("plain", "jsonl", "livenessProbe")


@pytest.mark.parametrize(
    ("word", "suggestion"),
    [
        pytest.param("json", "jsonl", id="similar"),
        pytest.param("JSON", "jsonl", id="in capitals"),
        pytest.param("LIVENESSPROBE", "livenessProbe", id="known in other letters"),
        pytest.param("livenesProbe", "livenessProbe", id="spelled as it is known"),
        pytest.param("xyzzy", "", id="like nothing"),
        pytest.param("", "", id="empty"),
        pytest.param("jsonl" * 50, "", id="too long to compare"),
    ],
)
def test_the_most_similar_word_is_suggested(word: str, suggestion: str) -> None:
    assert nearest(word, WORDS) == suggestion


def test_a_higher_cutoff_suggests_less() -> None:
    assert nearest("plan b", WORDS) == "plain"
    assert nearest("plan b", WORDS, cutoff=0.8) == ""


def test_a_hint_is_the_end_of_a_sentence() -> None:
    assert nearest_hint("json", WORDS) == " (nearest: jsonl)"
    assert nearest_hint("xyzzy", WORDS) == ""
