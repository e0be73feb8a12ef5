"""The samples of a record of a store's samples, beside those and what really was."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

from probetui.cluster.observe.probe_past import container_past
from probetui.cluster.observe.recorded_samples import RecordedInputs
from probetui.cluster.prometheus.past import past_inputs, stored_pod
from probetui.k8s.probe import ProbeType
from tests.cluster.observe.sampled_pods import INTERVALS, Faults, simulate
from tests.cluster.prometheus.test_past_of_simulations import stored
from tests.sweeps import sampled as some_of

_SECONDS = 1200.0
_SOME = Faults(jitter=2.0, lost=0.1, restarts=True, deletes=True)


@pytest.mark.parametrize("interval", [5.0, *INTERVALS])
@pytest.mark.parametrize("seed", some_of(range(22)))
def test_a_record_has_bounds_that_hold(seed: int, interval: float) -> None:
    chance = Random(seed)
    story = simulate(chance, _SECONDS, _SOME)
    container = stored(story, interval, _SOME, chance)
    inputs = RecordedInputs(0.0)

    for at, item in past_inputs(stored_pod([container], story.settings)):
        inputs.read(item, at)
    read = inputs.containers(datetime.fromtimestamp(_SECONDS, UTC))

    direct = container_past(container.samples, story.settings)
    for each in read:
        past = container_past(each.samples, each.settings, restarts=each.restarts)
        for kind in (ProbeType.LIVENESS, ProbeType.STARTUP):
            if kind not in past.probes or kind not in direct.probes:
                continue
            own = past.probes[kind]
            kills = story.kills(kind, 0.0, _SECONDS)
            assert own.kills.least <= kills
            # What came before the first sample is in neither.
            assert own.kills.most >= min(kills, direct.probes[kind].kills.most)
            assert own.counts.total <= len(story.ticks[kind])
