"""One mark for each tick (UX-08, UX-09, UX-15)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from probetui.analysis.timeline import classify_tick
from probetui.kubelet.journal import Exit, TickEntry
from probetui.presentation.text.spans import Role, text_of
from probetui.presentation.tick.marks import (
    ASCII,
    UNICODE,
    MarkSet,
    mark_legend,
    mark_span,
    place_marks,
    strip,
)
from tests.tui.snapshots import DEMO_KEY, LIVENESS, NOW, history


def ticks(letters: str) -> tuple[TickEntry, ...]:
    return history(DEMO_KEY, LIVENESS, letters, NOW)


@pytest.mark.parametrize(
    ("letter", "unicode", "ascii_", "role"),
    [
        pytest.param("s", "✓", "+", Role.SUCCESS, id="success"),
        pytest.param("f", "✗", "x", Role.ERROR, id="failure"),
        pytest.param("w", "w", "w", Role.WARNING, id="warning"),
        pytest.param("e", "!", "!", Role.ACCENT, id="errored"),
        pytest.param("d", "d", "d", Role.MUTED, id="initial delay"),
        pytest.param("g", "g", "g", Role.MUTED, id="waiting for startup"),
        pytest.param("G", "g", "g", Role.MUTED, id="already started"),
        pytest.param("h", "h", "h", Role.HOLD, id="on hold"),
        pytest.param("n", "n", "n", Role.MUTED, id="not running"),
        pytest.param("m", "n", "n", Role.MUTED, id="no container yet"),
    ],
)
def test_the_mark_of_a_tick(letter: str, unicode: str, ascii_: str, role: Role) -> None:
    (tick,) = ticks(letter)

    assert (mark_span(tick, UNICODE).text, mark_span(tick, ASCII).text) == (
        unicode,
        ascii_,
    )
    assert mark_span(tick, UNICODE).role is role


def test_the_last_tick_of_a_worker_has_a_mark_of_its_own() -> None:
    tick = ticks("s")[0]._replace(exit=Exit.POD_DELETED, result=None, attempts=())

    assert mark_span(tick, UNICODE).text == "e"


@pytest.mark.parametrize(
    ("letters", "marks", "shown"),
    [
        pytest.param("", UNICODE, "", id="nothing yet"),
        pytest.param("|ssfffK", UNICODE, "✓✓✗✗✗K", id="a kill"),
        pytest.param("ssfffKhh|ss", UNICODE, "✓✓✗✗✗Khh|✓✓", id="a new container"),
        pytest.param("|nn|dds", UNICODE, "nn|dd✓", id="the first container"),
        pytest.param("ss'f", UNICODE, "✓✓✗", id="out of schedule is underlined"),
        pytest.param("ss'f", ASCII, "++'x", id="out of schedule in ASCII"),
    ],
)
def test_a_strip_is_one_mark_per_tick(letters: str, marks: MarkSet, shown: str) -> None:
    assert text_of(strip(ticks(letters), marks, 60)) == shown


def test_out_of_schedule_is_underlined_where_it_can_be() -> None:
    spans = strip(ticks("ss'f"), UNICODE, 60)

    assert [span.is_underlined for span in spans] == [False, True, False]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"injected": True}, id="injected"),
        pytest.param({"delay": timedelta(seconds=2)}, id="delayed"),
    ],
)
def test_a_result_that_a_person_had_a_hand_in_is_starred(
    fields: dict[str, Any],
) -> None:
    tick = ticks("f")[0]._replace(**fields)

    assert text_of(strip([tick], UNICODE, 60)) == "✗*"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        pytest.param(5, "✓✓✓✗K", id="as many as fit"),
        pytest.param(1, "", id="a tick and its kill stay together"),
        pytest.param(0, "", id="no room"),
    ],
)
def test_the_newest_ticks_are_shown(width: int, shown: str) -> None:
    assert text_of(strip(ticks("|sssssfK"), UNICODE, width)) == shown


def test_a_strip_says_where_each_tick_stands() -> None:
    looks = [classify_tick(tick) for tick in ticks("ssfKh|s")]

    placed = place_marks(looks.__getitem__, range(5), UNICODE, 60)

    assert [each.column for each in placed] == [0, 1, 2, 4, 5]
    assert [each.mark_column for each in placed] == [0, 1, 2, 4, 6]


@pytest.mark.parametrize(
    "marks", [pytest.param(UNICODE, id="unicode"), pytest.param(ASCII, id="ascii")]
)
def test_every_mark_is_different_and_explained(marks: MarkSet) -> None:
    explained = [mark for mark, _ in mark_legend(marks)]

    assert len(set(explained)) == len(explained)


def test_the_ascii_marks_are_ascii() -> None:
    every = (getattr(ASCII, each) for each in ASCII.__struct_fields__)

    assert "".join(every).isascii()
