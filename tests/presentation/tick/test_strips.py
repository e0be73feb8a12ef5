"""Ticks as a row of marks, folded, and one row per instance."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.analysis.container_history import NO_HISTORY, SessionHistory
from probetui.analysis.timeline import MARK_CODES, Timeline
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import NO_CONTAINER
from probetui.kubelet.journal import TickAction, TickEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.container.instances import instance_rows
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import ASCII
from probetui.presentation.tick.strips import fold_ticks, short_strip
from tests.builders import a_container, a_pod, a_probe
from tests.drive.engine_bench import FAILS, EngineBench, always, probing
from tests.presentation.looking import VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NOW, changed_tick, demo_ticks

_SECOND = timedelta(seconds=1)
IN_ASCII = replace(VIEW, marks=ASCII)


def folded(entries: list[TickEntry], view: View = VIEW, **options: Any) -> str:
    timeline = Timeline.of(entries)
    options.setdefault("width", 60)
    options.setdefault("period_seconds", LIVENESS.period_seconds)
    return text_of(fold_ticks(timeline, timeline.indexes, view, **options).spans)


@pytest.mark.parametrize(
    ("letters", "shown", "in_ascii"),
    [
        pytest.param("", "", "", id="nothing yet"),
        pytest.param("|sss", "✓✓✓", "+++", id="a few are not folded"),
        pytest.param("|ssss", "✓4", "+4", id="more are"),
        pytest.param(
            "|ssssssfffKhhhhhh", "✓6 ✗✗✗ K hold6", "+6 xxx K hold6", id="a life"
        ),
        pytest.param("fffKh", "✗✗✗ K hold", "xxx K hold", id="a single skip"),
        pytest.param("f" * 9, "✗9", "x9", id="many failures"),
        pytest.param("ddggnn", "delay2 wait2 down2", "delay2 wait2 down2", id="skips"),
        pytest.param("ssfsee", "✓✓ ✗ ✓ !!", "++ x + !!", id="now and then"),
        pytest.param("fff|sss", "✗✗✗ | ✓✓✓", "xxx | +++", id="a new container"),
        pytest.param("ss'ss", "✓✓✓✓", "++'++", id="out of schedule"),
    ],
)
def test_equal_marks_are_folded(letters: str, shown: str, in_ascii: str) -> None:
    assert folded(demo_ticks(letters)) == shown
    assert folded(demo_ticks(letters), IN_ASCII) == in_ascii


def test_a_tick_out_of_schedule_is_underlined_if_supported() -> None:
    timeline = Timeline.of(demo_ticks("ss'f"))
    spans = fold_ticks(timeline, timeline.indexes, VIEW, 60).spans

    assert [span.is_underlined for span in spans if span.text.strip()] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"injected": True}, id="injected"),
        pytest.param({"delay": timedelta(seconds=2)}, id="delayed"),
    ],
)
def test_a_result_that_a_user_influenced_has_a_star(
    fields: dict[str, Any],
) -> None:
    assert folded([changed_tick(demo_ticks("f")[0], **fields)]) == "✗*"


def test_flips_of_readiness_are_marked() -> None:
    entries = demo_ticks("sfffs")
    entries[0] = changed_tick(entries[0], action=TickAction.READY)
    entries[3] = changed_tick(entries[3], action=TickAction.NOT_READY)
    entries[4] = changed_tick(entries[4], action=TickAction.READY)

    assert folded(entries) == "✓▲ ✗✗✗▼ ✓▲"
    assert folded(entries, IN_ASCII) == "+^ xxxv +^"


def slow(count: int, seconds: float) -> list[TickEntry]:
    """Return successes of that duration; each starts when the one before ends."""
    return [
        changed_tick(
            entry,
            started_at=NOW + number * seconds * _SECOND,
            duration=seconds * _SECOND,
        )
        for number, entry in enumerate(demo_ticks("s" * count))
    ]


@pytest.mark.parametrize(
    ("seconds", "period", "shown"),
    [
        pytest.param(5, 1, "✓6 lost20", id="five periods each"),
        pytest.param(5, 5, "✓6", id="as long as the period"),
        pytest.param(2, 1, "✓6 lost5", id="one lost each"),
        pytest.param(0.9, 1, "✓6", id="within the period"),
    ],
)
def test_lost_ticks_are_counted_in_the_strip(
    seconds: float, period: int, shown: str
) -> None:
    assert folded(slow(6, seconds), period_seconds=period) == shown


def test_lost_ticks_before_an_edit_are_counted_with_the_old_period() -> None:
    entries = [changed_tick(entry, period_seconds=1) for entry in slow(6, 5)]

    assert folded(entries, period_seconds=5) == "✓6 lost20"


def test_ticks_dropped_for_lateness_are_counted_too() -> None:
    entries = [changed_tick(entry, period_seconds=5) for entry in slow(3, 0.9)]
    entries[1] = changed_tick(entries[1], late_drops=3)

    assert folded(entries, period_seconds=5) == "✓✓✓ lost3"


def edited(letters: str, *periods: int) -> list[TickEntry]:
    """Return ticks, each with its own period."""
    return [
        changed_tick(entry, period_seconds=period)
        for entry, period in zip(demo_ticks(letters), periods, strict=True)
    ]


@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        pytest.param(
            edited("s" * 9, *[2] * 5, *[5] * 4), "✓5 period5s ✓4", id="in a run"
        ),
        pytest.param(
            edited("ssss", 2, 2, 5, 2), "✓✓ period5s ✓ period2s ✓", id="twice"
        ),
        pytest.param(
            edited("ff|ss", 2, 2, 5, 5), "✗✗ period5s | ✓✓", id="with a new container"
        ),
        pytest.param(edited("ssss", 0, 0, 5, 5), "✓4", id="where none was recorded"),
    ],
)
def test_the_strip_marks_the_tick_at_which_the_period_changes(
    entries: list[TickEntry], shown: str
) -> None:
    assert folded(entries) == shown


@pytest.mark.parametrize("width", [32, 40, 60])
def test_the_period_mark_comes_before_the_cursor(width: int) -> None:
    entries = edited("s" * 90, *[2] * 30, *[5] * 60)

    shown = folded(entries, width=width, cursor=30)

    assert "period5s [✓]" in shown
    assert len(shown) <= width


def test_a_click_after_a_period_mark_finds_its_tick() -> None:
    timeline = Timeline.of(edited("sssss", 2, 2, 2, 5, 5))
    strip = fold_ticks(timeline, timeline.indexes, VIEW, 60)
    text = text_of(strip.spans)

    assert text == "✓✓✓ period5s ✓✓"
    assert [strip.tick_at(text.rindex("✓") + by) for by in (-1, 0)] == [3, 4]


def test_lost_ticks_are_forgotten_with_the_ticks_before_them() -> None:
    timeline = Timeline.of(slow(6, 5))
    timeline.forget(3)

    strip = fold_ticks(timeline, timeline.indexes, VIEW, 60, period_seconds=1)

    assert text_of(strip.spans) == "✓✓✓ lost8"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        pytest.param(12, "✗ ✓ ✗ ✓", id="as many as fit"),
        pytest.param(1, "✓", id="one"),
        pytest.param(0, "", id="no room"),
    ],
)
def test_the_newest_ticks_are_shown(width: int, shown: str) -> None:
    timeline = Timeline.of(demo_ticks("fsfs"))

    strip = fold_ticks(timeline, timeline.indexes, VIEW, width)

    assert text_of(strip.spans) == shown
    assert strip.dropped == 4 - len(shown.replace(" ", ""))


def test_a_hundred_thousand_ticks_are_one_part() -> None:
    (tick,) = demo_ticks("s")
    timeline = Timeline.of([tick] * 100_000)

    assert text_of(fold_ticks(timeline, timeline.indexes, VIEW, 20).spans) == "✓100000"


@pytest.mark.parametrize(
    ("cursor", "shown"),
    [
        pytest.param(2, "✓✓ [✓] ✓✓✓ ✗✗✗ K hold6", id="within a fold"),
        pytest.param(7, "✓6 ✗ [✗] ✗ K hold6", id="a failure"),
        pytest.param(8, "✓6 ✗✗ [✗ K] hold6", id="the kill"),
        pytest.param(11, "✓6 ✗✗✗ K hold2 [hold] hold3", id="a skip"),
    ],
)
def test_the_tick_at_the_cursor_is_in_brackets(cursor: int, shown: str) -> None:
    assert folded(demo_ticks("|ssssssfffKhhhhhh"), cursor=cursor) == shown


def test_newer_ticks_than_the_strip_shows_are_counted() -> None:
    assert folded(demo_ticks("sf" * 30), width=30, cursor=0) == "[✓] +59 newer"


def test_a_column_is_its_tick_or_the_newest_of_a_fold() -> None:
    timeline = Timeline.of(demo_ticks("|ssssssfffKhh"))
    strip = fold_ticks(timeline, timeline.indexes, VIEW, 60)

    assert text_of(strip.spans) == "✓6 ✗✗✗ K hold2"
    found = [strip.tick_at(column) for column in (0, 1, 2, 3, 4, 5, 7, 9, 99)]
    assert found == [5, 5, None, 6, 7, 8, 8, 10, None]


@given(
    st.text("sfdhwe", min_size=1, max_size=90),
    st.integers(0, 89),
    st.integers(24, 90),
)
def test_the_cursor_is_always_visible(letters: str, cursor: int, width: int) -> None:
    cursor = min(cursor, len(letters) - 1)

    shown = folded(demo_ticks(letters), width=width, cursor=cursor)

    assert shown.count("[") == shown.count("]") == 1
    assert len(shown) <= width


@given(st.text("sfdhwen", max_size=90), st.integers(0, 90))
def test_every_tick_is_counted_once(letters: str, width: int) -> None:
    timeline = Timeline.of(demo_ticks(letters))

    strip = fold_ticks(timeline, timeline.indexes, VIEW, width)

    shown = [tick for part in strip.parts for tick in part.ticks]
    assert shown == list(range(strip.dropped, len(letters)))
    assert len(text_of(strip.spans)) <= width


def test_a_short_strip_has_all_instances_and_follows() -> None:
    strip = short_strip(Timeline.of(demo_ticks("|ssssfK|ssf")), None, VIEW, 40)

    assert text_of(strip) == "✓4 ✗ K | ✓✓ ✗ <now"


def test_before_the_first_tick_there_is_no_strip() -> None:
    assert text_of(short_strip(Timeline.of([]), None, VIEW, 40)) == "no tick yet"


@pytest.mark.parametrize(
    ("stored", "strip"),
    [
        pytest.param(Result.SUCCESS, "✓ done2 <now", id="started"),
        pytest.param(Result.FAILURE, "✓ hold2 <now", id="killed for it"),
    ],
)
def test_a_startup_probe_that_has_succeeded_is_done(stored: Result, strip: str) -> None:
    key = DEMO_KEY._replace(probe_type=ProbeType.STARTUP)
    ticks = [
        changed_tick(tick, key=key, stored_after=stored, sequence=tick.sequence)
        for tick in demo_ticks("shh")
    ]

    assert text_of(short_strip(Timeline.of(ticks), None, VIEW, 40)) == strip


def test_every_mark_has_its_own_code() -> None:
    glyphs = {
        Timeline.of([tick]).mark_at(0)
        for letter in "sfwedghn"
        for action in (TickAction.NONE, TickAction.READY)
        for tick in [changed_tick(demo_ticks(letter)[0], action=action)]
        if action is TickAction.NONE or letter in "sfw"
    }

    assert len(glyphs) == 11
    assert {glyph.code for glyph in glyphs} == set(MARK_CODES) - {"last_tick", "done"}


class TestInstances:
    POD = a_pod(a_container(liveness_probe=a_probe(period_seconds=5)))

    def lines(self, seconds: float, width: int = 89, most: int = 5) -> list[str]:
        bench = EngineBench(self.POD, probing=probing(liveness=always(FAILS)))
        bench.run_until(seconds)
        past = SessionHistory(bench.journal)
        past.add_entries(bench.journal, 0)
        timeline = past.timeline(past.probes(self.POD.uid, "app")[0])
        container_history = past.container(self.POD.uid, "app")
        return [
            text_of(row.spans)
            for row in instance_rows(timeline, container_history, VIEW, width, most)
        ]

    def test_every_instance_has_a_line_with_its_ticks_times_and_exit(self) -> None:
        lines = self.lines(40)

        assert [" ".join(line.split()) for line in lines] == [
            "inst 1 ✗✗✗ K 12:00:00-12:00:15 killed by liveness, exit 0, no back-off",
            "inst 2 ✗✗✗ K 12:00:15-12:00:30 killed by liveness, exit 0, no back-off",
            "inst 3 ✗✗ <now 12:00:30-now",
        ]
        assert lines[0].index("12:00:00") == lines[1].index("12:00:15")

    def test_ticks_before_the_first_instance_are_left_out_once_there_is_one(
        self,
    ) -> None:
        assert self.lines(40)[0].startswith("inst 1 ")

    def test_ticks_before_the_first_instance_are_shown_until_it_exists_and_if_selected(
        self,
    ) -> None:
        timeline = Timeline.of(
            [changed_tick(tick, container_id=NO_CONTAINER) for tick in demo_ticks("nn")]
        )

        (row,) = instance_rows(timeline, NO_HISTORY, VIEW, 70, 5, cursor=0)
        (newest,) = instance_rows(timeline, NO_HISTORY, VIEW, 70, 5)

        assert text_of(row.spans).split()[:3] == ["inst", "-", "[down]"]
        assert text_of(newest.spans).split()[:3] == ["inst", "-", "down2"]

    def test_earlier_instances_are_counted(self) -> None:
        lines = self.lines(40, most=2)

        assert lines[0] == "1 earlier instance"
        assert len(lines) == 3

    def test_ticks_before_the_first_instance_are_no_earlier_instance(self) -> None:
        assert len(self.lines(40, most=3)) == 3

    @pytest.mark.parametrize("width", [40, 60, 76, 100])
    def test_a_long_strip_drops_its_oldest_marks_and_counts_them(
        self, width: int
    ) -> None:
        timeline = Timeline.of(demo_ticks("sf" * 50))

        (row,) = instance_rows(timeline, NO_HISTORY, VIEW, width, 5)

        text = text_of(row.spans)
        assert len(text) <= width
        left = int(text.split()[2].removeprefix("+"))
        assert text.count("✓") + text.count("✗") == 100 - left

    def test_words_are_not_abbreviated_if_there_is_room(self) -> None:
        assert self.lines(40, width=110)[0].startswith("instance 1 ")

    def test_words_of_an_exit_that_do_not_fit_are_left_out(self) -> None:
        ends = [self.lines(40, width=width)[0] for width in (89, 66, 52)]

        assert [line.rpartition(", ")[2] for line in ends[:2]] == [
            "no back-off",
            "exit 0",
        ]
        assert ends[2].endswith("12:00:00-12:00:15")

    def test_the_row_of_the_cursor_is_the_last(self) -> None:
        bench = EngineBench(self.POD, probing=probing(liveness=always(FAILS)))
        bench.run_until(40)
        past = SessionHistory(bench.journal)
        past.add_entries(bench.journal, 0)
        timeline = past.timeline(past.probes(self.POD.uid, "app")[0])
        container_history = past.container(self.POD.uid, "app")

        rows = instance_rows(timeline, container_history, VIEW, 80, 2, cursor=2)

        column = text_of(rows[-1].spans).index("[")
        assert text_of(rows[-1].spans).startswith("inst 1 ")
        assert rows[-1].tick_at(column + 1) == 2

    def test_an_instance_without_ticks_has_no_marks(self) -> None:
        bench = EngineBench(self.POD, probing=probing(liveness=always(FAILS)))
        bench.run_until(40)
        past = SessionHistory(bench.journal)
        past.add_entries(bench.journal, 0)
        container_history = past.container(self.POD.uid, "app")

        rows = instance_rows(Timeline(()), container_history, VIEW, 70, 5)

        *ended, running = [text_of(row.spans) for row in rows]
        assert ended
        assert all("no tick saw it" in row for row in ended)
        assert "no tick yet" in running

    def test_a_container_without_a_probe_does_not_wait_for_ticks(self) -> None:
        bench = EngineBench(self.POD, probing=probing(liveness=always(FAILS)))
        bench.run_until(40)
        past = SessionHistory(bench.journal)
        past.add_entries(bench.journal, 0)
        container_history = past.container(self.POD.uid, "app")

        rows = instance_rows(
            Timeline(()), container_history, VIEW, 70, 5, period_seconds=None
        )

        assert all("no probe" in text_of(row.spans) for row in rows)
