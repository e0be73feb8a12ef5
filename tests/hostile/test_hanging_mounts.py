"""Mounted file systems that never respond, like sshfs without a network."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.volume import Volume
from probetui.kubelet.effects import UnmountVolume
from probetui.untrusted_files import DirectoryRoot
from tests.hostile.arena import Arena, isolated, mount
from tests.hostile.test_process_files import PATIENCE_SECONDS, Attack
from tests.requirements import skip_unless_ci

FUSE = Path("/dev/fuse")


@pytest.fixture(autouse=True)
def _fuse() -> None:
    if not FUSE.exists():
        skip_unless_ci(f"there is no FUSE here: no {FUSE}")


@contextmanager
def hanging(target: Path) -> Iterator[None]:
    """Mount a file system that never responds until the end of the block."""
    descriptor = os.open(FUSE, os.O_RDWR)
    try:
        options = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0"
        mount("probetui-test", target, "fuse", options)
        yield
    finally:
        os.close(descriptor)


@isolated
async def test_removal_does_not_wait_for_a_mount_below_a_home(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    container_id, mounted = await attack.end_with_folder("remote")

    with hanging(mounted):
        async with asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(ContainerRuntimeError) as refusal:
                await attack.runtime.remove_container(container_id)

    assert f"{mounted}: it is a mount point" in str(refusal.value)


@isolated
async def test_a_volume_that_never_responds_is_listed_kept_and_named(
    arena: Arena,
) -> None:
    attack = Attack(arena)
    volume = Volume("data")
    await attack.start("exit 0", ("data", "/data", volume.source))
    mounted = arena.work / "base/.volumes" / attack.pod.uid / "data"

    with hanging(mounted):
        async with asyncio.timeout(PATIENCE_SECONDS):
            (listed,) = await attack.runtime.list_volumes()
            operation = UnmountVolume(attack.pod.uid, "data")
            with pytest.raises(ContainerRuntimeError) as refusal:
                await attack.runtime.unmount_volume(operation)

    assert listed.volumes == ("data",)
    assert f"{mounted}: it is a mount point" in str(refusal.value)
    assert DirectoryRoot(mounted.parent).is_directory("data")
