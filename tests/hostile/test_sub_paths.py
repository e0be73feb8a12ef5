"""subPath with links in the volume that lead elsewhere or change concurrently."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probetui.errors import ContainerConfigError, ContainerRuntimeError
from probetui.k8s.pod import Pod, VolumeMount
from probetui.ports import PodVolumes
from probetui.runtimes import kernel_mounts
from probetui.runtimes.sub_paths import (
    SubPaths,
    open_sub_path,
    resolve_sub_path,
    with_sub_paths,
)
from tests.builders import a_container, a_pod
from tests.hostile.arena import Arena, facts_of, isolated

MOUNT = "/proc/self/mountinfo"
EXCHANGE = 2
CAPBSET_DROP = 24
CAP_SYS_ADMIN = 21
HERE = -100
ROUNDS = 3000

NOT_PREPARED = 'failed to prepare subPath for volumeMount "data" of container "app"'
NOT_MADE = (
    'failed to create subPath directory for volumeMount "data" of container "app"'
)


def a_mount(sub_path: str, path: str = "/data") -> VolumeMount:
    return VolumeMount("data", path, sub_path=sub_path)


def a_pod_mounting(*mounts: VolumeMount) -> Pod:
    return a_pod(a_container(volume_mounts=mounts))


def fill(volume: Path, canary: Path, content: dict[str, str]) -> None:
    """Create links in a volume; `.` makes a directory, an empty target a file."""
    for name, target in content.items():
        if target == ".":
            (volume / name).mkdir()
        elif target:
            (volume / name).symlink_to(target.replace("CANARY", str(canary)))
        else:
            (volume / name).touch()


CHAIN = {"sub": "one", "one": "./two/../three", "two": ".", "three": "CANARY"}
UPWARDS = "../" * 40

LEADS_OUT = [
    pytest.param("sub", {"sub": "CANARY"}, NOT_PREPARED, id="to a directory"),
    pytest.param("sub", {"sub": "/"}, NOT_PREPARED, id="to the root"),
    pytest.param("sub", {"sub": ".."}, NOT_PREPARED, id="to what is above"),
    pytest.param(
        "sub", {"sub": f"{UPWARDS}CANARY"}, NOT_PREPARED, id="relative, up and down"
    ),
    pytest.param("sub", {"sub": "CANARY/readable.conf"}, NOT_PREPARED, id="to a file"),
    pytest.param(
        "a/documents", {"a": "CANARY"}, NOT_PREPARED, id="in the middle of a path"
    ),
    pytest.param("a/new", {"a": "CANARY"}, NOT_MADE, id="above what would be made"),
    pytest.param("sub", {"sub": "CANARY/new"}, NOT_MADE, id="to what is missing"),
    pytest.param("sub", {"sub": "missing"}, NOT_MADE, id="to nothing in it"),
    pytest.param("sub", CHAIN, NOT_PREPARED, id="through other links"),
    pytest.param(
        "sub", {"sub": "other", "other": "sub"}, NOT_PREPARED, id="in a circle"
    ),
    pytest.param("sub/x", {"sub": ""}, NOT_PREPARED, id="below a file"),
    pytest.param("sub", {"sub": "/proc/self/root"}, NOT_PREPARED, id="magic link"),
]


@pytest.mark.parametrize(("sub_path", "content", "text"), LEADS_OUT)
@isolated
def test_a_link_that_leads_out_of_a_volume_is_refused_in_the_kubelets_words(
    arena: Arena, sub_path: str, content: dict[str, str], text: str
) -> None:
    volume = arena.work / "volume"
    volume.mkdir()
    fill(volume, arena.canary, content)

    for use in (open_sub_path, resolve_sub_path):
        with pytest.raises(ContainerConfigError) as refusal:
            use(volume, "app", a_mount(sub_path))

        assert str(refusal.value) == text


@pytest.mark.parametrize(
    ("sub_path", "leads_to"),
    [
        pytest.param("real", "real", id="a directory"),
        pytest.param("current", "real", id="a link"),
        pytest.param("deep/up", "real", id="a link that climbs, and stays inside"),
        pytest.param("..data/file", "..stamp/file", id="a file, as of a ConfigMap"),
        pytest.param("./real//", "real", id="odd slashes"),
    ],
)
def test_links_within_a_volume_are_followed_as_the_kubelet_does(
    tmp_path: Path, sub_path: str, leads_to: str
) -> None:
    for name in ("real", "deep", "..stamp"):
        (tmp_path / name).mkdir()
    (tmp_path / "..stamp/file").write_text("x")
    (tmp_path / "current").symlink_to("real")
    (tmp_path / "deep/up").symlink_to("../real")
    (tmp_path / "..data").symlink_to("..stamp")

    found = resolve_sub_path(tmp_path, "app", a_mount(sub_path))

    assert found == tmp_path / leads_to


def test_missing_directories_get_the_mode_of_the_volume(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o2775)
    (tmp_path / "there").mkdir(mode=0o700)

    os.close(open_sub_path(tmp_path, "app", a_mount("there/a/b")))

    assert (tmp_path / "there").stat().st_mode & 0o7777 & ~0o2000 == 0o700
    assert (tmp_path / "there/a").stat().st_mode & 0o7777 == 0o2775
    assert (tmp_path / "there/a/b").stat().st_mode & 0o7777 == 0o2775


def test_a_missing_volume_has_no_sub_paths(tmp_path: Path) -> None:
    with pytest.raises(ContainerConfigError, match="no such file or directory"):
        open_sub_path(tmp_path / "gone", "app", a_mount("a"))


def test_a_directory_that_becomes_a_link_concurrently_is_never_followed(
    tmp_path: Path,
) -> None:
    volume, canary = tmp_path / "volume", tmp_path / "canary"
    (volume / "sub").mkdir(parents=True)
    canary.mkdir()
    before = facts_of(canary)
    (volume / "swapped").symlink_to(canary)
    outside = canary.stat().st_ino
    refused = 0

    with exchanging(volume / "sub", volume / "swapped"):
        for _ in range(ROUNDS):
            try:
                found = open_sub_path(volume, "app", a_mount("sub"))
            except ContainerConfigError:
                refused += 1
                continue
            inode = os.fstat(found).st_ino
            os.close(found)
            assert inode != outside

    assert refused, "the two were never exchanged at the wrong moment"
    assert facts_of(canary) == before


def test_nothing_is_created_through_a_link_that_appears_concurrently(
    tmp_path: Path,
) -> None:
    volume, canary = tmp_path / "volume", tmp_path / "canary"
    (volume / "sub").mkdir(parents=True)
    canary.mkdir()
    before = facts_of(canary)
    (volume / "swapped").symlink_to(canary)

    with exchanging(volume / "sub", volume / "swapped"):
        for number in range(ROUNDS):
            try:
                os.close(open_sub_path(volume, "app", a_mount(f"sub/{number}/x")))
            except ContainerConfigError:
                continue

    assert facts_of(canary) == before


@contextmanager
def exchanging(one: Path, other: Path) -> Iterator[None]:
    """Exchange two names continuously in the block."""
    libc = ctypes.CDLL(None, use_errno=True)
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            libc.renameat2(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


# -- mounts


@contextmanager
def engine(arena: Arena) -> Iterator[SubPaths]:
    """Return sub paths of an engine that is this process, in the same namespace."""
    path = arena.folder / "engine.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield SubPaths(arena.folder / "sub-paths", path)


def mounts_at(path: Path) -> int:
    lines = Path(MOUNT).read_text("utf-8").splitlines()
    return [line.split()[4] for line in lines].count(str(path))


def a_volume(arena: Arena, *names: str) -> Path:
    volume = arena.work / "volume"
    for name in names:
        (volume / name).mkdir(parents=True)
    return volume


@isolated
def test_a_bind_mount_is_kept_wherever_its_path_leads_later(arena: Arena) -> None:
    volume = a_volume(arena, "sub")
    (volume / "sub/mine").write_text("mine")
    mount = a_mount("sub")
    pod = a_pod_mounting(mount)

    with engine(arena) as sub_paths:
        target = sub_paths.bind(pod, pod.containers[0], mount, volume)
        (volume / "sub").rename(volume / "was")
        (volume / "sub").symlink_to(arena.canary)

        assert (target / "mine").read_text() == "mine"
        assert os.listdir(target) == ["mine"]
        with pytest.raises(ContainerConfigError, match="failed to prepare subPath"):
            sub_paths.bind(pod, pod.containers[0], mount, volume)


@isolated
def test_a_restarted_container_gets_the_current_target_of_the_sub_path(
    arena: Arena,
) -> None:
    volume = a_volume(arena, "sub")
    mount = a_mount("sub")
    pod = a_pod_mounting(mount)

    with engine(arena) as sub_paths:
        first = sub_paths.bind(pod, pod.containers[0], mount, volume)
        again = sub_paths.bind(pod, pod.containers[0], mount, volume)
        assert (first, mounts_at(first)) == (again, 1)
        (volume / "sub").rmdir()
        (volume / "sub").write_text("a file now")
        third = sub_paths.bind(pod, pod.containers[0], mount, volume)

        assert third == first
        assert third.read_text() == "a file now"
        sub_paths.clean(pod.uid, "data")
        assert mounts_at(third) == 0


@isolated
def test_cleanup_unmounts_and_removes_no_mounted_file(
    arena: Arena,
) -> None:
    (arena.canary / "documents").rename(arena.canary / "sub")
    arena.seal()
    mounts = (a_mount("sub"), a_mount("readable.conf", "/file"))
    pod = a_pod_mounting(*mounts)

    with engine(arena) as sub_paths:
        for mount in mounts:
            sub_paths.bind(pod, pod.containers[0], mount, arena.canary)
        assert sub_paths.list() == (
            PodVolumes(pod.uid, pod.name, pod.namespace, ("data",)),
        )

        sub_paths.clean(pod.uid, "data")
        sub_paths.clean(pod.uid, "data")

        assert sub_paths.list() == ()
        assert not sub_paths.base.exists()


@isolated
def test_unknown_files_in_the_folder_of_mounts_are_kept_and_named(
    arena: Arena,
) -> None:
    volume = a_volume(arena, "sub")
    mount = a_mount("sub")
    pod = a_pod_mounting(mount)

    with engine(arena) as sub_paths:
        target = sub_paths.bind(pod, pod.containers[0], mount, volume)
        (target.parent / "precious").mkdir()
        (target.parent / "precious/file").write_text("x")

        with pytest.raises(ContainerRuntimeError, match="precious"):
            sub_paths.clean(pod.uid, "data")

        assert (target.parent / "precious/file").read_text() == "x"


@isolated
def test_an_engine_without_access_to_our_mounts_gets_none(arena: Arena) -> None:
    volume = a_volume(arena, "sub")
    mount = a_mount("sub")
    pod = a_pod_mounting(mount)

    sub_paths = SubPaths(arena.folder / "sub-paths", arena.folder / "nobody.sock")
    with pytest.raises(ContainerConfigError, match="failed to prepare subPath"):
        sub_paths.bind(pod, pod.containers[0], mount, volume)

    assert str(sub_paths.base) not in Path(MOUNT).read_text("utf-8")


LISTEN = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
sys.stdin.read()
"""


@isolated
def test_an_engine_in_its_own_mount_namespace_gets_no_empty_folder(
    arena: Arena,
) -> None:
    volume = a_volume(arena, "sub")
    mount = a_mount("sub")
    pod = a_pod_mounting(mount)
    path = arena.folder / "engine.sock"
    unshare = ["unshare", "--mount", "--propagation=private"]
    with subprocess.Popen(
        [*unshare, sys.executable, "-c", LISTEN, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as there:
        assert there.stdout is not None
        assert there.stdout.readline() == b"ready\n"
        sub_paths = SubPaths(arena.folder / "sub-paths", path)

        with pytest.raises(ContainerConfigError, match="failed to prepare subPath"):
            sub_paths.bind(pod, pod.containers[0], mount, volume)

        there.communicate()
    assert str(sub_paths.base) not in Path(MOUNT).read_text("utf-8")


@pytest.mark.parametrize("name", ["..", "a/b", "", "x" * 256])
def test_no_name_leads_out_of_the_folder_of_mounts(tmp_path: Path, name: str) -> None:
    sub_paths = SubPaths(tmp_path / "base", tmp_path / "nobody.sock")

    with pytest.raises(ContainerRuntimeError, match="cannot be the name of a file"):
        sub_paths.clean(name, "data")
    with pytest.raises(ContainerRuntimeError, match="cannot be the name of a file"):
        sub_paths.clean("uid", name)


def test_volumes_with_only_sub_paths_left_are_listed_too() -> None:
    volumes = (PodVolumes("b", "web", "default", ("data",)),)
    mounted = (
        PodVolumes("a", "old", "default", ("host",)),
        PodVolumes("b", "web", "default", ("data", "host")),
    )

    assert with_sub_paths(volumes, mounted) == mounted


def without_the_right_to_mount() -> None:
    """Give up CAP_SYS_ADMIN from the next program on, as in a container of root."""
    ctypes.CDLL(None, use_errno=True).prctl(CAPBSET_DROP, CAP_SYS_ADMIN)


def run_without_the_right_to_mount(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=without_the_right_to_mount,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@isolated
def test_root_without_the_right_to_mount_does_not_mount(arena: Arena) -> None:
    del arena
    code = "from probetui.runtimes.kernel_mounts import may_mount; print(may_mount())"

    assert run_without_the_right_to_mount(code) == "False\n"
    assert kernel_mounts.may_mount()


@isolated
def test_what_is_not_mounted_is_not_unmounted(arena: Arena) -> None:
    """Without the right to, the kernel refuses that, and the folders would stay."""
    base = arena.folder / "sub-paths"
    (base / "uid" / "data" / "app" / "0").mkdir(parents=True)
    code = (
        "from pathlib import Path\n"
        "from probetui.runtimes.sub_paths import SubPaths\n"
        f"SubPaths(Path({str(base)!r}), Path('none')).clean('uid', 'data')\n"
    )

    run_without_the_right_to_mount(code)

    assert not base.exists()
