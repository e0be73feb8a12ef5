"""Volumes as folders, beyond what the contract of runtimes says."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.volume import HostPath, Projected, Volume, VolumeFile
from probetui.kubelet.effects import MountVolume, UnmountVolume
from probetui.ports import PodVolumes
from probetui.runtimes.volume_folders import VolumeFolders
from tests.builders import START, a_pod

FILES = Volume("files", Projected())
DATA = Volume("data")
POD = a_pod(volumes=(DATA, FILES))


@pytest.fixture
def volumes(tmp_path: Path) -> VolumeFolders:
    return VolumeFolders(tmp_path / "volumes")


def mount(
    volumes: VolumeFolders, volume: Volume, *files: VolumeFile, pod: Pod = POD
) -> Path:
    volumes.mount(MountVolume(pod, volume, files, START))
    return volumes.path(pod, volume)


def test_only_the_owner_gets_near_volumes_but_everybody_may_write_in_them(
    volumes: VolumeFolders,
) -> None:
    path = mount(volumes, DATA)

    assert path.stat().st_mode & 0o777 == 0o777
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_files_are_links_through_one_that_changes_at_once(
    volumes: VolumeFolders,
) -> None:
    path = mount(volumes, FILES, VolumeFile("a", b"1"), VolumeFile("deep/b", b"2"))

    stamp = (path / "..data").readlink()
    assert str(stamp).startswith("..2025_01_01_12_00_00.")
    assert (path / "a").readlink() == Path("..data/a")
    assert (path / "deep").readlink() == Path("..data/deep")
    assert (path / "deep/b").read_bytes() == b"2"


def test_nothing_of_earlier_files_is_left(volumes: VolumeFolders) -> None:
    mount(volumes, FILES, VolumeFile("a", b"1"), VolumeFile("b/c", b"2"))

    path = mount(volumes, FILES, VolumeFile("a", b"3"))

    assert sorted(entry.name for entry in path.iterdir())[1:] == ["..data", "a"]
    assert len(list(path.iterdir())) == 3
    assert (path / "a").read_bytes() == b"3"


def test_what_a_crash_left_half_done_is_no_hindrance(volumes: VolumeFolders) -> None:
    path = mount(volumes, FILES, VolumeFile("a", b"1"))
    (path / "..data_tmp").symlink_to("nowhere")
    (path / "..2024_12_31_23_59_59.half").mkdir()

    mount(volumes, FILES, VolumeFile("a", b"2"))

    assert (path / "a").read_bytes() == b"2"
    assert len(list(path.iterdir())) == 3


def test_nothing_is_left_on_disk_once_all_volumes_are_gone(
    volumes: VolumeFolders, tmp_path: Path
) -> None:
    mount(volumes, DATA)
    mount(volumes, FILES, VolumeFile("a", b"1", 0o000))

    volumes.unmount(UnmountVolume(POD.uid, "data"))
    left = volumes.list()
    volumes.unmount(UnmountVolume(POD.uid, "files"))

    assert left == (PodVolumes(POD.uid, "web", "default", ("files",)),)
    assert list((tmp_path / "volumes").iterdir()) == []


def test_what_is_not_ours_is_not_listed(volumes: VolumeFolders, tmp_path: Path) -> None:
    (tmp_path / "volumes/theirs").mkdir(parents=True)
    (tmp_path / "volumes/broken").mkdir()
    (tmp_path / "volumes/broken/pod.json").write_text("[]")

    assert volumes.list() == ()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"name": "web"', pytest.param("[" * 60_000, id="deep")]
)
def test_a_volume_whose_pod_cannot_be_read_is_listed_and_removed(
    volumes: VolumeFolders, tmp_path: Path, text: str
) -> None:
    uid = "0b" * 16
    (tmp_path / "volumes" / uid / "data").mkdir(parents=True)
    (tmp_path / "volumes" / uid / "pod.json").write_text(text)

    (left,) = volumes.list()
    volumes.unmount(UnmountVolume(left.pod_uid, left.volumes[0]))

    assert left == PodVolumes(uid, f"half-removed-{uid}", "default", ("data",))
    assert list((tmp_path / "volumes").iterdir()) == []


def test_sockets_are_distinguished_from_files(
    volumes: VolumeFolders, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))

        mount(volumes, Volume("host", HostPath(str(path), "Socket")))
        with pytest.raises(ContainerRuntimeError, match="is not a file"):
            mount(volumes, Volume("host", HostPath(str(path), "File")))


def test_nothing_beside_the_volumes_is_removed_whatever_a_pod_is_called(
    volumes: VolumeFolders, tmp_path: Path
) -> None:
    mount(volumes, DATA)
    bystander = tmp_path / "bystander"
    bystander.mkdir()

    for operation in (
        UnmountVolume("../bystander", "data"),
        UnmountVolume("..", "bystander"),
        UnmountVolume(POD.uid, "../../bystander"),
    ):
        with pytest.raises(ContainerRuntimeError):
            volumes.unmount(operation)

    assert bystander.is_dir()
