"""A row of marks with a cursor on it, and one for each life (UX-08, UX-17)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.analysis.container_history import NO_HISTORY, SessionHistory
from probetui.analysis.timeline import Timeline
from probetui.kubelet.journal import TickEntry
from probetui.presentation.container.instances import instance_lines
from probetui.presentation.text.spans import text_of
from probetui.presentation.tick.strips import short_strip, strip_lines
from tests.builders import a_container, a_pod, a_probe
from tests.drive.stage import FAILS, Stage, always, probing
from tests.presentation.looking import VIEW
from tests.tui.snapshots import DEMO_KEY, LIVENESS, NOW, history


def ticks(letters: str) -> list[TickEntry]:
    """Return ticks in a row, numbered as in a journal."""
    return [
        entry._replace(sequence=number)
        for number, entry in enumerate(history(DEMO_KEY, LIVENESS, letters, NOW))
    ]


def strip(letters: str, cursor: int | None = None, width: int = 40) -> list[str]:
    timeline = Timeline.of(ticks(letters))
    return [
        text_of(line).rstrip() for line in strip_lines(timeline, cursor, 5, VIEW, width)
    ]


def test_without_a_cursor_the_newest_tick_stands_at_the_end() -> None:
    assert strip("|ssfffKhh|s") == [
        "✓✓✗✗✗Khh|✓ <now            one mark = 5s",
        "^08:20:32",
    ]


def test_a_new_container_is_marked_below_where_there_is_room() -> None:
    assert strip("|ssssssfffKhh|ss", width=60)[1] == (
        "^08:20:07   ^08:21:02 new container"
    )


def test_a_cursor_is_marked_below_with_number_and_time() -> None:
    assert strip("|ssfffKhh|s", cursor=4) == [
        "✓✓✗✗✗Khh|✓ <now",
        "    ^#5 08:20:52",
    ]


def test_the_oldest_tick_says_how_many_were_let_go_before_it() -> None:
    timeline = Timeline.of(ticks("s" * 30))
    timeline.forget(20)

    oldest, next_one = (
        [text_of(line) for line in strip_lines(timeline, cursor, 5, VIEW, 60)][1]
        for cursor in (20, 21)
    )

    assert oldest.endswith("  20 older dropped")
    assert "let go" not in next_one


def test_the_words_of_a_cursor_at_the_end_stand_before_it() -> None:
    first, second = strip("s" * 30, cursor=29, width=40)

    assert first == "✓" * 30 + " <now"
    assert second == "#30 08:21:07^".rjust(30)


def test_what_is_newer_than_the_strip_is_counted() -> None:
    first, _ = strip("s" * 60, cursor=0, width=30)

    assert first == "✓✓✓✓✓✓✓ +53 newer"


def test_before_the_first_tick_there_is_no_strip() -> None:
    assert strip("") == ["no tick yet"]


@given(
    st.text("sfdhwe", min_size=1, max_size=90),
    st.integers(0, 89),
    st.integers(12, 90),
)
def test_the_cursor_is_always_in_sight(letters: str, cursor: int, width: int) -> None:
    cursor = min(cursor, len(letters) - 1)

    first, second = strip(letters, cursor, width)

    assert second.count("^") == 1
    assert len(first) <= width
    assert second.index("^") < len(first)


@given(st.text("sfdhwe", min_size=1, max_size=90), st.integers(0, 89))
def test_a_short_strip_has_the_tick_at_the_cursor_in_brackets(
    letters: str, cursor: int
) -> None:
    timeline = Timeline.of(ticks(letters))
    cursor = min(cursor, len(letters) - 1)

    line = text_of(short_strip(timeline, cursor, VIEW, 40))

    assert line[line.index("[") + 2] == "]"
    assert len(line) <= 40


def test_a_short_strip_without_a_cursor_follows() -> None:
    line = text_of(short_strip(Timeline.of(ticks("ssf")), None, VIEW, 40))

    assert line == "✓✓✗ <now"


class TestGenerations:
    POD = a_pod(a_container(liveness_probe=a_probe(period_seconds=5)))

    def lines(self, seconds: float, width: int = 70, most: int = 5) -> list[str]:
        stage = Stage(self.POD, probing=probing(liveness=always(FAILS)))
        stage.run_until(seconds)
        past = SessionHistory(stage.journal)
        past.feed(stage.journal, 0)
        timeline = past.timeline(past.probes(self.POD.uid, "app")[0])
        told = past.container(self.POD.uid, "app")
        return [
            text_of(line) for line in instance_lines(timeline, told, VIEW, width, most)
        ]

    def test_each_life_has_a_line_with_its_ticks_its_times_and_its_end(self) -> None:
        lines = self.lines(40)

        assert [" ".join(line.split()) for line in lines][1:] == [
            "inst 1 ✗✗✗K 12:00:00-12:00:15 killed by liveness, exit 0",
            "inst 2 ✗✗✗K 12:00:15-12:00:30 killed by liveness, exit 0",
            "inst 3 ✗✗ 12:00:30-now",
        ]
        assert lines[1].index("12:00:00") == lines[2].index("12:00:15")

    def test_ticks_before_the_first_container_are_told_of_too(self) -> None:
        assert self.lines(40)[0].split()[:3] == ["inst", "-", "n"]

    def test_earlier_lives_are_counted(self) -> None:
        lines = self.lines(40, most=2)

        assert lines[0] == "1 earlier instance"
        assert len(lines) == 3

    def test_ticks_before_the_first_container_are_no_earlier_life(self) -> None:
        assert len(self.lines(40, most=3)) == 3

    @pytest.mark.parametrize("width", [40, 60, 76])
    def test_a_long_strip_loses_its_oldest_marks_and_says_how_many(
        self, width: int
    ) -> None:
        timeline = Timeline.of(ticks("s" * 100))

        (line,) = instance_lines(timeline, NO_HISTORY, VIEW, width, 5)

        text = text_of(line)
        assert len(text) <= width
        left = int(text.split()[2].removeprefix("+"))
        assert text.count("✓") == 100 - left

    def test_a_life_that_no_tick_saw_has_no_marks(self) -> None:
        stage = Stage(self.POD, probing=probing(liveness=always(FAILS)))
        stage.run_until(40)
        past = SessionHistory(stage.journal)
        past.feed(stage.journal, 0)
        told = past.container(self.POD.uid, "app")

        lines = instance_lines(Timeline(()), told, VIEW, 70, 5)

        assert all("no tick saw it" in text_of(line) for line in lines)


def test_where_no_mark_fits_there_is_nothing_below_the_strip() -> None:
    assert strip("sss", width=5) == [" <now"]
