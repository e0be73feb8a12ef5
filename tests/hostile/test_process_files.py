"""Pods as plain processes with malicious files and volumes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.k8s.volume import HostPath, Projected, Volume, VolumeFile, VolumeSource
from probetui.kubelet.effects import (
    CreateContainer,
    MountVolume,
    RunPodSandbox,
    UnmountVolume,
)
from probetui.runtimes.process.logs import MAX_FILE_BYTES
from probetui.runtimes.process.runtime import ProcessRuntime
from tests.builders import START, a_container, a_pod
from tests.hostile.arena import Arena, bind, isolated, unmount
from tests.runtimes.bench import sh
from tests.runtimes.process.bench import ProcessBench

PATIENCE_SECONDS = 60
"""Long enough for a busy machine, and short compared to waiting for ever."""


class Attack:
    """A pod on plain processes in an arena."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.bench = ProcessBench(arena.work / "base")
        self.runtime = ProcessRuntime(arena.work / "base", SystemClock())
        self.bench.runtime = self.runtime
        self.sandbox_id = ""
        self.pod = a_pod()

    async def start(
        self, script: str, *mounts: tuple[str, str, VolumeSource], **fields: Any
    ) -> ContainerID:
        """Create and start a container with volumes, given by name, path and source."""
        container = a_container(
            command=sh(script),
            volume_mounts=tuple(VolumeMount(name, path) for name, path, _ in mounts),
            **fields,
        )
        volumes = {name: Volume(name, source) for name, _, source in mounts}
        self.pod = a_pod(container, volumes=tuple(volumes.values()))
        for volume in self.pod.volumes:
            files = (VolumeFile("key", b"value"),)
            is_projected = isinstance(volume.source, Projected)
            await self.mount(volume, files if is_projected else ())
        return await self.create(self.pod, container)

    async def mount(self, volume: Volume, files: tuple[VolumeFile, ...] = ()) -> None:
        await self.runtime.mount_volume(MountVolume(self.pod, volume, files, START))

    async def create(self, pod: Pod, container: Container) -> ContainerID:
        self.sandbox_id = await self.runtime.run_pod_sandbox(RunPodSandbox(pod, 0))
        operation = CreateContainer(pod, container, self.sandbox_id, 0, "image")
        container_id = await self.runtime.create_container(operation)
        await self.runtime.start_container(container_id)
        return container_id

    def home(self, container_id: ContainerID) -> Path:
        return self.bench.home(container_id)

    async def end_with_folder(self, name: str) -> tuple[ContainerID, Path]:
        """Run a container to its exit and create a folder in its home; return both."""
        container_id = await self.start("exit 0")
        await self.bench.ended(container_id)
        folder = self.home(container_id) / name
        folder.mkdir()
        return container_id, folder

    async def message(self, container_id: ContainerID) -> str:
        """Return the termination message of a container after its exit."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return (await self.bench.ended(container_id)).message


# -- removal


@isolated
async def test_a_mount_of_a_process_below_its_home_is_kept_and_named(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    container_id, mounted = await attack.end_with_folder("remote")
    bind(arena.canary, mounted)

    with pytest.raises(ContainerRuntimeError) as refusal:
        await attack.runtime.remove_container(container_id)

    assert f"{mounted}: it is a mount point" in str(refusal.value)
    assert (mounted / "documents/thesis.txt").exists()


@isolated
async def test_leftovers_of_a_failed_removal_are_listed_and_removed_later(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    _, mounted = await attack.end_with_folder("remote")
    bind(arena.canary, mounted)

    with pytest.raises(ContainerRuntimeError, match="it is a mount point"):
        await attack.runtime.remove_pod_sandbox(attack.sandbox_id)
    (left,) = await attack.runtime.relist()
    unmount(mounted)
    await attack.runtime.remove_pod_sandbox(attack.sandbox_id)

    assert [sandbox.sandbox_id for sandbox in left.sandboxes] == [attack.sandbox_id]
    assert list((arena.work / "base").glob("*")) == []


@isolated
async def test_a_mount_in_a_volume_is_kept_and_named(arena: Arena) -> None:
    attack = Attack(arena)
    await attack.start("exit 0", ("data", "/data", Volume("data").source))
    volume = arena.work / "base/.volumes" / attack.pod.uid / "data"
    (volume / "remote").mkdir()
    bind(arena.canary, volume / "remote")

    with pytest.raises(
        ContainerRuntimeError, match=r"/data/remote: it is a mount point"
    ):
        await attack.runtime.unmount_volume(UnmountVolume(attack.pod.uid, "data"))


@isolated
async def test_removal_includes_closed_directories_and_follows_no_link_to_open_them(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    script = (
        "mkdir shut; ln -s {0}/closed shut/link; ln -s {0}/closed/ link; "
        "touch shut/file; chmod 0 shut/file shut"
    )
    container_id = await attack.start(script.format(arena.canary))
    await attack.bench.ended(container_id)

    await attack.runtime.remove_pod_sandbox(attack.sandbox_id)

    assert list((arena.work / "base").glob("*")) == []


@isolated
async def test_a_container_that_replaced_its_folder_with_a_link(arena: Arena) -> None:
    attack = Attack(arena)
    container_id = await attack.start("exit 0")
    await attack.bench.ended(container_id)
    folder = attack.home(container_id).parent
    folder.rename(arena.work / "aside")
    folder.symlink_to(arena.canary)

    await attack.runtime.remove_pod_sandbox(attack.sandbox_id)

    assert list((arena.work / "base").glob("*")) == []


@isolated
async def test_a_link_in_place_of_a_removed_file_changes_no_mode_behind_it(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    container_id = await attack.start(
        "exit 0", ("data", "/data", Volume("data").source)
    )
    await attack.bench.ended(container_id)
    folder = attack.home(container_id).parent
    for place in (folder, arena.work / "base/.volumes" / attack.pod.uid / "data"):
        place.rename(place.with_name(f"{place.name}-aside"))
        place.symlink_to(arena.canary)

    with contextlib.suppress(ContainerRuntimeError):
        await attack.runtime.unmount_volume(UnmountVolume(attack.pod.uid, "data"))
    with contextlib.suppress(ContainerRuntimeError):
        await attack.runtime.remove_container(container_id)


@isolated
async def test_the_event_loop_runs_while_many_files_are_removed(arena: Arena) -> None:
    attack = Attack(arena)
    container_id = await attack.start("exit 0")
    await attack.bench.ended(container_id)
    for number in range(300):
        folder = attack.home(container_id) / str(number)
        folder.mkdir()
        for name in range(100):
            (folder / str(name)).touch()
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0)
            beats += 1

    beating = asyncio.ensure_future(beat())
    await asyncio.sleep(0)
    await attack.runtime.remove_container(container_id)
    beating.cancel()

    # Counted, not timed: a removal on the event loop would allow a few turns only.
    assert beats > 100


# -- files of the user


@isolated
async def test_no_file_of_a_host_path_is_replaced_by_a_volume_in_it(
    arena: Arena,
) -> None:
    (arena.canary / "node_modules").symlink_to("documents")
    arena.seal()
    attack = Attack(arena)

    with pytest.raises(ContainerRuntimeError) as refusal:
        await attack.start(
            "exit 0",
            ("app", "/app", HostPath(str(arena.canary))),
            ("modules", "/app/node_modules", Volume("modules").source),
        )

    assert str(refusal.value).startswith(
        "volumeMounts[1].mountPath: /app/node_modules is inside the hostPath volume "
        f'"app" ({arena.canary})'
    )


@pytest.mark.parametrize(
    "path", ["/app/readable.conf", "/app/new/file", "/app", "/app/../app/script"]
)
@isolated
async def test_no_termination_message_file_is_created_in_a_host_path(
    arena: Arena, path: str
) -> None:
    attack = Attack(arena)

    with pytest.raises(ContainerRuntimeError, match=r"^terminationMessagePath: /app"):
        await attack.start(
            "exit 0",
            ("app", "/app", HostPath(str(arena.canary))),
            termination_message_path=path,
        )


@isolated
async def test_of_a_host_path_only_new_folders_of_sub_paths_are_left(
    arena: Arena,
) -> None:
    host = arena.work / "host"
    (host / "there").mkdir(parents=True)
    (host / "there").chmod(0o700)
    (host / "file").touch(0o640)
    before = modes_of(host)
    attack = Attack(arena)
    container = a_container(
        command=sh("exit 0"),
        volume_mounts=(VolumeMount("data", "/data", sub_path="there/new/deep"),),
    )
    attack.pod = a_pod(container, volumes=(Volume("data", HostPath(str(host))),))
    await attack.mount(attack.pod.volumes[0])
    container_id = await attack.create(attack.pod, container)
    await attack.bench.ended(container_id)

    await attack.runtime.unmount_volume(UnmountVolume(attack.pod.uid, "data"))
    await attack.runtime.remove_container(container_id)
    await attack.runtime.remove_pod_sandbox(attack.sandbox_id)

    made = {"there/new": before["."], "there/new/deep": before["."]}
    assert modes_of(host) == before | made


def modes_of(folder: Path) -> dict[str, int]:
    """Return the modes of a folder and of all that is in it, by relative path."""
    paths = (folder, *folder.rglob("*"))
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in paths
    }


@pytest.mark.parametrize("working_dir", ["/app/new/deep", "/app/documents/../x"])
@isolated
async def test_no_working_directory_is_created_in_a_host_path(
    arena: Arena, working_dir: str
) -> None:
    attack = Attack(arena)

    with pytest.raises(ContainerRuntimeError, match="chdir to cwd"):
        await attack.start(
            "exit 0",
            ("app", "/app", HostPath(str(arena.canary))),
            working_dir=working_dir,
        )


@pytest.mark.parametrize("working_dir", ["../../x", "a/../../../x", ".."])
@isolated
async def test_a_working_directory_that_leads_out_of_the_home_is_refused(
    arena: Arena, working_dir: str
) -> None:
    attack = Attack(arena)

    with pytest.raises(ContainerRuntimeError) as refusal:
        await attack.start("exit 0", working_dir=working_dir)

    assert str(refusal.value).startswith(f"workingDir: {working_dir} leads out of")
    assert not list(arena.work.rglob("x"))


@isolated
async def test_links_in_a_shared_volume_do_not_mount_outside_of_it(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    data = Volume("data").source
    await attack.start("exit 0", ("data", "/data", data))
    volume = arena.work / "base/.volumes" / attack.pod.uid / "data"
    (volume / "sub").symlink_to(arena.canary)

    with pytest.raises(ContainerRuntimeError, match="a symbolic link is not followed"):
        await attack.start(
            "exit 0", ("data", "/data", data), ("inner", "/data/sub/deep", data)
        )
    with pytest.raises(ContainerRuntimeError, match="a symbolic link is not followed"):
        await attack.start(
            "exit 0",
            ("data", "/data", data),
            termination_message_path="/data/sub/words",
        )


@isolated
async def test_a_file_in_a_volume_is_not_replaced_by_another_volume(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    data = Volume("data").source
    await attack.start("exit 0", ("data", "/data", data))
    volume = arena.work / "base/.volumes" / attack.pod.uid / "data"
    (volume / "cache").symlink_to(arena.canary)

    with pytest.raises(ContainerRuntimeError, match="is not replaced"):
        await attack.start(
            "exit 0", ("data", "/data", data), ("cache", "/data/cache", data)
        )

    assert (volume / "cache").readlink() == arena.canary


@isolated
async def test_files_of_a_config_map_are_not_written_through_links(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    files = Volume("files", Projected())
    container_id = await attack.start("exit 0", ("files", "/files", files.source))
    await attack.bench.ended(container_id)
    volume = arena.work / "base/.volumes" / attack.pod.uid / "files"
    (volume / "theirs").mkdir()
    (volume / "link").symlink_to(arena.canary)
    (volume / "..data_tmp").mkdir()
    (volume / "..data_tmp/link").symlink_to(arena.canary)

    await attack.mount(replace(files), (VolumeFile("key", b"changed"),))

    assert (volume / "key").read_bytes() == b"changed"
    assert (volume / "link").is_symlink()
    assert (volume / "theirs").is_dir()


# -- special files


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("mkfifo $0", "it is a FIFO, not a regular file", id="FIFO"),
        pytest.param("ln -s /dev/zero $0", "it is a symbolic link", id="device"),
        pytest.param("mkdir $0", "it is a directory", id="directory"),
        pytest.param("ln -s $0 $0", "it is a symbolic link", id="loop"),
    ],
)
@isolated
async def test_termination_messages_are_read_from_regular_files_only(
    arena: Arena, script: str, expected: str
) -> None:
    attack = Attack(arena)
    script = script.replace("$0", "dev/termination-log")
    container_id = await attack.start(f"rm dev/termination-log; {script}")

    message = await attack.message(container_id)

    assert message.startswith("Error on reading termination log ")
    assert expected in message


@isolated
async def test_only_the_end_of_a_huge_termination_message_is_read(arena: Arena) -> None:
    attack = Attack(arena)
    container_id = await attack.start(
        "truncate -s 100G dev/termination-log; echo the end >> dev/termination-log"
    )

    message = await attack.message(container_id)

    assert message.endswith("the end\n")
    assert len(message) <= 4096


@isolated
async def test_a_fifo_in_place_of_a_log_is_reported_and_does_not_block(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    container_id = await attack.start(
        "cd ..; rm 0.log; mkfifo 0.log; exit 1",
        termination_message_policy="FallbackToLogsOnError",
    )

    message = await attack.message(container_id)

    assert message == (
        "Error on reading termination message from logs: "
        "it is a FIFO, not a regular file"
    )


@isolated
async def test_a_log_that_is_a_link_to_a_file_of_the_user_is_not_truncated(
    arena: Arena,
) -> None:
    (arena.canary / "big").write_bytes(b"x" * 3 * MAX_FILE_BYTES)
    attack = Attack(arena)
    container_id = await attack.start("touch ready; sleep 300")
    log = attack.home(container_id).parent / "0.log"
    log.unlink()
    os.link(arena.canary / "big", log)
    arena.seal()

    (listed,) = await attack.runtime.relist()

    assert listed.containers[0].state is RuntimeState.RUNNING
    await attack.runtime.stop_pod_sandbox(attack.sandbox_id)
    arena.check()
    log.unlink()
    arena.seal()


@pytest.mark.parametrize("name", ["sandbox.json", "container.json"])
@isolated
async def test_a_fifo_in_place_of_a_record_does_not_block(
    arena: Arena, name: str
) -> None:
    attack = Attack(arena)
    container_id = await attack.start("exit 0")
    await attack.bench.ended(container_id)
    (file,) = (arena.work / "base").rglob(name)
    file.unlink()
    os.mkfifo(file)

    async with asyncio.timeout(PATIENCE_SECONDS):
        await attack.runtime.relist()
        await attack.bench.another().relist()


@isolated
async def test_a_fifo_in_place_of_the_owner_file_of_volumes(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    await attack.start("exit 0", ("data", "/data", Volume("data").source))
    file = arena.work / "base/.volumes" / attack.pod.uid / "pod.json"
    file.unlink()
    os.mkfifo(file)

    assert await attack.runtime.list_volumes() == ()


@isolated
async def test_a_log_is_followed_only_while_it_is_a_regular_file(arena: Arena) -> None:
    attack = Attack(arena)
    container_id = await attack.start("cd ..; rm 0.log; mkfifo 0.log")
    await attack.bench.ended(container_id)

    with pytest.raises(ContainerRuntimeError, match="it is a FIFO"):
        async for _ in attack.runtime.follow_logs(container_id, tail=10, follow=False):
            pass
