"""Containers on a CRI runtime that somebody else made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.ports import ExecResult, UnmanagedContainer
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, CriVersion
from probetui.runtimes.cri.unmanaged import UnmanagedCriContainers, unmanaged_container
from probetui.runtimes.translation import EPOCH
from tests.runtimes.cri.server import IMAGE, CriServer

KUBELETS = {
    "io.kubernetes.pod.name": "web",
    "io.kubernetes.pod.namespace": "shop",
    "io.kubernetes.pod.uid": "u",
    "io.kubernetes.container.name": "app",
}
GONE = ContainerID("fake://" + "0" * 64)


@pytest.fixture
async def unmanaged(
    server: CriServer, tmp_path: Path
) -> AsyncIterator[UnmanagedCriContainers]:
    runtime = CriRuntime(
        CriClient(server.socket),
        CriVersion("fake", "0"),
        SystemClock(),
        CriOptions(tmp_path, owner="me"),
    )
    yield runtime.unmanaged()
    await runtime.close()


def id_of(cri_id: str) -> ContainerID:
    return ContainerID(f"fake://{cri_id}")


async def test_all_are_listed_with_what_they_can_be_found_by(
    server: CriServer, unmanaged: UnmanagedCriContainers
) -> None:
    kubelets = server.add_container(KUBELETS)
    other = server.add_container({}, state=cri.CONTAINER_EXITED)

    found = await unmanaged.list()

    at = EPOCH + timedelta(seconds=1)
    assert found == (
        UnmanagedContainer(
            id_of(kubelets),
            ("shop/web/app", "web/app", "app"),
            is_running=True,
            labels=KUBELETS,
            image=IMAGE,
            created_at=at,
            revision="CONTAINER_RUNNING",
        ),
        UnmanagedContainer(
            id_of(other),
            ("app",),
            is_running=False,
            image=IMAGE,
            created_at=at,
            revision="CONTAINER_EXITED",
        ),
    )


@pytest.mark.parametrize(
    ("spec", "annotations", "image"),
    [
        pytest.param(cri.ImageSpec(image="a:1"), {}, "a:1", id="name"),
        pytest.param(cri.ImageSpec(image="sha256:1c"), {}, "", id="ID"),
        pytest.param(
            cri.ImageSpec(image="sha256:1c", user_specified_image="a:1"),
            {},
            "a:1",
            id="ID, and the name of the manifest",
        ),
        pytest.param(
            cri.ImageSpec(image="sha256:1c"), {"dev.probetui.image": "a:1"}, "a:1",
            id="made by probetui",
        ),
    ],
)  # fmt: skip
def test_the_image_is_the_requested_one(
    spec: cri.ImageSpec, annotations: dict[str, str], image: str
) -> None:
    found = cri.Container(id="c", image=spec, annotations=annotations)

    assert unmanaged_container(found, "fake").image == image


async def test_a_container_is_inspected_without_a_manifest(
    server: CriServer, unmanaged: UnmanagedCriContainers
) -> None:
    app = server.add_container(KUBELETS)
    server.containers[app][1].annotations["io.kubernetes.container.hash"] = "ff"

    await unmanaged.list()
    found = await unmanaged.inspect(id_of(app))

    assert found is not None
    assert found.ip == "10.0.0.2"
    assert found.status.state is RuntimeState.RUNNING
    assert (found.status.name, found.status.hash) == ("", 0)


async def test_an_end_is_another_revision(
    server: CriServer, unmanaged: UnmanagedCriContainers
) -> None:
    app = server.add_container(KUBELETS)
    (before,), (again,) = await unmanaged.list(), await unmanaged.list()

    server.end_container(app, exit_code=3)
    (after,) = await unmanaged.list()
    found = await unmanaged.inspect(id_of(app))

    assert before.revision == again.revision != after.revision
    assert found is not None
    assert (found.status.state, found.status.exit_code) == (RuntimeState.EXITED, 3)


async def test_in_the_network_of_the_machine_ports_are_on_this_machine(
    server: CriServer, unmanaged: UnmanagedCriContainers
) -> None:
    app = server.add_container(KUBELETS)
    sandbox = server.sandboxes[server.containers[app][0]]
    sandbox.linux.namespaces.options.network = cri.NODE

    await unmanaged.list()
    found = await unmanaged.inspect(id_of(app))

    assert found is not None
    assert found.ip == "127.0.0.1"
    assert unmanaged.dial_address(found.ip, 80) == ("127.0.0.1", 80)


async def test_without_its_sandbox_one_has_no_address(
    server: CriServer, unmanaged: UnmanagedCriContainers
) -> None:
    app = server.add_container(KUBELETS)
    server.sandboxes.clear()

    await unmanaged.list()
    found = await unmanaged.inspect(id_of(app))

    assert found is not None
    assert found.ip == ""


async def test_one_that_is_gone_is_gone(unmanaged: UnmanagedCriContainers) -> None:
    assert await unmanaged.inspect(GONE) is None
    await unmanaged.stop(GONE, 1)


async def test_commands_run_in_them(
    server: CriServer, unmanaged: UnmanagedCriContainers
) -> None:
    app = server.add_container(KUBELETS)

    result = await unmanaged.exec_sync(id_of(app), ("true",), 1)

    assert result == ExecResult(0, b"out", b"err")


async def test_a_stop_with_permission_is_final(
    server: CriServer, unmanaged: UnmanagedCriContainers
) -> None:
    app = server.add_container(KUBELETS)

    await unmanaged.stop(id_of(app), 30)

    assert server.containers[app][1].state == cri.CONTAINER_EXITED
    assert not unmanaged.can_start
    with pytest.raises(ContainerRuntimeError, match="cannot start"):
        await unmanaged.start(id_of(app))


async def test_every_event_is_reported(
    server: CriServer, unmanaged: UnmanagedCriContainers
) -> None:
    server.happened.put_nowait(cri.ContainerEventResponse(container_id="c"))

    async with asyncio.timeout(20):
        await anext(unmanaged.watch())

    assert server.happened.empty()
