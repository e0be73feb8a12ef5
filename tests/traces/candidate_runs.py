"""Runs with other chances, of which one has to lead to what was recorded.

Where the recorded kubelet happened to be in the phase of its relists, resyncs and
first ticks, how old it was, and how quick a server was to listen: all that is chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import NamedTuple

import msgspec

from probetui.kubelet.config import KubeletConfig
from tests.traces.compare import compare
from tests.traces.machine_pace import SLACK, is_late, without_strays
from tests.traces.trace import Trace
from tests.traces.virtual import play

PHASES = (0.0, 0.3, 0.6, 0.9)
SEEDS = range(6)

LISTENS_AFTER = (0.0, 0.1)
"""Seconds from the start of a container until its program does something."""

YOUNG = timedelta(seconds=6)
SEEDS_OF_YOUNG = range(60)
"""The first ticks of a kubelet that is younger than a period are at random."""


LATE_RUN = 3.0
"""Seconds by which a machine may be late in one of several runs of a pod."""


class Chance(NamedTuple):
    """What is chance in a run: a seed, a phase, a delay (both in seconds), an age.

    With `has_pace` all took as long as it did on the machine of the trace, which was
    late.
    """

    config: KubeletConfig
    begins: float
    listens_after: float
    has_pace: bool = False


def chances(trace: Trace) -> Iterator[Chance]:
    """Yield what may have been, the most likely first."""
    config = trace.config
    quick, slow = (
        [
            Chance(msgspec.structs.replace(config, seed=seed), begins, listens_after)
            for seed, begins in product(SEEDS, PHASES)
        ]
        for listens_after in LISTENS_AFTER
    )
    yield from quick[: len(PHASES)]
    if max(trace.periods.values()) > YOUNG.total_seconds():
        for seed in SEEDS_OF_YOUNG:
            yield Chance(
                msgspec.structs.replace(config, seed=seed, age=YOUNG), 0.0, 0.0
            )
    yield from quick[len(PHASES) :]
    yield from slow
    if is_late(trace):
        yield from chances_of_late(trace)


def chances_of_late(trace: Trace) -> Iterator[Chance]:
    """Yield what may have been on a machine that was late."""
    for seed in SEEDS:
        config = msgspec.structs.replace(trace.config, seed=seed)
        yield Chance(config, 0.0, 0.0, has_pace=True)


def differences(
    trace: Trace, chance: Chance, lateness: float | None = None
) -> list[str]:
    """Return how a run differs from the trace, but for what is chance.

    `lateness` is how many seconds times may differ, by default what the trace shows.
    """
    ours = play(
        trace,
        chance.config,
        begins=chance.begins,
        listens_after=chance.listens_after,
        has_pace=chance.has_pace,
    )
    if chance.has_pace:
        alike = replace(trace, seen=without_strays(trace.seen))
        found = compare(alike, without_strays(ours), lateness=SLACK)
    else:
        found = compare(trace, ours, lateness=lateness)
    return [str(difference) for difference in found if not difference.is_chance]


def is_late_run(trace: Trace, others: Iterable[Trace]) -> bool:
    """Return whether only the pace of its machine sets a trace apart from another.

    The other one is of the same pod and kubelet, and ours does all of that: what the
    two differ in is no rule. Only instants may differ, and not by more than `LATE_RUN`.
    """
    return any(
        other is not trace
        and other.version == trace.version
        and other.is_of_docker == trace.is_of_docker
        and other.manifest == trace.manifest
        and not best_try(other)
        for other in others
    ) and not best_try(trace, LATE_RUN)


def best_try(trace: Trace, lateness: float | None = None) -> list[str]:
    """Return the differences of the run that has fewest; none if one has none."""
    best: list[str] | None = None
    for chance in chances(trace):
        found = differences(trace, chance, lateness)
        if best is None or len(found) < len(best):
            best = found
        if not found:
            break
    return best or []
