"""The buffer of log lines, which keeps only the newest."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.presentation.events.log import MIN_LINES, EventLine, EventLineBuffer
from tests.ticks import NOW


def lines(start: int, stop: int) -> list[EventLine]:
    return [
        EventLine(
            number, NOW + timedelta(seconds=number), "note", "", "", f"line {number}"
        )
        for number in range(start, stop)
    ]


@pytest.mark.sweep
def test_the_newest_hundred_thousand_lines_are_always_kept() -> None:
    kept = EventLineBuffer()

    kept.extend(lines(0, 3 * MIN_LINES))

    assert len(kept) >= MIN_LINES >= 100_000
    assert len(kept) + kept.evicted == kept.total == 3 * MIN_LINES


def test_old_lines_are_dropped_in_batches() -> None:
    kept = EventLineBuffer(least=100)

    kept.extend(lines(0, 110))
    before = kept.evicted
    kept.extend(lines(110, 111))

    assert (before, kept.evicted) == (0, 11)
    assert kept.oldest == 11


def test_lines_keep_their_numbers() -> None:
    kept = EventLineBuffer(least=10)
    kept.extend(lines(0, 25))

    assert [line.sequence for line in kept.since(22)] == [22, 23, 24]
    assert [line.sequence for line in kept.since(3)] == list(range(15, 25))
    assert kept.since(kept.total) == []


def test_long_messages_are_dropped_earlier() -> None:
    kept = EventLineBuffer(least=100, most_characters=60)

    kept.extend(lines(0, 40))

    assert 40 < sum(len(line.message) for line in kept) <= 60
    assert [line.sequence for line in kept][-1] == 39
    assert kept.total == 40
