"""What is said of the ends of simulated pods, beside what they were."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.prometheus.fleet import (
    ContainerName,
    LastEnd,
    SeenEnd,
    StoredContainer,
)
from probetui.cluster.prometheus.past import past_inputs, stored_pod
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
)
from tests.cluster.observe.sampled_pods import (
    INTERVALS,
    Faults,
    Story,
    a_life_that_hangs,
    a_pod_that_hangs,
    sampled,
    simulate,
)

_SECONDS = 1200.0
_PODS = 12
_NO_FAULTS = Faults(knows_process=True)
_SOME = Faults(jitter=2.0, lost=0.1, knows_process=True)


def stored(
    story: Story, interval: float, faults: Faults, chance: Random
) -> StoredContainer:
    """Return what a store has of a simulated container, its last ends too."""
    samples = sampled(story, interval, _SECONDS, faults, chance)
    ends: list[SeenEnd] = []
    for sample in samples.restarts:
        known = [end for end in story.ends if end[0] <= sample.at]
        if known and (not ends or ends[-1].end.at != known[-1][1]):
            _, at, code = known[-1]
            ends.append(SeenEnd(sample.at, LastEnd(at, "Error", code)))
    name = ContainerName("default", story.pod.name, story.pod.uid, "app")
    return StoredContainer(name, ("", ""), samples, LastEnd(), {}, ends)


def journal_of(story: Story, container: StoredContainer) -> list[JournalEntry]:
    """Return what an observation of the samples makes of them."""
    pod = stored_pod([container], story.settings)
    observation = ClusterObservation(datetime.fromtimestamp(0, UTC))
    entries: list[JournalEntry] = []
    for at, item in past_inputs(pod):
        while (due := observation.next_deadline()) is not None and due <= at:
            observation.check(due)
        observation.submit(item, at)
        entries += observation.take_entries()
    return entries


@pytest.mark.parametrize("faults", [_NO_FAULTS, _SOME], ids=["calm", "faults"])
@pytest.mark.parametrize("interval", [5.0, *INTERVALS])
def test_kills_are_between_their_bounds_and_no_end_has_another_cause(
    interval: float, faults: Faults
) -> None:
    chance, told = Random(1), 0
    for _ in range(_PODS):
        story = simulate(chance, _SECONDS, faults, a_pod_that_hangs, a_life_that_hangs)
        container = stored(story, interval, faults, chance)
        kills = sorted(
            at for ticks in story.ticks.values() for at, _, killed in ticks if killed
        )
        last_end = 0.0
        for entry in journal_of(story, container):
            if not isinstance(entry, ContainerEntry):
                continue
            at = entry.at.timestamp()
            if entry.what is LifecycleStep.STOPPING:
                assert entry.not_before is not None
                assert entry.not_after is not None
                begin, end = entry.not_before.timestamp(), entry.not_after.timestamp()
                assert any(begin <= kill <= end for kill in kills), (begin, end, kills)
                told += 1
            elif entry.what is LifecycleStep.EXITED:
                if entry.by in {ExitCause.ITSELF, ExitCause.UNKNOWN}:
                    assert not any(last_end < kill <= at + 1 for kill in kills)
                last_end = at
    assert told or interval > 20
