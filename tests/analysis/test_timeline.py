"""All ticks of a probe, and where they are found."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis import timeline as module
from probetui.analysis.timeline import (
    MARK_CODES,
    InstanceTicks,
    TickMark,
    Timeline,
    Timelines,
    classify_tick,
)
from probetui.drive.session_journal import JournalLimits, SessionJournal
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import (
    JournalEntry,
    NoteEntry,
    TickAction,
    TickEntry,
    Trigger,
)
from probetui.kubelet.outcome import Result
from tests.ticks import DEMO_KEY, FIRST, NOW, SECOND, a_tick, changed_tick, demo_ticks

READINESS_KEY = DEMO_KEY._replace(probe_type=ProbeType.READINESS)


def test_a_timeline_has_the_ticks_of_its_probe_only() -> None:
    mine, other = demo_ticks("sff"), a_tick(READINESS_KEY, NOW)
    note = NoteEntry(0, NOW, "between them")
    journal: list[JournalEntry] = [mine[0], note, other, mine[1], mine[2]]
    timelines = Timelines(journal)

    timelines.add_entries(journal[:3], 0)
    timelines.add_entries(journal[3:], 3)

    timeline = timelines.of(DEMO_KEY)
    assert [timeline.tick(index) for index in timeline.indexes] == mine
    container = DEMO_KEY.pod_uid, DEMO_KEY.container_name
    assert timelines.probes(*container) == [DEMO_KEY, READINESS_KEY]
    assert timelines.probes(DEMO_KEY.pod_uid, "another") == []


def test_a_probe_that_never_ticked_has_an_empty_timeline() -> None:
    timeline = Timelines([]).of(DEMO_KEY)

    assert not timeline.indexes
    assert timeline.generations() == []


@pytest.mark.parametrize("letter", list("swfehdgn"))
def test_the_marks_of_a_tick_are_kept_beside_the_journal(letter: str) -> None:
    tick = demo_ticks(letter)[0]

    assert Timeline.of([tick]).mark_at(0) == classify_tick(tick)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"new_container": True}, id="new container"),
        pytest.param({"trigger": Trigger.USER}, id="out of schedule"),
        pytest.param({"injected": True}, id="injected"),
        pytest.param({"delay": timedelta(seconds=2)}, id="delayed"),
        pytest.param({"action": TickAction.KILL}, id="kill"),
    ],
)
def test_everything_around_a_mark_is_kept_too(fields: dict[str, object]) -> None:
    tick = a_tick(DEMO_KEY, NOW, "f", **fields)

    mark = Timeline.of([tick]).mark_at(0)

    assert mark == classify_tick(tick)
    assert mark != TickMark("failure")


def test_every_mark_has_room_in_a_byte() -> None:
    assert len(MARK_CODES) <= 16


def test_of_a_tick_that_the_journal_forgot_only_the_mark_is_left() -> None:
    entries = demo_ticks("sfsfsfsfsfsf")
    journal = SessionJournal(
        JournalLimits(open_entries=2, block=2, packed_bytes=0, ticks=4)
    )
    journal.extend(entries)
    timeline = Timeline(journal)

    for place, entry in enumerate(entries):
        timeline.add(entry, place)

    assert timeline.tick(0) is None
    assert timeline.mark_at(0).code == "success"
    assert timeline.tick(11) == entries[11]


def test_a_tick_is_found_by_its_number_in_the_journal() -> None:
    entries = demo_ticks("ssssffff")
    timeline = Timeline.of(entries)

    assert [timeline.index_of(entry) for entry in entries] == list(range(8))
    assert timeline.index_of(changed_tick(entries[3], sequence=77)) is None


def test_a_tick_of_a_journal_from_the_engine_is_found_at_once() -> None:
    entries = [
        changed_tick(tick, sequence=tick.sequence + 1) for tick in demo_ticks("ssff")
    ]
    timeline = Timeline.of(entries)

    assert [timeline.index_of(entry) for entry in entries] == list(range(4))


def test_a_number_that_no_tick_has_finds_nothing() -> None:
    timeline = Timeline.of(demo_ticks("ss"))

    assert timeline.tick(2) is None
    assert timeline.tick(-1) is None


def test_ticks_belong_to_the_container_that_they_saw() -> None:
    entries = demo_ticks("sssff")
    seen = [FIRST, FIRST, FIRST, SECOND, SECOND]

    timeline = Timeline.of(
        [
            changed_tick(entry, container_id=container)
            for entry, container in zip(entries, seen, strict=True)
        ]
    )

    assert timeline.generations() == [
        InstanceTicks(FIRST, range(3)),
        InstanceTicks(SECOND, range(3, 5)),
    ]


def test_old_ticks_are_dropped_and_the_others_keep_their_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_TICKS", 20)
    entries = [
        changed_tick(tick, container_id=ContainerID(f"fake://{number // 4}"))
        for number, tick in enumerate(demo_ticks("sf" * 12))
    ]

    timeline = Timeline.of(entries)

    assert timeline.indexes == range(4, 24)
    assert timeline.tick(23) == entries[23]
    assert timeline.generations()[0] == InstanceTicks(
        ContainerID("fake://1"), range(4, 8)
    )


def test_ticks_that_the_journal_has_forgotten_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FORGOTTEN_AT_ONCE", 4)
    journal = SessionJournal(
        JournalLimits(open_entries=2, block=2, packed_bytes=0, ticks=4)
    )
    timelines = Timelines(journal)

    for place, tick in enumerate(demo_ticks("sf" * 20)):
        journal.extend([tick])
        timelines.add_entries([tick], place)

    timeline = timelines.of(DEMO_KEY)
    assert timeline.indexes.stop == 40
    assert journal.first - 4 < timeline.indexes.start <= journal.first
    assert timeline.tick(39) == journal[39]
    assert timeline.generations()[0].ticks == timeline.indexes


def test_ticks_are_dropped_once_enough_more_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Evicting(list[JournalEntry]):
        first = 0

    monkeypatch.setattr(module, "FORGOTTEN_AT_ONCE", 10)
    journal = Evicting(demo_ticks("s" * 40))
    timelines = Timelines(journal)
    timelines.add_entries(journal, 0)

    kept = []
    for first in (9, 10, 19, 20, 21):
        journal.first = first
        timelines.add_entries([], len(journal))
        kept.append(timelines.of(DEMO_KEY).indexes.start)

    assert kept == [0, 10, 10, 20, 20]


@pytest.mark.slow
def test_a_hundred_thousand_ticks_can_be_scrolled_through() -> None:
    journal = SessionJournal()
    batch = demo_ticks("sf" * 500)
    timelines = Timelines(journal)

    for number in range(100):
        fresh = [
            changed_tick(entry, sequence=number * 1000 + entry.sequence)
            for entry in batch
        ]
        place = len(journal)
        journal.extend(fresh)
        timelines.add_entries(fresh, place)

    timeline = timelines.of(DEMO_KEY)
    assert timeline.indexes == range(100_000)
    assert [timeline.tick(number).sequence for number in (0, 50_001, 99_999)] == [  # type: ignore[union-attr]  # they are all there
        0,
        50_001,
        99_999,
    ]


def test_kills_restarts_and_flips_are_found_in_both_directions() -> None:
    ticks = Timeline.of(demo_ticks("|sssfffKhhh|sss"))
    kill, restart = 5, 9

    assert ticks.turn(0, 1) == kill
    assert ticks.turn(kill, 1) == restart
    assert ticks.turn(restart, 1) is None
    assert ticks.turn(restart, -1) == kill
    assert ticks.turn(kill, -1) is None, "the first tick is no restart"


def test_the_first_tick_may_be_the_one_that_kills() -> None:
    first, *others = demo_ticks("fss")
    ticks = Timeline.of([changed_tick(first, action=TickAction.KILL), *others])

    assert ticks.turn(2, -1) == 0


def test_an_instant_belongs_to_the_tick_that_began_last() -> None:
    ticks = demo_ticks("sss")
    timeline = Timeline.of(ticks)
    began = [tick.timing.started_at for tick in ticks]

    assert [timeline.index_at(at) for at in began] == [0, 1, 2]
    assert timeline.index_at(began[1] + timedelta(seconds=1)) == 1
    assert timeline.index_at(began[0] - timedelta(seconds=1)) is None


def test_only_ticks_that_ran_are_read_backwards() -> None:
    ticks = demo_ticks("sfhhs")
    read: list[int] = []

    class Counting(list[TickEntry]):
        def __getitem__(self, place: Any) -> Any:
            read.append(place)
            return super().__getitem__(place)

    timeline = Timeline.of(Counting(ticks))
    read.clear()

    assert [*timeline.ran_backwards()] == [ticks[4], ticks[1], ticks[0]]
    assert read == [4, 1, 0]


def test_a_startup_probe_that_is_done_is_no_longer_only_on_hold() -> None:
    startup = DEMO_KEY._replace(probe_type=ProbeType.STARTUP)
    (held,) = demo_ticks("h")

    def code(key: ProbeKey, stored: Result) -> str:
        return classify_tick(changed_tick(held, key=key, stored_after=stored)).code

    assert code(startup, Result.SUCCESS) == "done"
    assert code(startup, Result.FAILURE) == "hold"
    assert code(DEMO_KEY, Result.SUCCESS) == "hold"


@pytest.mark.parametrize("letter", list("sfw"))
@pytest.mark.parametrize(
    "action", [TickAction.READY, TickAction.NOT_READY, TickAction.STARTED]
)
def test_a_flip_is_kept_with_what_it_came_by(letter: str, action: TickAction) -> None:
    (tick,) = demo_ticks(letter)
    flip = changed_tick(tick, action=action)

    mark = Timeline.of([flip]).mark_at(0)

    assert mark == replace(classify_tick(tick), is_flip=True)


@pytest.mark.parametrize(
    ("letters", "alike"),
    [
        pytest.param("sssff", range(3, 5), id="the last two"),
        pytest.param("fffff", range(5), id="all"),
        pytest.param("|ssss", range(4), id="a new container begins them"),
        pytest.param("ss|ss", range(2, 4), id="no further back than that"),
        pytest.param("sf", range(1, 2), id="one"),
    ],
)
def test_equal_ticks_are_taken_together(letters: str, alike: range) -> None:
    timeline = Timeline.of(demo_ticks(letters))

    assert timeline.alike(timeline.indexes) == alike


def with_periods(*periods: int) -> Timeline:
    return Timeline.of(
        [
            changed_tick(tick, period_seconds=period)
            for tick, period in zip(
                demo_ticks("s" * len(periods)), periods, strict=True
            )
        ]
    )


def test_a_changed_period_begins_ticks_that_are_taken_together() -> None:
    timeline = with_periods(5, 5, 2, 2, 2, 7)

    assert timeline.alike(range(5)) == range(2, 5)
    assert timeline.alike(range(3, 5)) == range(3, 5)
    assert timeline.alike(range(2)) == range(2)
    assert timeline.alike(range(6)) == range(5, 6)
    periods = [timeline.period_from(index) for index in timeline.indexes]
    assert periods == [0, 0, 2, 0, 0, 7]


def test_a_period_that_is_not_known_is_no_change() -> None:
    assert with_periods(0, 5, 0, 5).alike(range(4)) == range(4)


def after(*seconds: tuple[float, float, int], period: int = 5) -> Timeline:
    """Return ticks by their start, how long they took and what was dropped before."""
    ticks = []
    for place, (start, took, drops) in enumerate(seconds):
        ticks.append(
            a_tick(
                DEMO_KEY,
                NOW + timedelta(seconds=start),
                sequence=place,
                duration=timedelta(seconds=took),
                period_seconds=period,
                late_drops=drops,
            )
        )
    return Timeline.of(ticks)


@pytest.mark.parametrize(
    ("ticks", "lost"),
    [
        pytest.param([(0, 0.1, 0), (5, 0.1, 0)], 0, id="none"),
        pytest.param([(0, 4, 0), (5, 0.1, 0)], 0, id="slow, and within its period"),
        pytest.param([(0, 7, 0), (7, 0.1, 0)], 0, id="one tick waits"),
        pytest.param([(0, 12, 0), (12, 0.1, 0)], 1, id="the one after it is lost"),
        pytest.param([(0, 21, 0), (21, 0.1, 0), (25, 0.1, 0)], 3, id="three are"),
        pytest.param([(0, 0.1, 0), (5, 0.1, 3)], 3, id="the engine was late"),
        pytest.param([(0, 1, 0), (30, 0.1, 0)], 0, id="no longer than any period"),
        pytest.param([(0, 1.1, 0), (30, 0.1, 0)], 5, id="longer than some"),
        pytest.param(
            [(0, 12, 0), (12, 16, 0), (28, 0.1, 0)], 1 + 2, id="of two slow ones"
        ),
    ],
)
def test_ticks_are_lost_while_a_probe_or_the_engine_is_too_slow(
    ticks: list[tuple[float, float, int]], lost: int
) -> None:
    timeline = after(*ticks)

    assert timeline.ticks_lost(timeline.indexes, 99) == lost
    assert timeline.ticks_lost(range(len(ticks) - 1, len(ticks)), 99) == 0


@pytest.mark.parametrize(
    ("some", "lost"),
    [
        *((range(1), 1), (range(2), 1), (range(3), 2), (range(4), 2)),
        *((range(1, 2), 0), (range(1, 3), 1), (range(2, 4), 1), (range(3, 4), 0)),
    ],
)
def test_a_tick_that_is_lost_is_lost_after_the_slow_one(some: range, lost: int) -> None:
    timeline = after((0, 12, 0), (12, 0.1, 0), (17, 12, 0), (29, 0.1, 0))

    assert timeline.ticks_lost(some, 99) == lost


def test_what_the_first_tick_that_is_kept_lost_is_kept_with_it() -> None:
    timeline = after((0, 12, 0), (12, 0.1, 0), (17, 12, 0), (29, 0.1, 0))
    changed = with_periods(5, 5, 2, 2)

    timeline.forget(2)
    changed.forget(2)

    assert timeline.ticks_lost(timeline.indexes, 99) == 1
    assert [changed.period_from(index) for index in changed.indexes] == [2, 0]


def test_ticks_of_an_old_record_are_lost_by_the_period_of_the_manifest() -> None:
    timeline = after((0, 12, 0), (12, 0.1, 0), period=0)

    assert timeline.ticks_lost(timeline.indexes, 3) == 3
    assert timeline.ticks_lost(timeline.indexes, 5) == 1


def test_what_is_dropped_was_lost_no_longer_and_changed_no_period(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_TICKS", 20)
    slow = [
        changed_tick(
            tick,
            duration=timedelta(seconds=9 if number in {1, 15} else 0),
            period_seconds=2 if number < 10 else 1,
        )
        for number, tick in enumerate(demo_ticks("s" * 21))
    ]

    timeline = Timeline.of(slow)

    assert timeline.indexes == range(2, 21)
    assert timeline.ticks_lost(timeline.indexes, 9) == 4
    assert timeline.period_from(10) == 1
    assert timeline.mark_at(2) == classify_tick(slow[2])
    assert timeline.index_of(slow[2]) == 2
    assert timeline.turn(2, -1) is None


@pytest.mark.parametrize(
    ("letters", "first"),
    [
        pytest.param("sff", 1, id="after a success"),
        pytest.param("fff", 0, id="from the beginning"),
        pytest.param("fhhf", 0, id="over ticks that did not run"),
        pytest.param("ffef", 3, id="an error ends a run"),
        pytest.param("hhf", 2, id="alone"),
    ],
)
def test_the_first_failure_of_a_run_is_found(letters: str, first: int) -> None:
    ticks = demo_ticks(letters)

    assert Timeline.of(ticks).first_failure(ticks[-1]) == ticks[first]


def test_failures_of_another_container_are_no_part_of_a_run() -> None:
    other = ContainerID("docker://before")
    first, *ticks = demo_ticks("fff")
    timeline = Timeline.of([changed_tick(first, container_id=other), *ticks])

    assert timeline.first_failure(ticks[-1]) == ticks[0]


def test_a_tick_that_was_given_up_is_no_end_of_a_run() -> None:
    other = ContainerID("docker://before")
    before, first, given_up, last = demo_ticks("sfef")
    ticks = [
        changed_tick(before, container_id=other),
        first,
        changed_tick(given_up, attempts=()),
        last,
    ]

    assert Timeline.of(ticks).first_failure(last) == first


def test_of_a_long_run_of_failures_few_ticks_are_read() -> None:
    ticks = demo_ticks("s" + "f" * 1000)
    read: set[int] = set()

    class Noting(list[TickEntry]):
        def __getitem__(self, place: Any) -> Any:
            read.add(place)
            return super().__getitem__(place)

    timeline = Timeline.of(Noting(ticks))
    read.clear()

    assert timeline.first_failure(ticks[-1]) == ticks[1]
    assert len(read) < 20
