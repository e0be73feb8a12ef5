"""A real containerd that goes away and comes back while pods run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError, RuntimeUnavailableError
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimeState
from probetui.runtimes.cri.connection import connect
from probetui.runtimes.cri.runtime import CriOptions
from tests.builders import a_pod
from tests.runtimes.bench import POLITE, SLOW, STUBBORN
from tests.runtimes.cri.bench import CriBench
from tests.runtimes.own_containerd import OwnContainerd, own_containerd

__all__ = ["own_containerd"]

pytestmark = [pytest.mark.cri, pytest.mark.slow]


class HostNetworkBench(CriBench):
    """A bench whose pods need no network of their own."""

    async def sandbox(self, pod: Pod, attempt: int = 0) -> str:
        return await super().sandbox(a_pod(name=pod.name, host_network=True), attempt)


@pytest.fixture
async def bench(own_containerd: OwnContainerd) -> AsyncIterator[CriBench]:
    own_containerd.make_network()
    own_containerd.start()
    own_containerd.load_images()
    made = HostNetworkBench(own_containerd.socket)
    yield made
    await made.close()


async def test_pods_outlive_the_daemon_and_are_found_again(
    bench: CriBench, own_containerd: OwnContainerd
) -> None:
    container_id = await bench.run_ready(POLITE)
    before = await bench.runtime.relist()

    own_containerd.stop()

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

    own_containerd.start()

    async def is_back() -> bool:
        with contextlib.suppress(ContainerRuntimeError):
            return await bench.runtime.relist() == before
        return False

    await bench.until(is_back)
    assert (await bench.sh(container_id, "true")).exit_code == 0
    await bench.runtime.stop_container(container_id, 30)
    assert (await bench.ended(container_id)).exit_code == 7


async def test_waiting_calls_fail_when_the_runtime_is_lost(
    bench: CriBench, own_containerd: OwnContainerd
) -> None:
    container_id = await bench.run_ready(STUBBORN)
    waiting = [
        asyncio.ensure_future(coroutine)
        for coroutine in (
            bench.sh(container_id, SLOW, limit=60),
            bench.runtime.stop_container(container_id, 300),
        )
    ]
    await asyncio.wait(waiting, timeout=1)

    own_containerd.stop()

    done, _ = await asyncio.wait(waiting, timeout=10)
    errors = [task.exception() for task in waiting]
    own_containerd.start()
    assert done == set(waiting)
    assert all(
        isinstance(error, ContainerRuntimeError) and error.unreachable
        for error in errors
    )


async def test_a_removed_socket_is_found_missing_and_is_there_after_the_next_start(
    bench: CriBench, own_containerd: OwnContainerd, tmp_path: Path
) -> None:
    container_id = await bench.run_ready(POLITE)

    Path(own_containerd.socket).unlink()  # noqa: ASYNC240  # at once

    assert await bench.state(container_id) is RuntimeState.RUNNING
    url = f"unix://{own_containerd.socket}"
    with pytest.raises(RuntimeUnavailableError, match="no such socket"):
        await connect(SystemClock(), CriOptions(tmp_path), endpoint=url, environ={})

    own_containerd.stop()
    own_containerd.start()

    again = await connect(SystemClock(), CriOptions(tmp_path), endpoint=url, environ={})
    assert again.name == "containerd"
    await again.close()


async def test_a_runtime_without_a_network_reports_it(
    own_containerd: OwnContainerd, tmp_path: Path
) -> None:
    own_containerd.start()

    runtime = await connect(
        SystemClock(),
        CriOptions(tmp_path),
        endpoint=f"unix://{own_containerd.socket}",
        environ={},
    )
    conditions = {one.type: one for one in await runtime.conditions()}
    await runtime.close()

    assert conditions["RuntimeReady"].status
    assert not conditions["NetworkReady"].status
    assert conditions["NetworkReady"].reason == "NetworkPluginNotReady"


async def test_a_containerd_without_its_cri_has_its_own_error(
    own_containerd: OwnContainerd, tmp_path: Path
) -> None:
    own_containerd.switch_off_cri()
    own_containerd.start()

    with pytest.raises(RuntimeUnavailableError, match="has no CRI v1"):
        await connect(
            SystemClock(),
            CriOptions(tmp_path),
            endpoint=f"unix://{own_containerd.socket}",
            environ={},
        )
