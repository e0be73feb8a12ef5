"""The contract about volumes, and what only Docker's do, against a real daemon."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError, IncompleteRemovalError
from probetui.k8s.pod import PodSecurityContext, VolumeMount
from probetui.k8s.volume import MEMORY, EmptyDir, Projected, Volume, VolumeFile
from probetui.kubelet.effects import MountVolume, RunPodSandbox, UnmountVolume
from probetui.kubelet.kuberuntime.labels import POD_UID
from probetui.runtimes.docker.mounts import volume_name
from probetui.runtimes.lease_holder import user_and_host
from probetui.runtimes.translation import MADE_BY, OWNER
from tests.builders import START
from tests.runtimes.bench import POLITE
from tests.runtimes.docker.bench import DockerBench, bench
from tests.runtimes.volume_contract import (
    FILES,
    VolumeContract,
    a_pod_with,
    inspect,
    mount,
    run,
)

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


class TestDockerVolumes(VolumeContract):
    """Docker keeps the contract."""


async def test_nothing_is_left_at_the_daemon_of_a_pod_with_volumes(
    bench: DockerBench,
) -> None:
    pod = a_pod_with(
        Volume("data"), Volume("memory", EmptyDir(MEMORY)), Volume("c", Projected())
    )
    await mount(bench, pod, *FILES)
    sandbox_id = await bench.sandbox(pod)
    mounts = [VolumeMount(volume.name, f"/{volume.name}") for volume in pod.volumes]
    app = await run(bench, pod, *mounts, sandbox_id=sandbox_id, script=POLITE)
    used = {
        mount["Name"]
        for holder in (sandbox_id, app)
        for mount in bench.docker(holder).attrs["Mounts"]
        if mount["Type"] == "volume"
    }

    for volume in pod.volumes:
        await bench.runtime.unmount_volume(UnmountVolume(pod.uid, volume.name))
    await bench.runtime.remove_container(app)
    await bench.runtime.remove_pod_sandbox(sandbox_id)

    left = {volume.name for volume in bench.sdk.volumes.list()}
    assert len(used) == 4
    assert used & left == set()
    assert await bench.runtime.list_volumes() == ()


async def test_every_volume_of_a_pod_says_whose_it_is(bench: DockerBench) -> None:
    pod = a_pod_with(Volume("data"), Volume("memory", EmptyDir(MEMORY)))
    await mount(bench, pod)
    sandbox_id = await bench.sandbox(pod)

    names = {it["Name"] for it in bench.docker(sandbox_id).attrs["Mounts"]}
    names |= {volume_name(bench.options.owner, pod.uid, it.name) for it in pod.volumes}

    assert len(names) == 3
    for name in names:
        labels = bench.sdk.volumes.get(name).attrs["Labels"] or {}
        assert labels.get(OWNER) == bench.options.owner
        assert labels.get(MADE_BY) == user_and_host()
        assert labels.get(POD_UID) == pod.uid


async def test_a_volume_in_memory_is_no_larger_than_it_may_be(
    bench: DockerBench,
) -> None:
    size = Decimal(64 * 1024)
    pod = a_pod_with(Volume("data", EmptyDir(MEMORY, size)))
    await mount(bench, pod)

    app = await run(bench, pod, VolumeMount("data", "/data"))

    await inspect(bench, app, "head -c 70000 /dev/zero >/data/x")
    assert await inspect(bench, app, "stat -fc %T /data; stat -c %s /data/x") == (
        "tmpfs\n65536\n"
    )


async def test_files_cannot_be_written_but_empty_volumes_can(
    bench: DockerBench,
) -> None:
    pod = a_pod_with(Volume("files", Projected()), Volume("data"))
    await mount(bench, pod, *FILES)

    app = await run(
        bench,
        pod,
        VolumeMount("files", "/files"),
        VolumeMount("data", "/data"),
        VolumeMount("data", "/frozen", read_only=True),
    )

    seen = await inspect(bench, app, "touch /files/x /data/x /frozen/y")
    assert seen.count("Read-only file system") == 2
    assert await inspect(bench, app, "ls /frozen") == "x\n"


async def test_volumes_belong_to_the_group_that_the_pod_asks_for(
    bench: DockerBench,
) -> None:
    pod = replace(
        a_pod_with(
            Volume("data"), Volume("memory", EmptyDir(MEMORY)), Volume("c", Projected())
        ),
        security_context=PodSecurityContext(fs_group=4711),
    )
    await mount(bench, pod, VolumeFile("key", b"", 0o600))

    mounts = [VolumeMount(volume.name, f"/{volume.name}") for volume in pod.volumes]
    app = await run(bench, pod, *mounts)

    assert await inspect(bench, app, "stat -Lc '%g %a' /data /memory /c /c/key") == (
        "4711 2777\n4711 2777\n4711 2777\n4711 640\n"
    )


async def test_what_the_image_has_at_that_place_is_not_copied(
    bench: DockerBench,
) -> None:
    pod = a_pod_with(Volume("data"))
    await mount(bench, pod)

    app = await run(bench, pod, VolumeMount("data", "/etc"))

    assert "passwd" not in await inspect(bench, app, "ls /etc")


async def test_a_volume_of_somebody_elses_is_left_alone(bench: DockerBench) -> None:
    pod = a_pod_with(Volume("data"))
    name = volume_name(bench.options.owner, pod.uid, "data")
    theirs = bench.sdk.volumes.create(name)

    with pytest.raises(ContainerRuntimeError, match="was not made by probetui of"):
        await mount(bench, pod)
    with pytest.raises(ContainerRuntimeError, match="was not made by probetui of"):
        await bench.runtime.unmount_volume(UnmountVolume(pod.uid, "data"))

    assert bench.sdk.volumes.get(name).attrs["Labels"] is None
    theirs.remove()


async def test_a_volume_that_somebody_elses_container_has_is_named_with_it(
    bench: DockerBench,
) -> None:
    """Otherwise the pod is said to be removed, and the volume stays for ever."""
    pod = a_pod_with(Volume("data"))
    await mount(bench, pod)
    sandbox_id = await bench.runtime.run_pod_sandbox(RunPodSandbox(pod, 0))
    name = volume_name(bench.options.owner, pod.uid, "data")
    theirs = bench.sdk.containers.create(
        "busybox:1.36", ["true"], volumes=[f"{name}:/theirs"]
    )
    try:
        await bench.runtime.remove_pod_sandbox(sandbox_id)

        with pytest.raises(IncompleteRemovalError) as error:
            await bench.runtime.unmount_volume(UnmountVolume(pod.uid, "data"))

        assert theirs.name in str(error.value)
        assert theirs.id[:12] in str(error.value)
        assert [it.name for it in bench.volumes()] == [name], "it can be removed later"
    finally:
        theirs.remove()
    await bench.runtime.unmount_volume(UnmountVolume(pod.uid, "data"))
    assert bench.volumes() == []


async def test_a_volume_that_could_not_be_filled_does_not_count_as_ready(
    bench: DockerBench,
) -> None:
    pod = a_pod_with(Volume("data", Projected()))
    bad = VolumeFile("x" * 300, b"")

    with pytest.raises(ContainerRuntimeError, match="file name too long"):
        await bench.runtime.mount_volume(
            MountVolume(pod, pod.volumes[0], (bad,), START)
        )

    assert bench.volumes() == []


async def test_helper_containers_for_volumes_are_no_part_of_a_pod(
    bench: DockerBench,
) -> None:
    pod = a_pod_with(Volume("data"))
    await mount(bench, pod)
    await run(bench, pod, VolumeMount("data", "/data", sub_path="a"))

    (seen,) = await bench.runtime.relist()

    assert [container.name for container in seen.containers] == ["app"]
    assert len(seen.sandboxes) == 1
