"""What became of one container, as text: a sentence a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from probetui.presentation.generations import life_words
from probetui.presentation.lives import Life
from probetui.presentation.past import Past
from probetui.presentation.why import (
    Answer,
    Case,
    answers,
    tick_by_tick,
    why_ended,
    why_tick,
    why_waits,
)

_MOST_LIVES = 20
_INDENT = "  "


def report(case: Case, past: Past, pod_uid: str) -> list[str]:
    """Return why a container ended last, and waits; else why it is as it is."""
    ends = case.past.last_ends
    lines = _about_ends(case, past, ends) if ends else _about_now(case, past, pod_uid)
    return [case.shown_name, *(f"{_INDENT}{each}" for each in lines)]


def _about_ends(case: Case, past: Past, ends: Iterable[Life]) -> Iterator[str]:
    for each in ends:
        answer = why_ended(each, case)
        yield from _whole(answer)
        if each.kill is not None:
            yield "Tick by tick:"
            timeline = past.timeline(each.kill.key)
            yield from _indented(tick_by_tick(timeline, each.kill, case.view))
        yield from _to_repeat(answer)
    if (waiting := why_waits(case)) is not None:
        yield from _whole(waiting)
    yield "Its lives:"
    yield from _indented(_lives(case))


def _about_now(case: Case, past: Past, pod_uid: str) -> Iterator[str]:
    keys = past.probes(pod_uid, case.container_name)
    if not keys:
        yield from chain.from_iterable(_whole(each) for each in answers(case, None))
    for key in keys:
        timeline = past.timeline(key)
        tick = timeline.tick(timeline.indexes[-1])
        if tick is not None:
            answer = why_tick(tick, case)
            yield from _whole(answer)
            yield from _to_repeat(answer)


def _whole(answer: Answer) -> Iterator[str]:
    yield answer.question
    yield from _indented(answer.sentences)


def _lives(case: Case) -> Iterator[str]:
    lives = case.past.lives
    if len(lives) > _MOST_LIVES:
        yield f"({len(lives) - _MOST_LIVES} earlier ones)"
    for each in lives[-_MOST_LIVES:]:
        yield f"{each.number}  {life_words(each, case.view)}"


def _to_repeat(answer: Answer) -> Iterator[str]:
    if answer.command:
        yield "To repeat the probe by hand:"
        yield f"{_INDENT}{answer.command}"
    if answer.needs:
        yield f"{_INDENT}{answer.needs}"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"{_INDENT}{each}" for each in lines)
