"""What a process finds in its home folder instead of at absolute paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probetui.errors import ContainerConfigError, ContainerRuntimeError
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import HostPath, Volume
from probetui.kubelet.effects import MountVolume
from probetui.runtimes.process.mounts import (
    ProcessMounts,
    home_path,
    is_mounted,
    read_message_file,
)
from probetui.runtimes.volume_folders import VolumeFolders
from tests.builders import START, a_container, a_pod

HOME = Path("/home")


@pytest.fixture
def volumes(tmp_path: Path) -> VolumeFolders:
    return VolumeFolders(tmp_path / "volumes")


def have(volumes: VolumeFolders, *names: str) -> Pod:
    pod = a_pod(volumes=tuple(Volume(name) for name in names))
    for volume in pod.volumes:
        volumes.mount(MountVolume(pod, volume, (), START))
    return pod


def mount_volumes(
    home: Path, pod: Pod, container: Container, volumes: VolumeFolders
) -> ProcessMounts:
    home.mkdir(exist_ok=True)
    mounts = ProcessMounts(home, pod, container, volumes)
    mounts.make_links()
    return mounts


def mounting(*mounts: tuple[str, str], **fields: Any) -> Container:
    return a_container(
        volume_mounts=tuple(VolumeMount(*mount) for mount in mounts), **fields
    )


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param("/data", "/home/data", id="absolute"),
        pytest.param("data/x", "/home/data/x", id="relative"),
        pytest.param("//data/./x/", "/home/data/x", id="written oddly"),
        pytest.param("/a/../../b", "/home/b", id="never outside"),
        pytest.param("/", "/home", id="the root is the home"),
    ],
)
def test_a_path_is_below_the_home(path: str, found: str) -> None:
    assert home_path(HOME, path) == Path(found)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/data", True, id="the volume"),
        pytest.param("/data/deep", True, id="in it"),
        pytest.param("/database", False, id="beside it"),
        pytest.param("", False, id="none"),
        pytest.param("data", False, id="relative"),
    ],
)
def test_a_path_is_in_a_volume_or_not(path: str, *, expected: bool) -> None:
    assert is_mounted(mounting(("data", "/data")), path) is expected


def test_a_volume_is_where_it_is_mounted_below_the_home(
    volumes: VolumeFolders, tmp_path: Path
) -> None:
    pod = have(volumes, "data")

    mount_volumes(tmp_path / "home", pod, mounting(("data", "/srv/data")), volumes)

    (tmp_path / "home/srv/data/file").write_text("x")
    assert (volumes.path(pod, pod.volumes[0]) / "file").read_text() == "x"


def test_a_volume_may_be_mounted_in_another_one(
    volumes: VolumeFolders, tmp_path: Path
) -> None:
    pod = have(volumes, "outer", "inner")
    container = mounting(("inner", "/a/b"), ("outer", "/a"))

    mount_volumes(tmp_path / "one", pod, container, volumes)
    mount_volumes(tmp_path / "two", pod, container, volumes)

    (tmp_path / "one/a/b/file").write_text("x")
    assert (volumes.path(pod, pod.volumes[1]) / "file").read_text() == "x"


def test_nothing_can_be_mounted_where_the_home_is(
    volumes: VolumeFolders, tmp_path: Path
) -> None:
    pod = have(volumes, "data")

    with pytest.raises(
        ContainerRuntimeError, match=r"volumeMounts\[0\].mountPath: / is the home"
    ):
        mount_volumes(tmp_path / "home", pod, mounting(("data", "/")), volumes)


def test_a_path_of_the_host_is_itself(volumes: VolumeFolders, tmp_path: Path) -> None:
    pod = a_pod(volumes=(Volume("host", HostPath(str(tmp_path / "real"))),))

    mount_volumes(tmp_path / "home", pod, mounting(("host", "/host")), volumes)

    assert (tmp_path / "home/host").readlink() == tmp_path / "real"


def test_a_file_for_last_words_is_open_to_everybody(
    volumes: VolumeFolders, tmp_path: Path
) -> None:
    mounts = ProcessMounts(tmp_path, a_pod(), a_container(), volumes)

    path = mounts.make_message_file("/dev/termination-log")

    assert path == tmp_path / "dev/termination-log"

    assert path.stat().st_mode & 0o777 == 0o666
    assert read_message_file(path, 10) == b""


def test_of_last_words_only_the_end_is_read(tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes(b"0123456789")

    assert read_message_file(tmp_path / "words", 4) == b"6789"
    assert read_message_file(tmp_path / "none", 4) is None


def test_a_sub_path_that_leads_out_of_its_volume_is_refused(
    volumes: VolumeFolders, tmp_path: Path
) -> None:
    pod = have(volumes, "data")
    outside = tmp_path / "outside"
    outside.mkdir()
    (volumes.path(pod, pod.volumes[0]) / "sub").symlink_to(outside)
    mount = VolumeMount("data", "/data", sub_path="sub/made")
    container = a_container(volume_mounts=(mount,))

    with pytest.raises(ContainerConfigError, match="failed to create subPath"):
        mount_volumes(tmp_path / "home", pod, container, volumes)

    assert list(outside.iterdir()) == []
    assert not (tmp_path / "home/data").exists()
