"""Lines of ticks and outcomes equal those of the codec byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.probe import HTTPHeader
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeOutcome, ProbeResult
from probetui.record import routine_lines
from probetui.record.codec import (
    encode_attempt,
    encode_entry,
    encode_input,
    encode_line,
    encode_text,
)
from probetui.record.format import RecordContext
from probetui.record.inputs import InputEncoder
from probetui.record.masking import Mask
from probetui.record.routine_lines import RoutineLines
from tests.record.strategies import LEAVES, texts, values_of
from tests.record.test_format import TICK
from tests.ticks import changed_tick

START = datetime(2026, 11, 20, 8, 18, tzinfo=UTC)
HOLES = st.sampled_from(["\ufdd0ms0", "\ufdd0seq", "%(seq)s", "100%"])
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    **LEAVES,
    str: texts | HOLES,
    float: st.floats(0, 1),
}
TICKS: st.SearchStrategy[TickEntry] = values_of(TickEntry, VALUES)
OUTCOMES: st.SearchStrategy[ProbeFinished] = values_of(ProbeFinished, VALUES)
ANSWER = HTTPAnswer(200, (HTTPHeader("set-cookie", "id=1"),))
ATTEMPT = Attempt(
    ProbeResult.SUCCESS, "ok", duration=timedelta(microseconds=1234), http=ANSWER
)


def a_context(mask: Mask | None = None, name: str = "web") -> RecordContext:
    pods = {TICK.key.pod_uid: Pod(TICK.key.pod_uid, name)}
    return RecordContext(START, pods, mask or Mask())


def general_tick(tick: TickEntry, line: int, context: RecordContext) -> bytes:
    return encode_line(encode_entry(tick, context) | {"seq": line})


def general_outcome(
    item: ProbeFinished, number: int, line: int, context: RecordContext
) -> bytes:
    encoded = InputEncoder(context.mask).encode(item)
    return encode_line(encode_input(number, encoded, START, line, context))


@pytest.mark.slow
@given(TICKS, st.lists(st.tuples(st.integers(1, 9), TICKS), max_size=3))
def test_lines_of_ticks_are_those_of_the_codec(
    first: TickEntry, others: list[tuple[int, TickEntry]]
) -> None:
    context = a_context()
    lines = RoutineLines(context.mask)
    again = [
        changed_tick(first, n=n, run=n, at=other.at, duration=other.timing.duration)
        for n, other in others
    ]

    for tick in (
        first,
        first,
        *again,
        *(changed_tick(other, key=first.key) for _, other in others),
    ):
        assert lines.tick(tick, 7, context) == general_tick(tick, 7, context)


@pytest.mark.slow
@given(OUTCOMES, st.lists(OUTCOMES, max_size=3))
def test_lines_of_outcomes_are_those_of_the_codec(
    first: ProbeFinished, others: list[ProbeFinished]
) -> None:
    context = a_context()
    lines = RoutineLines(context.mask)
    attempts = first.outcome.attempts
    again = [
        replace(other, outcome=replace(other.outcome, attempts=attempts))
        for other in others
    ]

    for number, item in enumerate((first, first, *again, *others)):
        line = lines.outcome(item, number, START, 7, context)
        assert line == general_outcome(item, number, 7, context)


def test_what_an_attempt_took_is_its_own_where_all_else_repeats() -> None:
    context = a_context()
    lines = RoutineLines(context.mask)
    longer = replace(ATTEMPT, duration=timedelta(microseconds=98765))

    written = [
        lines.tick(changed_tick(TICK, attempts=(attempt,)), 7, context)
        for attempt in (ATTEMPT, ATTEMPT, longer)
    ]

    assert b'"ms":1.234,"detail"' in written[1]
    assert b'"ms":98.765,"detail"' in written[2]


def count_calls(monkeypatch: pytest.MonkeyPatch, name: str) -> list[object]:
    """Return a list that grows with each call of an encoder."""
    calls: list[object] = []
    encode: Callable[..., Any] = getattr(routine_lines, name)

    def encode_and_count(*arguments: Any) -> Any:
        calls.append(arguments)
        return encode(*arguments)

    monkeypatch.setattr(routine_lines, name, encode_and_count)
    return calls


def a_round(number: int, *attempts: Attempt) -> tuple[TickEntry, ProbeFinished]:
    """Return a tick and an outcome that differ from others in numbers alone."""
    later = timedelta(seconds=number)
    took = timedelta(microseconds=1234 + number)
    attempts = tuple(
        replace(attempt, duration=took * place)
        for place, attempt in enumerate(attempts, start=1)
    )
    outcome = ProbeOutcome(attempts, START + 2 * later, took * 5)
    tick = changed_tick(
        TICK,
        n=number,
        run=number + 1,
        at=START + later,
        started_at=START - later,
        duration=took * 4,
        attempts=attempts,
    )
    return tick, ProbeFinished(number * 7, outcome)


def check_round(
    lines: RoutineLines, number: int, context: RecordContext, *attempts: Attempt
) -> None:
    tick, item = a_round(number, *attempts)
    at, line = START + timedelta(seconds=number / 2), number + 100

    written = lines.outcome(item, number + 50, at, line, context)

    encoded = InputEncoder(context.mask).encode(item)
    assert written == encode_line(encode_input(number + 50, encoded, at, line, context))
    assert lines.tick(tick, line, context) == general_tick(tick, line, context)


@pytest.mark.parametrize(
    ("encoder", "calls"), [("encode_input", 9), ("encode_text", 1 + 9)]
)
def test_what_never_repeats_is_encoded_once(
    encoder: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = count_calls(monkeypatch, encoder)
    context = a_context()
    lines = RoutineLines(context.mask)

    for number in range(9):
        date = HTTPHeader("date", f"Sat, 28 Nov 2026 17:08:0{number} GMT")
        attempt = replace(ATTEMPT, http=HTTPAnswer(200, (date,)))
        check_round(lines, number, context, attempt)

    # What is common to all ticks is a template at once.
    assert len(encoded) == calls


@pytest.mark.parametrize(
    ("encoder", "calls"),
    [("encode_entry", 1), ("encode_input", 3), ("encode_attempt", 2 * 2)],
)
def test_what_repeats_is_encoded_until_it_is_known(
    encoder: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = count_calls(monkeypatch, encoder)
    context = a_context()
    lines = RoutineLines(context.mask)

    for number in range(9):
        check_round(lines, number, context, ATTEMPT, replace(ATTEMPT, output="100%"))

    assert len(encoded) == calls


@pytest.mark.parametrize(
    "output", ["\ufdd0ms0", "\ufdd0seq", "\ufdd0other", "%(seq)s", "100%", "\ufdd0"]
)
def test_what_looks_like_a_hole_is_written_as_it_is(output: str) -> None:
    context = a_context()
    lines = RoutineLines(context.mask)

    for number in range(4):
        check_round(lines, number, context, replace(ATTEMPT, output=output))


def test_a_name_that_looks_like_a_hole_is_written_as_it_is() -> None:
    context = a_context(name="\ufdd0n")
    lines = RoutineLines(context.mask)

    for number in range(4):
        check_round(lines, number, context, ATTEMPT)


@pytest.mark.parametrize("took", [timedelta(), timedelta(microseconds=1)])
@pytest.mark.parametrize("attempt", [timedelta(), timedelta(microseconds=1)])
def test_a_length_of_zero_is_written_or_not_however_often_it_comes(
    took: timedelta, attempt: timedelta
) -> None:
    context = a_context()
    lines = RoutineLines(context.mask)
    attempts = (ATTEMPT, replace(ATTEMPT, duration=attempt))
    item = ProbeFinished(1, ProbeOutcome(attempts, START, took))

    for number in range(4):
        line = lines.outcome(item, number, START, 7, context)
        assert line == general_outcome(item, number, 7, context)


def test_an_injected_outcome_is_not_taken_for_a_real_one() -> None:
    context = a_context()
    lines = RoutineLines(context.mask)
    outcome = ProbeOutcome((ATTEMPT,), START, timedelta(seconds=1))
    items = [
        ProbeFinished(1, replace(outcome, injected=injected))
        for injected in (True, False, True, False, True, False)
    ]

    for item in items:
        line = lines.outcome(item, 1, START, 7, context)
        assert line == general_outcome(item, 1, 7, context)


@pytest.mark.parametrize(("room", "calls"), [(0, 3), (-1, 9)])
def test_no_template_is_kept_of_a_longer_outcome(
    room: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = a_context()
    lines = RoutineLines(context.mask)
    item = ProbeFinished(1, ProbeOutcome((ATTEMPT,), START, timedelta(seconds=1)))
    length = len(general_outcome(item, 1, 7, context))
    monkeypatch.setattr(routine_lines, "LONGEST_TEMPLATE", length + room)
    encoded = count_calls(monkeypatch, "encode_input")

    for _ in range(9):
        lines.outcome(item, 1, START, 7, context)

    assert len(encoded) == calls


@pytest.mark.parametrize(("room", "calls"), [(0, 2), (-1, 9)])
def test_no_template_is_kept_of_longer_attempts(
    room: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = a_context()
    lines = RoutineLines(context.mask)
    tick = changed_tick(TICK, attempts=(ATTEMPT,))
    length = len(encode_text([encode_attempt(ATTEMPT, context)]))
    monkeypatch.setattr(routine_lines, "LONGEST_TEMPLATE", length + room)
    encoded = count_calls(monkeypatch, "encode_attempt")

    for _ in range(9):
        lines.tick(tick, 7, context)

    assert len(encoded) == calls


def test_a_new_secret_is_masked_from_then_on() -> None:
    mask = Mask()
    context = a_context(mask)
    lines = RoutineLines(mask)
    tick = changed_tick(TICK, attempts=(replace(ATTEMPT, output="swordfish"),))
    item = ProbeFinished(1, ProbeOutcome(tick.attempts, START, timedelta(seconds=1)))
    before = lines.tick(tick, 7, context), lines.outcome(item, 1, START, 7, context)

    mask.learn(["swordfish"])

    after = lines.tick(tick, 7, context), lines.outcome(item, 1, START, 7, context)
    assert all(b"swordfish" in line for line in before)
    assert not any(b"swordfish" in line for line in after)


def test_a_pod_that_becomes_known_has_its_name_from_then_on() -> None:
    lines = RoutineLines(None)
    lines.tick(TICK, 7, a_context(name="before"))

    line = lines.tick(TICK, 8, a_context(name="after"))

    assert b'"pod":"after"' in line


def test_no_more_is_kept_than_a_number_of_templates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routine_lines, "MOST_TEMPLATES", 2)
    encoded = count_calls(monkeypatch, "encode_entry")
    context = a_context()
    lines = RoutineLines(context.mask)

    for name, calls in zip("abababcab", [1, 2, 2, 2, 2, 2, 3, 4, 5], strict=True):
        key = TICK.key._replace(container_name=name)
        tick = changed_tick(TICK, key=key, attempts=(replace(ATTEMPT, output=name),))
        assert lines.tick(tick, 7, context) == general_tick(tick, 7, context)
        assert len(encoded) == calls
