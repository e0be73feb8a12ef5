"""One mark for each tick."""

from __future__ import annotations

import pytest

from probetui.kubelet.journal import Exit
from probetui.presentation.text.spans import Role
from probetui.presentation.tick.marks import (
    ASCII,
    SKIP_WORDS,
    UNICODE,
    MarkSet,
    mark_legend,
    mark_span,
)
from tests.ticks import changed_tick, demo_ticks


@pytest.mark.parametrize(
    ("letter", "unicode", "ascii_", "role"),
    [
        pytest.param("s", "✓", "+", Role.SUCCESS, id="success"),
        pytest.param("f", "✗", "x", Role.ERROR, id="failure"),
        pytest.param("w", "~", "w", Role.WARNING, id="warning"),
        pytest.param("e", "!", "!", Role.WARNING, id="errored"),
        pytest.param("d", "d", "d", Role.MUTED, id="initial delay"),
        pytest.param("g", "g", "g", Role.MUTED, id="waiting for startup"),
        pytest.param("G", "g", "g", Role.MUTED, id="already started"),
        pytest.param("h", "h", "h", Role.HOLD, id="on hold"),
        pytest.param("n", "n", "n", Role.MUTED, id="not running"),
        pytest.param("m", "n", "n", Role.MUTED, id="no container yet"),
    ],
)
def test_the_mark_of_a_tick(letter: str, unicode: str, ascii_: str, role: Role) -> None:
    (tick,) = demo_ticks(letter)

    assert (mark_span(tick, UNICODE).text, mark_span(tick, ASCII).text) == (
        unicode,
        ascii_,
    )
    assert mark_span(tick, UNICODE).role is role


def test_the_last_tick_of_a_worker_has_a_mark_of_its_own() -> None:
    tick = changed_tick(
        demo_ticks("s")[0], exit=Exit.POD_DELETED, result=None, attempts=()
    )

    assert mark_span(tick, UNICODE).text == "e"


@pytest.mark.parametrize(
    "marks", [pytest.param(UNICODE, id="unicode"), pytest.param(ASCII, id="ascii")]
)
def test_every_mark_is_different_and_explained(marks: MarkSet) -> None:
    explained = [mark for mark, _ in mark_legend(marks)]

    assert len(set(explained)) == len(explained)


@pytest.mark.parametrize(
    "word", [pytest.param(word, id=word) for word in SKIP_WORDS.values()]
)
def test_the_word_of_a_strip_is_explained_with_its_mark(word: str) -> None:
    explained = " ".join(mark for mark, _ in mark_legend(UNICODE))

    assert word in explained.split()


def test_the_ascii_marks_are_ascii() -> None:
    every = (getattr(ASCII, name) for name in ASCII.__struct_fields__)

    assert "".join(every).isascii()
