"""A daemon that goes away and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import RuntimeState
from tests.builders import a_pod
from tests.runtimes.bench import POLITE, SLOW
from tests.runtimes.docker.bench import DockerBench
from tests.runtimes.own_daemon import OwnDaemon, own_daemon

__all__ = ["own_daemon"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture
async def bench(own_daemon: OwnDaemon) -> AsyncIterator[DockerBench]:
    made = DockerBench(own_daemon.url)
    yield made
    await made.runtime.close()
    made.sdk.close()


async def test_all_calls_fail_during_an_outage_and_work_again_afterwards(
    bench: DockerBench, own_daemon: OwnDaemon
) -> None:
    container_id = await bench.run_ready(POLITE)
    await bench.runtime.relist()

    own_daemon.stop()

    for call in (
        bench.runtime.relist(),
        bench.runtime.version(),
        bench.sh(container_id, "true"),
        bench.runtime.stop_container(container_id, 1),
        bench.sandbox(a_pod(name="next")),
    ):
        with pytest.raises(ContainerRuntimeError) as caught:
            await call
        assert caught.value.unreachable, call

    own_daemon.start()

    status = await bench.status(container_id)
    assert status is not None
    assert status.state is RuntimeState.RUNNING
    await bench.sandbox(a_pod(name="next"))
    assert len(await bench.runtime.relist()) == 2


async def test_waiting_calls_fail_when_the_runtime_is_lost(
    bench: DockerBench, own_daemon: OwnDaemon
) -> None:
    container_id = await bench.run_ready(POLITE)

    async def watch() -> None:
        async for _ in bench.runtime.watch():
            pass

    waiting = [
        asyncio.ensure_future(coroutine)
        for coroutine in (
            watch(),
            bench.sh(container_id, SLOW, limit=60),
            bench.runtime.stop_container(await bench.run(SLOW), 300),
        )
    ]
    await asyncio.wait(waiting, timeout=1)

    own_daemon.stop()

    done, _ = await asyncio.wait(waiting, timeout=10)
    assert done == set(waiting)
    errors = [task.exception() for task in waiting]
    assert all(
        isinstance(error, ContainerRuntimeError) and error.unreachable
        for error in errors
    )
