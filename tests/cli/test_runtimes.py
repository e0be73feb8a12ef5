"""Operations on the pods of a runtime, without an engine."""

from __future__ import annotations

import asyncio

import pytest

from probetui.cli.runtimes import OwnPodsRuntime, all_pods, remove_pods
from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import (
    CreateContainer,
    MountVolume,
    RunPodSandbox,
    UnmountVolume,
)
from probetui.ports import PodVolumes
from tests.builders import a_pod
from tests.fakes import FakeClock, FakeEngine, FakeRuntime

WEB, DB = a_pod(name="web"), a_pod(name="db")


@pytest.fixture
async def runtime() -> FakeRuntime:
    """Return a runtime on which two pods run."""
    runtime = FakeRuntime(FakeEngine(FakeClock()))
    for pod in (WEB, DB):
        await start(runtime, pod)
    return runtime


async def start(runtime: FakeRuntime, pod: Pod) -> ContainerID:
    sandbox = await runtime.run_pod_sandbox(RunPodSandbox(pod, 0))
    container = await runtime.create_container(
        CreateContainer(pod, pod.containers[0], sandbox, 0, "")
    )
    await runtime.start_container(container)
    return container


async def test_a_session_lists_its_own_pods_only(
    runtime: FakeRuntime,
) -> None:
    mine = OwnPodsRuntime(runtime)
    mine.add_pods([WEB])

    assert [status.pod_uid for status in await mine.relist()] == [WEB.uid]
    assert len(await runtime.relist()) == 2
    assert await mine.version() == await runtime.version()


async def test_pods_are_removed_with_their_containers(runtime: FakeRuntime) -> None:
    web = [status for status in await runtime.relist() if status.pod_uid == WEB.uid]

    await remove_pods(runtime, web, grace_period_seconds=0)

    assert [status.pod_uid for status in await runtime.relist()] == [DB.uid]


async def test_a_failed_removal_is_reported_and_the_others_continue(
    runtime: FakeRuntime,
) -> None:
    class Refusing(FakeRuntime):
        async def remove_container(self, container_id: ContainerID) -> None:
            if container_id == refused:
                raise ContainerRuntimeError("no")
            await super().remove_container(container_id)

    found = await runtime.relist()
    refused = found[0].containers[0].container_id
    refusing = Refusing(runtime.engine)

    with pytest.raises(ContainerRuntimeError, match="no"):
        await asyncio.wait_for(remove_pods(refusing, found, 0), timeout=5)

    left = await runtime.relist()
    assert [status.pod_uid for status in left] == [found[0].pod_uid]


class WithVolumes(FakeRuntime):
    """A runtime that also has volumes: their names by pod."""

    def __init__(self, engine: FakeEngine, **volumes: set[str]) -> None:
        super().__init__(engine)
        self.volumes = volumes

    async def mount_volume(self, operation: MountVolume) -> None:
        self.volumes.setdefault(operation.pod.name, set()).add(operation.volume.name)

    async def unmount_volume(self, operation: UnmountVolume) -> None:
        self.volumes[operation.pod_uid.removeprefix("uid-of-")].discard(
            operation.volume_name
        )

    async def list_volumes(self) -> tuple[PodVolumes, ...]:
        return tuple(
            PodVolumes(f"uid-of-{pod}", pod, "default", tuple(names))
            for pod, names in self.volumes.items()
            if names
        )


async def test_a_pod_with_only_volumes_left_is_listed(
    runtime: FakeRuntime,
) -> None:
    having = WithVolumes(runtime.engine, web={"data"}, gone={"data"})

    found = await all_pods(having)

    assert {status.name: len(status.containers) for status in found} == {
        "web": 1,
        "db": 1,
        "gone": 0,
    }


async def test_a_runtime_without_volumes_lists_no_such_pods(
    runtime: FakeRuntime,
) -> None:
    assert await all_pods(runtime) == await runtime.relist()


async def test_pods_are_removed_with_their_volumes(runtime: FakeRuntime) -> None:
    having = WithVolumes(runtime.engine, web={"a", "b"}, db={"a"}, gone={"a"})
    found = [pod for pod in await all_pods(having) if pod.name != "db"]

    await remove_pods(having, found, grace_period_seconds=0)

    assert having.volumes == {"web": set(), "db": {"a"}, "gone": set()}
