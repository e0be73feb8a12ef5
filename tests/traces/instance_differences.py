"""Differences between an instance of ours and one of the recorded kubelet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from tests.traces.clocks import Clocks
from tests.traces.instances import PROBED, Instance, Step

SPACING = 0.25
"""How much the usual pause between results of a probe may differ, in seconds."""

ENOUGH_TO_SPACE = 20
"""The number of results from which on the usual pause is compared."""


def differences(
    model: Instance, instance: Instance, clocks: Clocks, after_kill: float
) -> Sequence[str]:
    """Return descriptions of how an instance differs from the kubelet's.

    Up to its start, times are compared by the first zero, from there on by the zero
    with the fewest differences. `after_kill` is how much the time from a kill to the
    next event may differ, in seconds.
    """
    by_clock = (
        [
            *_steps(model, instance, replace(clocks, zeros=[zero]), clocks),
            *_end(model, instance, replace(clocks, zeros=[zero]), after_kill),
        ]
        for zero in clocks.zeros
    )
    return min(by_clock, key=len)


def _steps(
    model: Instance, instance: Instance, clocks: Clocks, start: Clocks
) -> Iterator[str]:
    expected, found = model.steps, instance.steps
    is_started = False
    for index in range(max(len(expected), len(found))):
        theirs = expected[index] if index < len(expected) else None
        mine = found[index] if index < len(found) else None
        if theirs is None or mine is None:
            yield from _one_sided(theirs, mine, clocks)
            return
        if theirs.kind != mine.kind:
            yield f"has {mine} where the kubelet has {theirs}"
            return
        then = clocks if is_started else replace(start, zeros=start.zeros[:1])
        is_started = is_started or theirs.reason == "Started"
        follows = expected[index + 1 : index + 2]
        if theirs.reason in PROBED and not any(map(theirs.causes, follows)):
            yield from _run(theirs, mine, then)
        else:
            yield from _counted(theirs, mine, then)
    if model.waits and instance.waits:
        own_waits, model_waits = (
            sorted(wait.kind for wait in one.waits) for one in (instance, model)
        )
        if own_waits != model_waits:
            yield f"waits with {own_waits}, the kubelet with {model_waits}"


def _one_sided(theirs: Step | None, mine: Step | None, clocks: Clocks) -> Iterator[str]:
    """Yield a step that only one of them has, unless it is after the other's end."""
    if theirs is not None and not clocks.is_cut(theirs.times[0]):
        yield f"lacks {theirs}"
    if mine is not None and not clocks.is_cut_mine(mine.times[0]):
        yield f"has {mine}, which the kubelet has not"


def _counted(theirs: Step, mine: Step, clocks: Clocks) -> Iterator[str]:
    """Compare steps whose number of events and times must be the same."""
    is_cut = clocks.is_cut(theirs.times[-1]) or clocks.is_cut_mine(mine.times[-1])
    if len(theirs.times) != len(mine.times) and not is_cut:
        yield f"{mine}, the kubelet has {theirs}"
    for one, other in zip(theirs.times, mine.times, strict=False):
        if not clocks.agree(one, other):
            yield f"{mine} is {clocks.format_times(one, other)}"
            return


def _run(theirs: Step, mine: Step, clocks: Clocks) -> Iterator[str]:
    """Compare results of a probe that no threshold counts.

    Milliseconds may decide whether one more result comes before a change, and the start
    of the run how many come before the end of the observation.
    """
    if not clocks.agree(theirs.times[0], mine.times[0]):
        yield f"{mine} is {clocks.format_times(theirs.times[0], mine.times[0])}"
    whole = [time for time in theirs.times if not clocks.is_cut(time)]
    my_whole = [time for time in mine.times if not clocks.is_cut_mine(time)]
    is_cut = len(whole) < len(theirs.times) or len(my_whole) < len(mine.times)
    more = len(my_whole) - len(whole)
    before_end = clocks.tolerance / min(map(_usual_pause, (theirs.times, mine.times)))
    if abs(more) > 1 + (before_end if is_cut else 0):
        yield f"{mine}, the kubelet has {theirs}"
    elif not more and not is_cut and not clocks.agree(whole[-1], my_whole[-1]):
        yield f"{mine} ends {clocks.format_times(whole[-1], my_whole[-1])}"
    if min(len(whole), len(my_whole)) >= ENOUGH_TO_SPACE:
        pause, my_pause = _usual_pause(whole), _usual_pause(my_whole)
        if abs(pause - my_pause) > SPACING:
            yield f"{mine} is every {my_pause:.1f} s, the kubelet's every {pause:.1f} s"


def _usual_pause(times: Sequence[float]) -> float:
    """Return the pause from one time to the next; infinite if there is only one."""
    pauses = [after - before for before, after in pairwise(times)]
    return median(pauses) if pauses else math.inf


def _end(
    model: Instance, instance: Instance, clocks: Clocks, after_kill: float
) -> Iterator[str]:
    """Compare the time of the first event after the end, relative to a kill."""
    theirs, mine = model.noticed_at, instance.noticed_at
    if model.started_at is None:
        return  # a pull, after a random pause
    if theirs is None or mine is None:
        if theirs is not None and not clocks.is_cut(theirs):
            yield "nothing comes of its end"
        if mine is not None and not clocks.is_cut_mine(mine):
            yield "it ends, the kubelet's does not"
        return
    if model.killed_at is not None and instance.killed_at is not None:
        zero = (model.killed_at, instance.killed_at)
        clocks = replace(clocks, zeros=[zero], tolerance=after_kill)
    if not clocks.agree(theirs, mine):
        yield f"its end is noticed {clocks.format_times(theirs, mine)}"
