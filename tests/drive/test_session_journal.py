"""The journal of a session keeps every entry that can be scrolled to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.drive.session_journal import LEAST_TICKS, JournalLimits, SessionJournal
from probetui.k8s.event import Event, EventType
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    JournalEntry,
    NoteEntry,
    StateEntry,
    StatusEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from tests.builders import START, a_container_status, a_status
from tests.record.strategies import values_of
from tests.ticks import DEMO_KEY, a_tick, changed_tick

SMALL = JournalLimits(open_entries=4, block=3, packed_bytes=1 << 20, ticks=5)
FORGETFUL = replace(SMALL, packed_bytes=0)


def notes(count: int) -> list[JournalEntry]:
    return [NoteEntry(number, START, f"note {number}") for number in range(count)]


def ticks(count: int, output: str = "ok") -> list[JournalEntry]:
    """Return ticks a second apart, all with different outputs."""
    return [
        a_tick(
            DEMO_KEY,
            START + timedelta(seconds=number),
            n=number + 1,
            attempts=(Attempt(ProbeResult.SUCCESS, f"{output} {number}"),),
        )
        for number in range(count)
    ]


def only_ticks(count: int) -> list[TickEntry]:
    return [entry for entry in ticks(count) if isinstance(entry, TickEntry)]


def a_journal(
    entries: Sequence[JournalEntry], limits: JournalLimits = SMALL
) -> SessionJournal:
    """Return a journal to which entries were added one by one."""
    journal = SessionJournal(limits)
    for entry in entries:
        journal.extend([entry])
    return journal


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 40])
def test_a_journal_returns_the_entries_that_were_added(count: int) -> None:
    entries = notes(count)

    journal = a_journal(entries)

    assert len(journal) == count
    assert list(journal) == entries
    assert [journal[place] for place in range(count)] == entries


@given(st.integers(0, 30), st.integers(-35, 35), st.integers(-35, 35))
def test_a_slice_is_that_of_a_list(count: int, start: int, stop: int) -> None:
    entries = notes(count)

    assert a_journal(entries)[start:stop] == entries[start:stop]


@given(
    st.lists(
        st.one_of(
            *(
                values_of(entry_class)
                for entry_class in (
                    TickEntry,
                    StateEntry,
                    ContainerEntry,
                    BackoffEntry,
                    NoteEntry,
                )
            )
        ),
        max_size=6,
    )
)
def test_every_kind_of_entry_survives_being_packed(entries: list[JournalEntry]) -> None:
    packed_at_once = JournalLimits(open_entries=0, block=1)

    assert list(a_journal(entries, packed_at_once)) == entries


def test_a_whole_status_survives_being_packed() -> None:
    entry = StatusEntry(1, START, "uid", a_status(a_container_status()))

    assert a_journal([entry], JournalLimits(open_entries=0, block=1))[0] == entry


def test_output_that_is_not_utf_8_survives_being_packed() -> None:
    entries = ticks(20, output="\udcff\x1b[2J")

    assert list(a_journal(entries)) == entries


def test_the_oldest_blocks_are_forgotten_when_there_is_too_much() -> None:
    entries = ticks(40)

    journal = a_journal(entries, FORGETFUL)

    assert len(journal) == 40
    assert journal.first == 30
    assert list(journal) == entries[30:]
    assert journal[20:34] == entries[30:34]


def test_a_forgotten_entry_raises_an_error() -> None:
    journal = a_journal(ticks(40), FORGETFUL)

    with pytest.raises(IndexError, match="entry 2 of 40 is not there"):
        journal[2]


def test_no_tick_is_forgotten_that_may_be_scrolled_to() -> None:
    entries = [
        entry for pair in zip(notes(30), ticks(30), strict=True) for entry in pair
    ]

    journal = a_journal(entries, FORGETFUL)

    kept = [entry for entry in journal if isinstance(entry, TickEntry)]
    assert len(kept) >= FORGETFUL.ticks
    assert (
        kept
        == [entry for entry in entries if isinstance(entry, TickEntry)][-len(kept) :]
    )


def test_ticks_that_print_a_lot_are_forgotten_above_the_most_there_may_be() -> None:
    most = replace(SMALL, packed_bytes=0, ticks=1_000, most_bytes=3_000)

    journal = a_journal(ticks(100), most)

    assert journal.packed_bytes <= most.most_bytes
    assert 0 < journal.first < 100
    assert list(journal) == ticks(100)[journal.first :]


def test_entries_with_much_in_them_are_packed_early() -> None:
    heavy = replace(SMALL, open_entries=1_000, open_bytes=10_000)

    journal = a_journal(ticks(100, output="x" * 1_000), heavy)

    assert journal.packed_bytes
    assert list(journal) == ticks(100, output="x" * 1_000)


def test_an_event_gets_the_tick_of_its_block_back() -> None:
    warning = Event(EventType.WARNING, "Unhealthy", "no", "uid", "", START)
    tick, other = only_ticks(2)
    entries: list[JournalEntry] = [
        EventEntry(1, START, warning, tick),
        tick,
        EventEntry(2, START, warning, other),
        EventEntry(3, START, warning),
    ]

    journal = a_journal(entries, JournalLimits(open_entries=0, block=4))

    assert list(journal) == entries
    assert journal.packed_bytes


def test_an_event_adds_few_bytes_when_packed_with_its_tick() -> None:
    warning = Event(EventType.WARNING, "Unhealthy", "no", "uid", "", START)
    entries: list[JournalEntry] = []
    for tick in only_ticks(100):
        entries += [tick, EventEntry(0, START, warning, tick)]
    at_once = JournalLimits(open_entries=0, block=200)

    without = a_journal(ticks(100) + notes(100), at_once)
    journal = a_journal(entries, at_once)

    assert journal.packed_bytes < without.packed_bytes + 1_000


@pytest.mark.parametrize("number", [1 << 61, 1 << 62, 1 << 63, -(1 << 70)])
def test_numbers_of_any_size_survive_being_packed(number: int) -> None:
    entries = [
        only_ticks(1)[0],
        *(changed_tick(tick, n=number) for tick in only_ticks(3)),
    ]

    assert list(a_journal(entries, JournalLimits(open_entries=0, block=4))) == entries


def test_followers_read_on_from_where_they_stopped() -> None:
    entries, journal, read = ticks(50), SessionJournal(FORGETFUL), 0
    followed: list[JournalEntry] = []

    for place in range(0, 50, 5):
        journal.extend(entries[place : place + 5])
        fresh = journal[read:]
        read += len(fresh)
        followed += fresh

    assert followed == entries


@pytest.mark.slow
def test_a_tick_of_one_of_many_probes_takes_a_dozen_bytes() -> None:
    journal = SessionJournal()
    keys = [DEMO_KEY._replace(pod_uid=f"{number:032x}") for number in range(200)]
    batch = [
        changed_tick(tick, sequence=number, key=keys[number % 200], n=number // 200)
        for number, tick in enumerate(only_ticks(20_000))
    ]

    journal.extend(batch)

    assert journal.packed_bytes < (len(batch) - JournalLimits().open_entries) * 12


@pytest.mark.slow
def test_a_hundred_thousand_ticks_are_all_kept_in_little_memory() -> None:
    journal = SessionJournal()
    batch = ticks(1_000)

    for _ in range(LEAST_TICKS // 1_000):
        journal.extend(batch)

    assert len(journal) == LEAST_TICKS
    assert journal.first == 0
    assert journal.packed_bytes < LEAST_TICKS * 40
    assert journal[50_500] == batch[500]


@given(st.integers(0, 40), st.integers(0, 40))
def test_entries_that_were_removed_from_the_end_can_be_added_again(
    count: int, length: int
) -> None:
    entries, kept = notes(count), min(count, length)
    journal = a_journal(entries)

    journal.cut(kept)
    cut = list(journal)
    for entry in entries[kept:]:
        journal.extend([entry])

    assert cut == entries[:kept]
    assert list(journal) == entries


def test_a_journal_cannot_be_rewound_to_a_forgotten_entry() -> None:
    journal = a_journal(ticks(60), FORGETFUL)

    with pytest.raises(IndexError):
        journal.cut(journal.first - 1)
