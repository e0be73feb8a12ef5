"""What runtimes must do that can disrupt containers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.effects import Disruption
from probetui.ports import Disruptor, LogSource
from tests.runtimes.bench import COMPLETES, POLITE, UNAWARE, Bench

COUNTS = "while :; do echo on; sleep 0.05; done"
LONG_ENOUGH = timedelta(seconds=0.5)
"""For a script that counts to have printed again, were it not frozen."""


async def disrupt(
    bench: Bench, container_id: ContainerID, disruption: Disruption
) -> None:
    assert isinstance(bench.runtime, Disruptor)
    await bench.runtime.disrupt(container_id, disruption)


async def count(bench: Bench, container_id: ContainerID) -> int:
    """Return how many lines a container has printed."""
    assert isinstance(bench.runtime, LogSource)
    lines = bench.runtime.follow_logs(container_id, tail=10_000, follow=False)
    return len([line async for line in lines])


async def goes_on(bench: Bench, container_id: ContainerID, before: int) -> None:
    """Wait until a container has printed more than so many lines."""

    async def has_printed() -> bool:
        return await count(bench, container_id) > before

    await bench.until(has_printed)


class DisruptionContract:
    """What happens to containers in real life can be done to them on purpose."""

    async def test_what_is_frozen_stands_still_and_goes_on_later(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run(COUNTS)
        await goes_on(bench, container_id, 0)

        await disrupt(bench, container_id, Disruption.FREEZE)
        await bench.wait(LONG_ENOUGH)
        frozen_at = await count(bench, container_id)
        await bench.wait(LONG_ENOUGH)
        later = await count(bench, container_id)
        state = await bench.state(container_id)
        await disrupt(bench, container_id, Disruption.UNFREEZE)

        assert later == frozen_at
        assert state is RuntimeState.RUNNING
        await goes_on(bench, container_id, later)

    async def test_to_freeze_and_unfreeze_twice_is_no_error(self, bench: Bench) -> None:
        container_id = await bench.run(COUNTS)

        for disruption in (Disruption.FREEZE, Disruption.UNFREEZE):
            await disrupt(bench, container_id, disruption)
            await disrupt(bench, container_id, disruption)

        await goes_on(bench, container_id, 0)

    async def test_a_frozen_container_can_be_stopped(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)
        await disrupt(bench, container_id, Disruption.FREEZE)

        await bench.runtime.stop_container(container_id, 1)

        assert await bench.state(container_id) is RuntimeState.EXITED

    async def test_a_main_process_can_be_asked_to_end(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)

        await disrupt(bench, container_id, Disruption.STOP)

        assert (await bench.ended(container_id)).exit_code == 7

    async def test_one_that_does_not_handle_it_goes_on(self, bench: Bench) -> None:
        container_id = await bench.run_ready(UNAWARE)

        await disrupt(bench, container_id, Disruption.STOP)
        await bench.wait(LONG_ENOUGH)

        assert await bench.state(container_id) is RuntimeState.RUNNING

    async def test_a_main_process_can_be_killed(self, bench: Bench) -> None:
        container_id = await bench.run_ready(UNAWARE)

        await disrupt(bench, container_id, Disruption.KILL)

        assert (await bench.ended(container_id)).exit_code == 137

    async def test_what_does_not_run_cannot_be_disrupted(self, bench: Bench) -> None:
        container_id = await bench.run(COMPLETES)
        await bench.ended(container_id)

        with pytest.raises(ContainerRuntimeError):
            await disrupt(bench, container_id, Disruption.FREEZE)
