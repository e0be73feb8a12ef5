"""Unmanaged containers and volumes on Docker that look like managed ones."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID
from probetui.k8s.volume import Volume
from probetui.kubelet.effects import CreateContainer, MountVolume, UnmountVolume
from probetui.runtimes.docker.helper_containers import HELPER
from probetui.runtimes.docker.mounts import VOLUME, volume_name
from probetui.runtimes.docker.port_publishing import DockerDaemon
from probetui.runtimes.docker.runtime import DockerRuntime
from probetui.runtimes.docker.translate import to_container_id, to_docker_id
from probetui.runtimes.translation import OWNER
from tests.builders import START, a_pod
from tests.runtimes.bench import POLITE
from tests.runtimes.docker.bench import CountingApi, DockerBench, bench

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture
def image_of_ours() -> str:
    """Return the name of an image for a bench to commit."""
    return f"probetui-test-copy:{uuid.uuid4().hex}"


@pytest.fixture
async def other_home(bench: DockerBench) -> DockerRuntime:
    """Return a runtime on the same engine with another state folder."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    api = CountingApi(bench.url)
    daemon = DockerDaemon.of(bench.url, api.info(), api.version())
    return DockerRuntime(
        api, daemon, SystemClock(), replace(bench.options, folder=folder)
    )


def notes_of(bench: DockerBench) -> list[str]:
    return [path.name for path in (bench.folder / "volumes").iterdir()]


async def start(bench: DockerBench, pod: Pod, sandbox_id: str) -> ContainerID:
    """Start a container in a pod's sandbox."""
    app = bench.container(POLITE)
    made = await bench.runtime.create_container(
        CreateContainer(pod, app, sandbox_id, 0, "")
    )
    await bench.runtime.start_container(made)
    return made


def run_copy(bench: DockerBench, container_id: str, image: str, **fields: Any) -> Any:
    """Commit a container and run the image without probetui."""
    bench.commit(container_id, image)
    bench.image, usual = image, bench.image
    try:
        return bench.run_unmanaged(**fields)
    finally:
        bench.image = usual


async def test_a_container_of_a_committed_image_is_not_ours(
    bench: DockerBench, image_of_ours: str
) -> None:
    pod = a_pod(uid=bench.options.owner)
    sandbox_id = await bench.sandbox(pod)
    ours = await start(bench, pod, sandbox_id)
    copy = run_copy(bench, ours, image_of_ours)
    assert copy.labels[OWNER] == bench.options.owner, "the labels are inherited"

    (listed,) = await bench.runtime.relist()
    unowned = await bench.runtime.unowned_pods()
    for act in (bench.runtime.remove_container, refuse_stop(bench)):
        with pytest.raises(ContainerRuntimeError, match="left alone"):
            await act(to_container_id(copy.id))
    await bench.runtime.stop_pod_sandbox(sandbox_id)
    await bench.runtime.remove_pod_sandbox(sandbox_id)

    assert [container.container_id for container in listed.containers] == [ours]
    assert unowned == ()
    assert await bench.unmanaged_is_running()
    assert await bench.runtime.relist() == ()


def refuse_stop(bench: DockerBench) -> Any:
    async def stop(container_id: Any) -> None:
        await bench.runtime.stop_container(container_id, 0)

    return stop


async def test_a_copy_of_a_sandbox_is_not_ours(
    bench: DockerBench, image_of_ours: str
) -> None:
    sandbox_id = await bench.sandbox(a_pod(uid=bench.options.owner))
    copy = run_copy(bench, sandbox_id, image_of_ours, entrypoint="")

    with pytest.raises(ContainerRuntimeError, match="left alone"):
        await bench.runtime.remove_pod_sandbox(copy.id)

    assert len((await bench.pod()).sandboxes) == 1
    assert await bench.unmanaged_is_running()


async def test_a_copy_with_our_name_is_not_ours(
    bench: DockerBench, image_of_ours: str
) -> None:
    """This needs intent: our container was removed, and a copy got its name."""
    pod = a_pod(uid=bench.options.owner)
    sandbox_id = await bench.sandbox(pod)
    ours = await start(bench, pod, sandbox_id)
    name = bench.docker(ours).name
    bench.commit(ours, image_of_ours)
    bench.docker(ours).remove(force=True, v=True)
    bench.image = image_of_ours
    copy = bench.run_unmanaged(name=name)
    bench.image = "busybox:1.36"

    with pytest.raises(ContainerRuntimeError, match="left alone"):
        await bench.runtime.remove_container(to_container_id(copy.id))

    assert (await bench.pod()).containers == ()
    assert await bench.runtime.unowned_pods() == ()
    assert await bench.unmanaged_is_running()


async def test_another_users_pod_is_reported_and_taken_over_only_on_request(
    bench: DockerBench, other_home: DockerRuntime
) -> None:
    pod = a_pod(uid=bench.options.owner)
    sandbox_id = await bench.sandbox(pod)
    theirs = await start(bench, pod, sandbox_id)
    await bench.runtime.mount_volume(MountVolume(pod, Volume("data"), (), START))

    seen = await other_home.relist()
    (found,) = await other_home.unowned_pods()
    with pytest.raises(ContainerRuntimeError, match="left alone"):
        await other_home.remove_container(theirs)
    assert seen == ()
    assert found.status.pod_uid == pod.uid
    assert "@" in found.made_by

    await other_home.take_over(found)
    await other_home.remove_pod_sandbox(sandbox_id)
    await other_home.unmount_volume(UnmountVolume(pod.uid, "data"))

    assert await bench.runtime.relist() == ()
    assert bench.volumes() == []
    await other_home.close()


async def test_another_users_volume_is_neither_used_nor_removed(
    bench: DockerBench, other_home: DockerRuntime
) -> None:
    """Two users run one manifest: uid and name of the volume are the same."""
    pod = a_pod(uid=bench.options.owner)
    operation = MountVolume(pod, Volume("data"), (), START)
    await bench.runtime.mount_volume(operation)

    with pytest.raises(ContainerRuntimeError, match="was not made by probetui of"):
        await other_home.mount_volume(operation)
    with pytest.raises(ContainerRuntimeError, match="was not made by probetui of"):
        await other_home.unmount_volume(UnmountVolume(pod.uid, "data"))

    name = volume_name(bench.options.owner, pod.uid, "data")
    assert [volume.name for volume in bench.volumes()] == [name]
    assert await other_home.list_volumes() == ()
    await other_home.close()


async def test_a_copy_of_a_helper_is_not_removed(bench: DockerBench) -> None:
    """Helpers have their own label, and are removed before their volume."""
    pod = a_pod(uid=bench.options.owner)
    await bench.runtime.mount_volume(MountVolume(pod, Volume("data"), (), START))
    labels = {
        HELPER: bench.options.owner,
        VOLUME: "data",
        "io.kubernetes.pod.uid": pod.uid,
    }
    bench.run_unmanaged(labels=labels)

    await bench.runtime.unmount_volume(UnmountVolume(pod.uid, "data"))

    assert bench.volumes() == []
    assert await bench.unmanaged_is_running()


async def test_a_container_created_before_a_kill_is_ours_on_the_next_start(
    bench: DockerBench,
) -> None:
    """SIGKILL between the daemon's response and the note: the intent is noted."""
    sandbox_id = await bench.sandbox(a_pod(uid=bench.options.owner))
    nonce = bench.docker(sandbox_id).labels["dev.probetui.nonce"]
    notes = bench.folder / "containers"
    (notes / f"{to_docker_id(sandbox_id)}.json").rename(notes / f"{nonce}.intent")

    next_start = bench.another()
    (found,) = await next_start.relist()

    assert [sandbox.sandbox_id for sandbox in found.sandboxes] == [sandbox_id]
    assert [path.name for path in notes.iterdir()] == [f"{sandbox_id}.json"]
    await next_start.close()


async def test_a_container_and_a_volume_without_a_nonce_are_nobodys(
    bench: DockerBench,
) -> None:
    """Whatever their names and labels are: each probetui gives a nonce."""
    uid, owner = bench.options.owner, bench.options.owner
    pod = {
        OWNER: owner,
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": uid,
    }
    sandbox = {"dev.probetui.attempt": "0", "io.kubernetes.docker.type": "podsandbox"}
    name = f"k8s_POD_web_default_{uid}_0"
    bench.run_unmanaged(name=name, labels={**pod, **sandbox})
    volume = volume_name(owner, uid, "data")
    bench.sdk.volumes.create(volume, labels={**pod, VOLUME: "data"})

    assert await bench.runtime.unowned_pods() == ()
    assert await bench.runtime.relist() == ()
    assert await bench.runtime.list_volumes() == ()
    assert await bench.unmanaged_is_running()
    with pytest.raises(ContainerRuntimeError, match="was not made by probetui of"):
        await bench.runtime.unmount_volume(UnmountVolume(uid, "data"))
    assert [found.name for found in bench.volumes()] == [volume]


async def test_a_copy_of_a_volume_with_its_labels_is_not_removed(
    bench: DockerBench,
) -> None:
    """Tools that copy volumes copy labels: both name and nonce have to match."""
    pod = a_pod(uid=bench.options.owner)
    await bench.runtime.mount_volume(MountVolume(pod, Volume("data"), (), START))
    (ours,) = bench.volumes()
    copy = volume_name(bench.options.owner, "another", "data")
    bench.sdk.volumes.create(copy, labels=ours.attrs["Labels"])

    with pytest.raises(ContainerRuntimeError, match="was not made by probetui of"):
        await bench.runtime.unmount_volume(UnmountVolume("another", "data"))
    await bench.runtime.unmount_volume(UnmountVolume(pod.uid, "data"))

    assert [volume.name for volume in bench.volumes()] == [copy]
