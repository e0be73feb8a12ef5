"""The contract of volumes.

`bench.root` is what stands before the paths of mounts where there is no file system of
the container's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod, VolumeMount
from probetui.k8s.runtime import ContainerID
from probetui.k8s.volume import (
    MEMORY,
    EmptyDir,
    HostPath,
    OtherVolume,
    Projected,
    Volume,
    VolumeFile,
    VolumeSource,
)
from probetui.kubelet.effects import CreateContainer, MountVolume, UnmountVolume
from probetui.ports import PodVolumes
from tests.builders import START, a_container, a_pod
from tests.runtimes.bench import POLITE, SLOW, Bench

FILES = (VolumeFile("a.txt", b"one\n"), VolumeFile("deep/b", b"\0\xff", 0o600))


def a_pod_with(*volumes: Volume, name: str = "web") -> Pod:
    """Return a pod with volumes, all of which its container mounts."""
    mounts = tuple(VolumeMount(volume.name, f"/{volume.name}") for volume in volumes)
    return a_pod(a_container(volume_mounts=mounts), name=name, volumes=volumes)


async def mount(bench: Bench, pod: Pod, *files: VolumeFile) -> None:
    """Mount all volumes of a pod, each with these files."""
    for volume in pod.volumes:
        operation = MountVolume(pod, volume, files, START)
        await bench.runtime.mount_volume(operation)


async def run(
    bench: Bench,
    pod: Pod,
    *mounts: VolumeMount,
    sandbox_id: str = "",
    script: str = SLOW,
    name: str = "app",
    attempt: int = 0,
    **fields: Any,
) -> ContainerID:
    """Run a script in a pod with some mounts."""
    container = bench.container(script, name, volume_mounts=mounts, **fields)
    pod = replace(pod, containers=(container,))
    operation = CreateContainer(
        pod,
        container,
        sandbox_id or await bench.sandbox(pod),
        attempt,
        await bench.runtime.image_status(bench.image) or "",
    )
    container_id = await bench.runtime.create_container(operation)
    await bench.runtime.start_container(container_id)
    return container_id


async def inspect(bench: Bench, container_id: ContainerID, script: str) -> str:
    """Return the output of a script in a container; `ROOT` is the prefix of paths."""
    found = await bench.sh(container_id, f"ROOT={bench.root}; {script}")
    return (found.stdout + found.stderr).decode(errors="replace")


class VolumeContract:
    """Volumes from their beginning to their end."""

    @pytest.mark.parametrize(
        "source",
        [
            pytest.param(EmptyDir(), id="on disk"),
            pytest.param(EmptyDir(MEMORY), id="in memory"),
            pytest.param(OtherVolume("nfs"), id="of another kind"),
        ],
    )
    async def test_containers_of_a_pod_share_an_empty_volume(
        self, bench: Bench, source: VolumeSource
    ) -> None:
        pod = a_pod_with(Volume("data", source))
        await mount(bench, pod)
        sandbox_id = await bench.sandbox(pod)
        one = await run(bench, pod, VolumeMount("data", "/a"), sandbox_id=sandbox_id)
        other = await run(
            bench,
            pod,
            VolumeMount("data", "/b/c"),
            sandbox_id=sandbox_id,
            name="other",
        )

        before = await inspect(bench, other, "ls $ROOT/b/c")
        await inspect(bench, one, "echo hello > $ROOT/a/file")
        after = await inspect(bench, other, "cat $ROOT/b/c/file; stat -Lc %a $ROOT/b/c")

        assert before == ""
        assert after == "hello\n777\n"

    async def test_a_volume_outlives_the_containers_that_use_it(
        self, bench: Bench
    ) -> None:
        pod = a_pod_with(Volume("data"))
        await mount(bench, pod)
        data = VolumeMount("data", "/data")
        sandbox_id = await bench.sandbox(pod)
        first = await run(bench, pod, data, sandbox_id=sandbox_id)
        await inspect(bench, first, "echo 1 > $ROOT/data/file")
        await bench.runtime.remove_container(first)

        second = await run(bench, pod, data, sandbox_id=sandbox_id, attempt=1)

        assert await inspect(bench, second, "cat $ROOT/data/file") == "1\n"

    async def test_mounting_again_keeps_what_is_in_a_volume(self, bench: Bench) -> None:
        pod = a_pod_with(Volume("data"))
        await mount(bench, pod)
        app = await run(bench, pod, VolumeMount("data", "/data"))
        await inspect(bench, app, "echo 1 > $ROOT/data/file; chmod 700 $ROOT/data/.")

        await mount(bench, pod)

        assert (
            await inspect(bench, app, "cat $ROOT/data/file; stat -Lc %a $ROOT/data")
            == "1\n700\n"
        )

    async def test_two_pods_have_two_volumes_of_one_name(self, bench: Bench) -> None:
        one = a_pod_with(Volume("data"), name="one")
        other = a_pod_with(Volume("data"), name="other")
        await mount(bench, one)
        await mount(bench, other)
        data = VolumeMount("data", "/data")
        in_one = await run(bench, one, data)
        in_other = await run(bench, other, data)

        await inspect(bench, in_one, "echo 1 > $ROOT/data/file")

        assert await inspect(bench, in_other, "ls $ROOT/data") == ""

    async def test_files_have_their_content_and_their_modes(self, bench: Bench) -> None:
        pod = a_pod_with(Volume("config", Projected()))

        await mount(bench, pod, *FILES)

        app = await run(bench, pod, VolumeMount("config", "/config"))
        assert await inspect(bench, app, "cat $ROOT/config/a.txt") == "one\n"
        assert (
            await inspect(bench, app, "od -An -tx1 $ROOT/config/deep/b") == " 00 ff\n"
        )
        assert (
            await inspect(bench, app, "cd $ROOT/config; stat -Lc %a a.txt deep/b")
            == "644\n600\n"
        )

    async def test_changed_files_are_visible_in_running_containers(
        self, bench: Bench
    ) -> None:
        pod = a_pod_with(Volume("config", Projected()))
        await mount(bench, pod, *FILES)
        app = await run(bench, pod, VolumeMount("config", "/config"))

        await mount(bench, pod, VolumeFile("a.txt", b"two\n"), VolumeFile("c", b"3\n"))

        output = await inspect(
            bench, app, "cd $ROOT/config; cat a.txt c; test -e deep/b"
        )
        assert output == "two\n3\n"
        is_removed = await bench.sh(app, f"test -e {bench.root}/config/deep/b")
        assert is_removed.exit_code == 1

    async def test_all_files_of_a_volume_can_be_removed(self, bench: Bench) -> None:
        pod = a_pod_with(Volume("config", Projected()))

        await mount(bench, pod)

        app = await run(bench, pod, VolumeMount("config", "/config"))
        assert await inspect(bench, app, "ls $ROOT/config") == ""

    async def test_a_sub_path_of_a_volume_is_created_and_mounted(
        self, bench: Bench
    ) -> None:
        pod = a_pod_with(Volume("data"))
        await mount(bench, pod)

        app = await run(
            bench,
            pod,
            VolumeMount("data", "/part", sub_path="a/b"),
            VolumeMount("data", "/whole"),
        )

        await inspect(bench, app, "echo 1 > $ROOT/part/file")
        assert (
            await inspect(
                bench, app, "cat $ROOT/whole/a/b/file; stat -Lc %a $ROOT/part"
            )
            == "1\n777\n"
        )

    async def test_a_file_of_a_volume_can_be_mounted(self, bench: Bench) -> None:
        pod = a_pod_with(Volume("config", Projected()))
        await mount(bench, pod, *FILES)

        app = await run(
            bench, pod, VolumeMount("config", "/etc/a.conf", sub_path="a.txt")
        )

        assert await inspect(bench, app, "cat $ROOT/etc/a.conf") == "one\n"

    async def test_an_existing_host_path_is_not_replaced_for_a_sub_path(
        self, bench: Bench
    ) -> None:
        pod = a_pod_with(Volume("data"))
        await mount(bench, pod)
        sandbox_id = await bench.sandbox(pod)
        whole = VolumeMount("data", "/data")
        first = await run(bench, pod, whole, sandbox_id=sandbox_id)
        await inspect(bench, first, "cd $ROOT/data; mkdir -m 750 a; echo 1 > a/file")
        part = VolumeMount("data", "/part", sub_path="a/file")

        second = await run(bench, pod, whole, part, sandbox_id=sandbox_id, attempt=1)

        assert (
            await inspect(bench, second, "cat $ROOT/part; stat -Lc %a $ROOT/data/a")
            == "1\n750\n"
        )

    async def test_a_path_of_the_host_is_mounted_and_stays(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("mine\n")
        pod = a_pod_with(Volume("host", HostPath(str(tmp_path), "Directory")))
        await mount(bench, pod)
        app = await run(
            bench,
            pod,
            VolumeMount("host", "/host"),
            VolumeMount("host", "/one", sub_path="file"),
        )

        output = await inspect(bench, app, "cat $ROOT/host/file $ROOT/one")
        await bench.runtime.remove_container(app)
        await bench.runtime.unmount_volume(UnmountVolume(pod.uid, "host"))

        assert output == "mine\nmine\n"
        assert (tmp_path / "file").read_text() == "mine\n"

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            pytest.param("Directory", "a directory", id="folder"),
            pytest.param("DirectoryOrCreate", "a directory", id="folder to make"),
            pytest.param("Socket", "a socket file", id="socket"),
            pytest.param("CharDevice", "a character device", id="character device"),
            pytest.param("BlockDevice", "a block device", id="block device"),
        ],
    )
    async def test_a_path_of_another_type_is_refused(
        self, bench: Bench, tmp_path: Path, kind: str, words: str
    ) -> None:
        file = tmp_path / "file"
        file.touch()
        pod = a_pod_with(Volume("host", HostPath(str(file), kind)))

        with pytest.raises(ContainerRuntimeError) as refused:
            await mount(bench, pod)

        message = f"hostPath type check failed: {file} is not {words}"
        assert str(refused.value) == message

    @pytest.mark.parametrize(
        ("kind", "path"),
        [
            pytest.param("", "no/such/path", id="any"),
            pytest.param("File", "file", id="file"),
            pytest.param("FileOrCreate", "file", id="file that is there"),
            pytest.param("CharDevice", "/dev/null", id="device"),
        ],
    )
    async def test_a_path_of_its_type_will_do(
        self, bench: Bench, tmp_path: Path, kind: str, path: str
    ) -> None:
        (tmp_path / "file").write_text("kept")
        pod = a_pod_with(Volume("host", HostPath(str(tmp_path / path), kind)))

        await mount(bench, pod)

        assert (tmp_path / "file").read_text() == "kept"

    async def test_a_missing_host_path_is_created_if_its_type_allows(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        pod = a_pod_with(
            Volume("folder", HostPath(str(tmp_path / "a/b"), "DirectoryOrCreate")),
            Volume("file", HostPath(str(tmp_path / "c"), "FileOrCreate")),
        )

        await mount(bench, pod)

        assert (tmp_path / "a/b").is_dir()
        assert (tmp_path / "c").read_bytes() == b""

    async def test_a_path_that_does_not_exist_is_none_of_its_type(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        path = tmp_path / "none"
        pod = a_pod_with(Volume("host", HostPath(str(path), "File")))

        with pytest.raises(ContainerRuntimeError) as refused:
            await mount(bench, pod)

        assert str(refused.value) == (
            f"hostPath type check failed: {path} is not a file"
        )

    async def test_an_unmounted_volume_is_removed_with_its_files(
        self, bench: Bench
    ) -> None:
        pod = a_pod_with(Volume("data"), Volume("config", Projected()))
        await mount(bench, pod, *FILES)
        sandbox_id = await bench.sandbox(pod)
        app = await run(
            bench,
            pod,
            VolumeMount("data", "/data"),
            VolumeMount("config", "/config"),
            sandbox_id=sandbox_id,
            script=POLITE,
        )
        await inspect(bench, app, "mkdir $ROOT/data/a; chmod 0 $ROOT/data/a")
        await bench.runtime.stop_container(app, 2)

        for name in ("data", "config"):
            await bench.runtime.unmount_volume(UnmountVolume(pod.uid, name))
        await bench.runtime.remove_pod_sandbox(sandbox_id)

        assert await bench.runtime.list_volumes() == ()

    async def test_what_is_not_there_may_be_unmounted(self, bench: Bench) -> None:
        await bench.runtime.unmount_volume(UnmountVolume("uid", "data"))

        assert await bench.runtime.list_volumes() == ()

    async def test_volumes_are_listed_by_pod(self, bench: Bench) -> None:
        await mount(bench, a_pod_with(Volume("b"), Volume("a"), name="one"))
        await mount(bench, a_pod_with(Volume("c", EmptyDir(MEMORY)), name="two"))

        found = await bench.runtime.list_volumes()

        assert sorted(found, key=lambda file: file.name) == [
            PodVolumes("uid-of-one", "one", "default", ("a", "b")),
            PodVolumes("uid-of-two", "two", "default", ("c",)),
        ]

    async def test_another_probetui_finds_and_removes_what_was_left(
        self, bench: Bench
    ) -> None:
        pod = a_pod_with(Volume("data"), Volume("memory", EmptyDir(MEMORY)))
        await mount(bench, pod)
        other = bench.another()

        (found,) = await other.list_volumes()
        for name in found.volumes:
            await other.unmount_volume(UnmountVolume(found.pod_uid, name))
        left = await bench.runtime.list_volumes()
        await other.close()

        assert found.volumes == ("data", "memory")
        assert left == ()
