"""Files of pods on CRI runtimes, with mounts and links of others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from probetui.errors import IncompleteRemovalError
from probetui.runtimes.cri.files import mount_tmpfs, unmount_tmpfs
from probetui.runtimes.kernel_mounts import mounts_at
from tests.hostile.arena import Arena, bind, isolated


@isolated
def test_a_volume_in_memory_is_unmounted(arena: Arena) -> None:
    volume = arena.work / "a volume"
    volume.mkdir()
    mount_tmpfs(volume, None)
    (volume / "file").touch()

    unmount_tmpfs(volume)
    unmount_tmpfs(volume)

    assert list(volume.iterdir()) == []


@pytest.mark.parametrize("place", ["", "sub dir"])
@isolated
def test_a_mount_of_others_on_a_volume_in_memory_is_kept(
    arena: Arena, place: str
) -> None:
    volume = arena.work / "volume"
    volume.mkdir()
    mount_tmpfs(volume, None)
    (volume / "sub dir").mkdir()
    bind(arena.canary, volume / place)

    with pytest.raises(IncompleteRemovalError, match="something is mounted there"):
        unmount_tmpfs(volume)

    assert (volume / place / "documents/thesis.txt").exists()


@isolated
def test_mounts_are_found_with_any_path(arena: Arena) -> None:
    for name in ("space d", "line\nbreak", "back\\slash", "\udcff"):
        folder = arena.work / name
        folder.mkdir()
        bind(arena.canary, folder)

    found = {name: mounts_at(arena.work / name)[0] for name in os.listdir(arena.work)}

    assert set(found.values()) == {("tmpfs",)}
    assert len(mounts_at(arena.work)[1]) == len(found) == 4
    assert mounts_at(Path(arena.folder))[0] == ("tmpfs",)
