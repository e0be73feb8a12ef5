"""Candidate runs: simulations under various random conditions; one has to match.

The phase of the recorded kubelet's relists, resyncs and first ticks, its age, and the
time until a server listened are unknown. A recording is followed if the simulation
with some of these conditions equals it.
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
from tests.traces.machine_pace import SLACK, is_late_machine, without_strays
from tests.traces.trace import Trace
from tests.traces.virtual import simulate

PHASES = (0.0, 0.3, 0.6, 0.9)
SEEDS = range(6)

LISTENS_AFTER = (0.0, 0.1)
"""Seconds from the start of a container until its program begins."""

AGE_AFTER_START = timedelta(seconds=6)
SEEDS_AFTER_START = range(60)
"""The first ticks of a kubelet that is younger than a period are random."""


LATE_RUN = 3.0
"""How late a machine may be in one of several runs of a pod, in seconds."""


class CandidateRun(NamedTuple):
    """The random conditions of a run: seed, age, phase and delay (both in seconds).

    With `has_recorded_pace`, operations take as long as on the late machine of the
    trace.
    """

    config: KubeletConfig
    begins_at: float
    listens_after: float
    has_recorded_pace: bool = False


def candidate_runs(trace: Trace) -> Iterator[CandidateRun]:
    """Yield the candidate runs of a trace, the most likely first."""
    config = trace.config
    quick, slow = (
        [
            CandidateRun(
                msgspec.structs.replace(config, seed=seed), begins_at, listens_after
            )
            for seed, begins_at in product(SEEDS, PHASES)
        ]
        for listens_after in LISTENS_AFTER
    )
    yield from quick[: len(PHASES)]
    if max(trace.periods.values()) > AGE_AFTER_START.total_seconds():
        for seed in SEEDS_AFTER_START:
            yield CandidateRun(
                msgspec.structs.replace(config, seed=seed, age=AGE_AFTER_START),
                0.0,
                0.0,
            )
    yield from quick[len(PHASES) :]
    yield from slow
    if is_late_machine(trace):
        yield from late_candidate_runs(trace)


def late_candidate_runs(trace: Trace) -> Iterator[CandidateRun]:
    """Yield the candidate runs on a machine that was late."""
    for seed in SEEDS:
        config = msgspec.structs.replace(trace.config, seed=seed)
        yield CandidateRun(config, 0.0, 0.0, has_recorded_pace=True)


def differences(
    trace: Trace, candidate: CandidateRun, lateness: float | None = None
) -> list[str]:
    """Return the differences of a run from the trace, without those by chance.

    `lateness` is how many seconds times may differ, by default the trace's.
    """
    ours = simulate(
        trace,
        candidate.config,
        begins_at=candidate.begins_at,
        listens_after=candidate.listens_after,
        has_recorded_pace=candidate.has_recorded_pace,
    )
    if candidate.has_recorded_pace:
        comparable = replace(trace, observation=without_strays(trace.observation))
        found = compare(comparable, without_strays(ours), lateness=SLACK)
    else:
        found = compare(trace, ours, lateness=lateness)
    return [str(difference) for difference in found if not difference.is_chance]


def is_late_run(trace: Trace, others: Iterable[Trace]) -> bool:
    """Return whether a trace differs from another only by the pace of its machine.

    The other trace is of the same pod and kubelet, and probetui follows it exactly, so
    the difference is no rule. Only times may differ, by at most `LATE_RUN`.
    """
    return any(
        other is not trace
        and other.version == trace.version
        and other.is_of_docker == trace.is_of_docker
        and other.manifest == trace.manifest
        and not fewest_differences(other)
        for other in others
    ) and not fewest_differences(trace, LATE_RUN)


def fewest_differences(trace: Trace, lateness: float | None = None) -> list[str]:
    """Return the differences of the candidate run that has the fewest."""
    best: list[str] | None = None
    for candidate in candidate_runs(trace):
        found = differences(trace, candidate, lateness)
        if best is None or len(found) < len(best):
            best = found
        if not found:
            break
    return best or []
