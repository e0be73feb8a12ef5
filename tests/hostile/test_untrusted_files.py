"""Directory trees with links, special files and mounts, as a pod may leave them."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import logging
import os
import resource
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from probetui import untrusted_files, untrusted_trees
from probetui.errors import ContainerRuntimeError, IncompleteRemovalError
from probetui.untrusted_files import (
    AN_INPUT,
    FILE_CLAIMS,
    DirectoryRoot,
    _open_regular,
    child_path,
    create_own_file,
    make_own_directory,
    open_output,
    open_regular,
    read_kernel_file,
    read_regular,
    read_settings,
)
from probetui.untrusted_trees import (
    DIRECTORY,
    MAX_NAMED,
    GroupChange,
    TreeRemoval,
    _Level,
    _make_removable,
    _pin_directory,
    _TreeWalk,
)
from tests.hostile.arena import (
    Arena,
    bind,
    isolated,
    mount_tmpfs,
    remount_read_only,
)

FS_IOC_SETFLAGS = 0x40086602
FS_IMMUTABLE_FL = 0x10
CAPABILITY_VERSION_3 = 0x20080522

OPENED_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY
"""How a directory is opened where there is no `O_PATH`."""


def tree(arena: Arena) -> tuple[DirectoryRoot, Path]:
    """Return a root, and a tree below it to remove."""
    folder = arena.work / "tree"
    folder.mkdir()
    (folder / "file").write_text("ours")
    return DirectoryRoot(arena.work), folder


def may_be_immutable(descriptor: int) -> bool:
    """Make a file immutable even for root, if the file system supports it."""
    flags = FS_IMMUTABLE_FL.to_bytes(8, "little")
    try:
        fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, flags)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTTY, errno.EOPNOTSUPP}:
            raise
        return False
    return True


@contextlib.contextmanager
def descriptors_left(number: int) -> Iterator[None]:
    """Allow one more descriptor to be opened, or none."""
    lowest = os.dup(0)
    os.close(lowest)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def be_without_o_path() -> None:
    """Have this process, an isolated one, open directories as other systems do.

    Without its capabilities the modes of files hold for it, though it is root's.
    """
    untrusted_trees.IS_LINUX = False
    untrusted_trees.DIRECTORY = OPENED_DIRECTORY
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset")


# -- removal


class RefilledTree(TreeRemoval):
    """A removal of directories into which somebody else writes so many times."""

    def __init__(self, folder: Path, times: int) -> None:
        parent = os.open(folder.parent, DIRECTORY)
        try:
            super().__init__(parent, folder)
        finally:
            os.close(parent)
        self._times = times

    def _end(self, done: _Level) -> None:
        if self._times:
            self._times -= 1
            (self._path(done.name) / "written meanwhile").touch()
        super()._end(done)


def test_what_its_owner_writes_into_a_directory_meanwhile_is_removed_as_well(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "tree"
    (folder / "container").mkdir(parents=True)

    RefilledTree(folder, 3).run()

    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_never_stays_empty_is_left_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()

    with pytest.raises(IncompleteRemovalError, match="tree: Directory not empty"):
        RefilledTree(folder, 1_000).run()

    assert [path.name for path in folder.iterdir()] == ["written meanwhile"]


def test_what_there_is_no_descriptor_for_is_left_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    removal = RefilledTree(folder, 0)

    with descriptors_left(0), pytest.raises(IncompleteRemovalError) as refusal:
        removal.run()

    assert str(refusal.value) == f"not removed: {folder}: Too many open files"
    assert folder.is_dir()


def interrupt(
    walk: _TreeWalk, at: Path, during: Callable[[], AbstractContextManager[None]]
) -> None:
    """Have something happen while a walk reads one directory for the first time."""
    read = walk._read

    def interrupted(level: _Level) -> list[tuple[str, bool]]:
        if walk._path("") != at:
            return read(level)
        walk._read = read  # type: ignore[method-assign]  # it happens once
        with during():
            return read(level)

    walk._read = interrupted  # type: ignore[method-assign]  # somebody else's timing


def test_a_directory_that_cannot_be_read_is_left_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    (folder / "unread/file").mkdir(parents=True)
    removal = RefilledTree(folder, 0)
    interrupt(removal, folder / "unread", lambda: descriptors_left(0))

    with pytest.raises(IncompleteRemovalError) as refusal:
        removal.run()

    assert str(refusal.value) == f"not removed: {folder}/unread: Too many open files"
    assert (folder / "unread/file").is_dir()


def test_removal_does_not_follow_a_directory_that_is_moved_elsewhere(
    tmp_path: Path,
) -> None:
    folder, other = tmp_path / "tree", tmp_path / "other"
    (folder / "a/b/c").mkdir(parents=True)
    (other / "kept").mkdir(parents=True)

    @contextlib.contextmanager
    def moved() -> Iterator[None]:
        (folder / "a/b").rename(other / "b")
        yield

    removal = RefilledTree(folder, 0)
    interrupt(removal, folder / "a/b/c", moved)
    with pytest.raises(IncompleteRemovalError) as refusal:
        removal.run()

    assert str(refusal.value) == f"not removed: {folder}/a/b: it was moved meanwhile"
    assert sorted(os.listdir(other)) == ["b", "kept"]


@pytest.mark.parametrize("read", ["tree", "tree/a"])
def test_what_somebody_else_removes_meanwhile_counts_as_removed(
    tmp_path: Path, read: str
) -> None:
    folder = tmp_path / "tree"
    (folder / "a/b").mkdir(parents=True)
    (folder / "file").touch()

    @contextlib.contextmanager
    def gone() -> Iterator[None]:
        yield
        (folder / "a/b").rmdir()
        (folder / "a").rmdir()
        (folder / "file").unlink(missing_ok=True)

    removal = RefilledTree(folder, 0)
    interrupt(removal, tmp_path / read, gone)
    removal.run()

    assert list(tmp_path.iterdir()) == []


@isolated
def test_without_o_path_a_directory_is_opened_to_its_owner_if_that_is_us(
    arena: Arena,
) -> None:
    folder = arena.work / "tree"
    for name in ("ours/deep", "theirs", "mounted", "open"):
        (folder / name).mkdir(parents=True)
    mount_tmpfs(folder / "mounted")
    mount_tmpfs(folder / "open")
    os.chown(folder / "theirs", 4711, 4711)  # noqa: TID251  # in the arena
    for name in ("ours/deep", "ours", "theirs", "mounted"):
        (folder / name).chmod(0)
    # Files of these names are where the process is, too.
    for name in ("ours", "deep", "theirs", "mounted"):
        (arena.work / name).touch()
    be_without_o_path()
    removal = RefilledTree(folder, 0)

    with pytest.raises(IncompleteRemovalError) as refusal:
        removal.run()

    closed = {folder / "theirs", folder / "mounted"}
    assert set(refusal.value.left) == {
        *((path, "Permission denied") for path in closed),
        (folder / "open", "it is another file system"),
    }
    assert set(folder.iterdir()) == {*closed, folder / "open"}
    assert {mode_of(path) for path in closed} == {0}


class Meanwhile:
    """A descriptor, and what somebody else does just before one of its uses."""

    def __init__(self, descriptor: int, act: Callable[[], None], *, use: int) -> None:
        self._descriptor = descriptor
        self._act = act
        self._left = use

    def __index__(self) -> int:
        self._left -= 1
        if self._left == 0:
            self._act()
        return self._descriptor


@pytest.mark.parametrize(
    ("use", "refusal"),
    [
        pytest.param(2, PermissionError, id="before it is looked at"),
        # Linux changes no mode of a link.
        pytest.param(3, ValueError, id="before its mode is changed"),
    ],
)
@isolated
def test_a_link_in_place_of_a_closed_directory_opens_no_other(
    arena: Arena, use: int, refusal: type[Exception]
) -> None:
    closed, other = arena.work / "closed", arena.work / "other"
    closed.mkdir(mode=0)
    other.mkdir(mode=0)

    def swap() -> None:
        closed.rename(arena.work / "aside")
        closed.symlink_to("other")

    be_without_o_path()
    parent: Any = Meanwhile(os.open(arena.work, os.O_RDONLY), swap, use=use)

    with pytest.raises(refusal):
        _pin_directory("closed", parent, arena.work.stat().st_dev)

    assert closed.is_symlink()
    assert mode_of(other) == mode_of(arena.work / "aside") == 0


@isolated
def test_a_tree_is_removed(arena: Arena) -> None:
    root, folder = tree(arena)
    (folder / "a/b/c").mkdir(parents=True)
    (folder / "a/b/c/file").touch()

    root.remove_tree("tree")

    assert list(arena.work.iterdir()) == []


@isolated
def test_a_missing_tree_counts_as_removed(arena: Arena) -> None:
    DirectoryRoot(arena.work).remove_tree("no/such/tree")


@isolated
def test_removal_does_not_go_through_a_mount(arena: Arena) -> None:
    root, folder = tree(arena)
    (folder / "remote").mkdir()
    bind(arena.canary, folder / "remote")

    with pytest.raises(IncompleteRemovalError) as refusal:
        root.remove_tree("tree")

    assert str(refusal.value) == f"not removed: {folder}/remote: it is a mount point"
    assert os.listdir(folder) == ["remote"]
    assert (folder / "remote/documents/thesis.txt").exists()


@isolated
def test_removal_does_not_go_through_a_mount_of_the_same_directory(
    arena: Arena,
) -> None:
    # Device and inode are those of the tree itself: only the mount differs.
    root, folder = tree(arena)
    (folder / "kept").touch()
    (folder / "again").mkdir()
    (arena.work / "beside").mkdir()
    (arena.work / "beside/file").touch()
    bind(arena.work / "beside", folder / "again")

    with pytest.raises(IncompleteRemovalError, match="again: it is a mount point"):
        root.remove_tree("tree")

    assert (arena.work / "beside/file").exists()


@isolated
def test_removal_stops_at_mounts_on_mounts_and_on_files(arena: Arena) -> None:
    root, folder = tree(arena)
    (folder / "stack").mkdir()
    (folder / "thesis").touch()
    mount_tmpfs(folder / "stack")
    bind(arena.canary, folder / "stack")
    bind(arena.canary / "documents/thesis.txt", folder / "thesis")

    with pytest.raises(IncompleteRemovalError) as refusal:
        root.remove_tree("tree")

    assert {path for path, _ in refusal.value.left} == {
        folder / "stack",
        folder / "thesis",
    }


@isolated
def test_the_tree_itself_can_be_a_mount(arena: Arena) -> None:
    (arena.work / "tree").mkdir()
    bind(arena.canary, arena.work / "tree")

    with pytest.raises(IncompleteRemovalError, match="tree: it is a mount point"):
        DirectoryRoot(arena.work).remove_tree("tree")


@isolated
def test_removal_follows_no_link(arena: Arena) -> None:
    root, folder = tree(arena)
    (folder / "absolute").symlink_to(arena.canary)
    (folder / "relative").symlink_to("../../canary/documents")
    (folder / "to-a-link").symlink_to("absolute")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")

    root.remove_tree("tree")

    assert not folder.exists()


@isolated
def test_a_link_in_place_of_the_tree_is_removed_itself(arena: Arena) -> None:
    (arena.work / "tree").symlink_to(arena.canary)

    DirectoryRoot(arena.work).remove_tree("tree")

    assert not (arena.work / "tree").is_symlink()


@isolated
def test_a_link_above_the_tree_is_not_followed(arena: Arena) -> None:
    (arena.work / "pod").symlink_to(arena.canary)

    with pytest.raises(OSError, match="a symbolic link is not followed"):
        DirectoryRoot(arena.work).remove_tree("pod/documents")


@isolated
def test_removal_changes_no_mode_behind_a_link_or_a_mount(arena: Arena) -> None:
    root, folder = tree(arena)
    (folder / "shut/link").parent.mkdir()
    (folder / "shut/link").symlink_to(arena.canary / "closed")
    (folder / "shut/mount").mkdir()
    bind(arena.canary / "closed", folder / "shut/mount")
    (folder / "shut").chmod(0)

    with pytest.raises(IncompleteRemovalError, match="shut/mount: it is a mount point"):
        root.remove_tree("tree")


@isolated
def test_hard_links_are_removed_and_other_links_of_the_file_are_kept(
    arena: Arena,
) -> None:
    root, folder = tree(arena)
    os.link(arena.canary / "script", folder / "script")
    (folder / "kept").touch()
    (folder / "script").unlink()
    os.link(arena.canary / "documents/thesis.txt", folder / "thesis")

    root.remove_tree("tree")

    assert (arena.canary / "documents/thesis.txt").read_text() == "years of work\n"
    assert (arena.canary / "documents/thesis.txt").stat().st_nlink == 1
    arena.seal()  # linking changes the times of the linked file


@isolated
def test_special_files_are_removed_without_being_opened(arena: Arena) -> None:
    root, folder = tree(arena)
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))

    root.remove_tree("tree")

    assert not folder.exists()


@isolated
def test_names_of_every_kind_are_removed(arena: Arena) -> None:
    root, folder = tree(arena)
    for name in (b"x" * 255, b"\xff\xfe", b"new\nline", b"-rf", b" ", b"\x1b[2J"):
        os.mkdir(os.path.join(os.fsencode(folder), name))  # noqa: TID251  # bytes

    root.remove_tree("tree")

    assert not folder.exists()


@isolated
def test_a_tree_deeper_than_any_path_is_removed_with_few_descriptors(
    arena: Arena,
) -> None:
    root, folder = tree(arena)
    depth = 20_000
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 100, dir_fd=here)  # noqa: TID251  # no path is that long
        beneath = os.open("d" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = beneath
    os.close(here)
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))

    root.remove_tree("tree")

    assert not folder.exists()


@isolated
def test_more_files_than_are_read_at_once_are_removed(arena: Arena) -> None:
    root, folder = tree(arena)
    for number in range(5_000):
        (folder / str(number)).touch()

    root.remove_tree("tree")

    assert not folder.exists()


@isolated
def test_leftovers_are_named_and_counted(arena: Arena) -> None:
    root, folder = tree(arena)
    for number in range(MAX_NAMED + 5):
        (folder / "mounts" / str(number)).mkdir(parents=True)
        bind(arena.canary, folder / "mounts" / str(number))

    with pytest.raises(IncompleteRemovalError, match="; and 5 more") as refusal:
        root.remove_tree("tree")

    assert refusal.value.count == MAX_NAMED + 5
    assert len(refusal.value.left) == MAX_NAMED
    assert not (folder / "file").exists()


@isolated
def test_a_read_only_file_system_is_named(arena: Arena) -> None:
    (arena.work / "mounted/tree/deep").mkdir(parents=True)
    bind(arena.work / "mounted", arena.work / "mounted")
    remount_read_only(arena.work / "mounted")

    with pytest.raises(IncompleteRemovalError, match="deep: Read-only file system"):
        DirectoryRoot(arena.work / "mounted").remove_tree("tree")


@isolated
def test_a_closed_directory_that_cannot_be_opened_is_named(arena: Arena) -> None:
    (arena.work / "mounted/tree/shut").mkdir(parents=True)
    (arena.work / "mounted/tree/shut").chmod(0)
    bind(arena.work / "mounted", arena.work / "mounted")
    remount_read_only(arena.work / "mounted")

    with pytest.raises(IncompleteRemovalError, match="shut: Read-only file system"):
        DirectoryRoot(arena.work / "mounted").remove_tree("tree")


@isolated
def test_an_immutable_file_is_named(arena: Arena) -> None:
    root, folder = tree(arena)
    with (folder / "immutable").open("wb") as file:
        if not may_be_immutable(file.fileno()):
            return  # a user namespace, or the tmpfs of an older kernel

    with pytest.raises(
        IncompleteRemovalError, match="immutable: Operation not permitted"
    ):
        root.remove_tree("tree")


@isolated
def test_the_owner_file_of_a_tree_is_kept_as_long_as_the_tree(arena: Arena) -> None:
    root, folder = tree(arena)
    (folder / "remote").mkdir()
    bind(arena.canary, folder / "remote")

    with pytest.raises(IncompleteRemovalError, match="remote"):
        root.remove_tree("tree", last=["file"])

    assert sorted(os.listdir(folder)) == ["file", "remote"]


@isolated
def test_the_file_to_remove_last_is_removed_at_the_end(arena: Arena) -> None:
    root, folder = tree(arena)
    (folder / "other").touch()

    root.remove_tree("tree", last=["file"])

    assert not folder.exists()


@isolated
def test_a_folder_that_is_repeatedly_replaced_with_a_link(arena: Arena) -> None:
    root = DirectoryRoot(arena.work)
    stop = threading.Event()

    def swap() -> None:
        """Replace a directory that is being removed with a link."""
        trap = arena.work / "trap"
        trap.symlink_to(arena.canary)
        while not stop.is_set():
            for target in ("tree/a", "tree/a/b"):
                with contextlib.suppress(OSError):
                    (arena.work / target).rename(arena.work / "aside")
                    trap.rename(arena.work / target)
                    (arena.work / target).rename(trap)
                if not trap.is_symlink():
                    trap.symlink_to(arena.canary)
                if (arena.work / "aside").exists():
                    with contextlib.suppress(OSError, IncompleteRemovalError):
                        root.remove_tree("aside")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(300):
            for folder in ("a/b/c", "a/d", "e"):
                with contextlib.suppress(OSError):
                    root.make_directories(f"tree/{folder}", 0o755)
            # Files that are moved concurrently may be left.
            with contextlib.suppress(OSError, IncompleteRemovalError):
                root.remove_tree("tree")
    finally:
        stop.set()
        swapping.join()


# -- opening


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def a_directory(path: Path) -> None:
    path.mkdir()


def a_link(path: Path) -> None:
    path.symlink_to("/proc/kmsg")


@pytest.fixture(params=["with O_PATH", "without", "without /proc"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Be on Linux, and where files cannot be looked at unopened; return which it is."""
    if request.param == "without":
        for module in (untrusted_files, untrusted_trees):
            monkeypatch.setattr(module, "IS_LINUX", False)
            monkeypatch.setattr(module, "DIRECTORY", OPENED_DIRECTORY)
            monkeypatch.setattr(module, "PINNED", os.O_RDONLY)
    elif request.param == "without /proc":
        monkeypatch.setattr(untrusted_files, "OPEN_DESCRIPTORS", "/nowhere")
    return str(request.param)


SPECIAL = [
    pytest.param(a_fifo, "a FIFO", id="FIFO"),
    pytest.param(a_socket, "a socket", id="socket"),
    pytest.param(a_directory, "a directory", id="directory"),
    pytest.param(a_link, "a symbolic link", id="link"),
]


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize(("make", "kind"), SPECIAL)
def test_only_regular_files_are_opened(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tmp_path / "it")
    root = DirectoryRoot(tmp_path)

    for flags in (
        os.O_RDONLY,
        os.O_WRONLY,
        os.O_WRONLY | os.O_CREAT | os.O_APPEND,
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    ):
        with pytest.raises(OSError, match=f"it is {kind}, not a regular") as refusal:
            root.open_file("it", flags)
        assert refusal.value.filename == str(tmp_path / "it")


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize(("make", "kind"), SPECIAL[:3])
def test_a_file_that_a_user_names_must_be_regular_too(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tmp_path / "it")
    (tmp_path / "link").symlink_to("it")

    with pytest.raises(OSError, match=f"it is {kind}, not a regular file") as refusal:
        open_regular(tmp_path / "link")

    assert refusal.value.filename == str(tmp_path / "link")
    assert refusal.value.errno == errno.EINVAL


def test_what_takes_the_place_of_a_file_after_the_look_at_it_is_not_read(
    root: DirectoryRoot, system: str
) -> None:
    path = root.path / "folder/file"
    parent = root.open_directory("folder")

    def swap() -> None:
        path.unlink()
        os.mkfifo(path)

    swapped: Any = Meanwhile(parent, swap, use=2)

    def read() -> bytes:
        descriptor = _open_regular(
            "file", swapped, os.O_RDONLY, path, follows_links=False
        )
        with os.fdopen(descriptor, "rb") as file:
            return file.read()

    if system == "with O_PATH":  # what was looked at is what is opened
        assert read() == b"0123456789"
    else:
        with pytest.raises(OSError, match="it is a FIFO, not a regular") as refusal:
            read()
        assert refusal.value.filename == str(path)
    os.close(parent)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("name", ["full", "tty"])
def test_a_device_is_not_opened(name: str) -> None:
    with pytest.raises(OSError, match="a character device, not a regular file"):
        DirectoryRoot(Path("/dev")).open_file(name)


def test_a_file_of_no_known_kind_is_refused_as_that(tmp_path: Path) -> None:
    no_kind = os.stat_result((0o600, *[0] * 9))

    with pytest.raises(OSError, match="it is of an unknown type, not a regular file"):
        untrusted_files._check_regular(no_kind, os.O_RDONLY, tmp_path)


@isolated
def test_no_more_than_asked_is_read_of_a_huge_file(arena: Arena) -> None:
    with (arena.work / "huge").open("wb") as file:
        file.truncate(1 << 42)
        file.seek(0, os.SEEK_END)
        file.write(b"the end")
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    end = DirectoryRoot(arena.work).read_end("huge", 4096)

    assert len(end) == 4096
    assert end.endswith(b"\0the end")
    with pytest.raises(OSError, match="it has more than 9 bytes"):
        read_settings(arena.work / "huge", 9)


@isolated
def test_a_file_with_another_hard_link_is_not_written_to(arena: Arena) -> None:
    os.link(arena.canary / "documents/thesis.txt", arena.work / "0.log")
    arena.seal()
    root = DirectoryRoot(arena.work)

    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
        with pytest.raises(OSError, match="another hard link"):
            root.open_file("0.log", flags)


@isolated
def test_a_file_is_replaced_and_not_written_through(arena: Arena) -> None:
    (arena.work / "record").symlink_to(arena.canary / "readable.conf")

    DirectoryRoot(arena.work).replace_file("record", b"new", 0o640)

    assert not (arena.work / "record").is_symlink()
    assert (arena.work / "record").read_bytes() == b"new"
    assert stat.S_IMODE((arena.work / "record").stat().st_mode) == 0o640
    assert os.listdir(arena.work) == ["record"]


@pytest.fixture
def root(linux_root: DirectoryRoot, system: str) -> DirectoryRoot:
    """Return a root as `linux_root` does, on each kind of system."""
    return linux_root


@pytest.fixture
def linux_root(tmp_path: Path) -> Iterator[DirectoryRoot]:
    """Return a root with one of each, under an umask; no descriptor may be left."""
    (tmp_path / "folder/empty").mkdir(parents=True)
    (tmp_path / "folder/file").write_bytes(b"0123456789")
    (tmp_path / "folder/link").symlink_to("file")
    (tmp_path / "folder/nowhere").symlink_to("gone")
    (tmp_path / "way").symlink_to("folder")
    before = sorted(os.listdir("/proc/self/fd"))
    umask = os.umask(0o077)
    try:
        yield DirectoryRoot(tmp_path)
    finally:
        os.umask(umask)
        assert sorted(os.listdir("/proc/self/fd")) == before


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_regular_file_is_opened_for_what_is_asked(root: DirectoryRoot) -> None:
    path = root.path / "folder/file"

    for flags, written in (
        (os.O_WRONLY, b"ab23456789"),
        (os.O_WRONLY | os.O_APPEND, b"ab23456789ab"),
        (os.O_WRONLY | os.O_CREAT | os.O_APPEND, b"ab23456789abab"),
        (os.O_RDWR | os.O_CREAT | os.O_TRUNC, b"ab"),
    ):
        descriptor = root.open_file("folder/file", flags)
        assert os.get_blocking(descriptor)
        assert not os.get_inheritable(descriptor)
        os.write(descriptor, b"ab")
        os.close(descriptor)
        assert path.read_bytes() == written


def test_a_file_that_is_made_has_exactly_its_mode(root: DirectoryRoot) -> None:
    os.close(root.open_file("folder/usual", os.O_WRONLY | os.O_CREAT))
    os.close(root.open_file("folder/open", os.O_WRONLY | os.O_CREAT, 0o666))
    root.create_file("folder/full", b"content", 0o640)

    modes = [mode_of(root.path / "folder" / name) for name in ("usual", "open", "full")]
    assert modes == [0o600, 0o666, 0o640]
    assert (root.path / "folder/full").read_bytes() == b"content"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_is_never_more_open_than_asked_while_it_is_made(
    root: DirectoryRoot, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    os.umask(0)
    modes: list[int] = []

    def look(descriptor: int, _: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))

    monkeypatch.setattr(os, "fchmod", look)
    root.create_file("folder/created", b"", mode)
    root.replace_file("folder/replaced", b"", mode)

    assert modes == [mode] * 2


def test_a_file_with_two_names_is_read_and_not_written(root: DirectoryRoot) -> None:
    os.link(root.path / "folder/file", root.path / "folder/other")

    assert root.read_file("folder/other", 3) == b"012"
    with pytest.raises(OSError, match="it has another hard link and is not") as refusal:
        root.open_file("folder/other", os.O_RDWR)
    assert refusal.value.errno == errno.EMLINK
    assert refusal.value.strerror == "it has another hard link and is not written to"
    assert refusal.value.filename == str(root.path / "folder/other")


@pytest.mark.parametrize(
    ("limit", "beginning", "end"),
    [(4, b"0123", b"6789"), (10, b"0123456789", b"0123456789"), (0, b"", b"")],
)
def test_no_more_is_read_than_asked(
    root: DirectoryRoot, limit: int, beginning: bytes, end: bytes
) -> None:
    assert root.read_file("folder/file", limit) == beginning
    assert root.read_end("folder/file", limit) == end
    assert read_regular(root.path / "folder/link", limit) == beginning


def test_the_end_of_a_short_file_is_all_of_it(root: DirectoryRoot) -> None:
    assert root.read_end("folder/file", 99) == b"0123456789"


def test_no_more_than_asked_is_read_of_the_end_of_a_growing_file(
    root: DirectoryRoot,
) -> None:
    stop = threading.Event()

    def grow() -> None:
        """Append to the file, as a container does to its log."""
        with (root.path / "folder/file").open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"0123456789")

    growing = threading.Thread(target=grow)
    growing.start()
    try:
        lengths = {len(root.read_end("folder/file", 4)) for _ in range(1_000)}
    finally:
        stop.set()
        growing.join()

    assert lengths == {4}


def test_things_are_told_apart_without_following_links(root: DirectoryRoot) -> None:
    names = ["folder", "folder/file", "folder/link", "folder/nowhere", "gone"]
    names += ["folder/file/x", "gone/x", "", "folder//./empty/"]

    exist = [name for name in names if root.exists(name)]
    directories = [name for name in names if root.is_directory(name)]
    links = {name: root.read_link(name) for name in names[:5]}

    assert exist == [*names[:4], "", "folder//./empty/"]
    assert directories == ["folder", "", "folder//./empty/"]
    assert links == {
        "folder": None,
        "folder/file": None,
        "folder/link": "file",
        "folder/nowhere": "gone",
        "gone": None,
    }
    assert not root.is_directory("way")
    assert root.names("folder") == ["empty", "file", "link", "nowhere"]
    assert root.names() == ["folder", "way"]


@pytest.mark.parametrize("name", ["", "folder", "folder/file", "folder/fifo"])
def test_a_path_is_pinned_without_being_opened(root: DirectoryRoot, name: str) -> None:
    os.mkfifo(root.path / "folder/fifo")

    descriptor = root.open_path(name)

    pinned, path = os.fstat(descriptor), (root.path / name).stat()
    os.close(descriptor)
    assert (pinned.st_dev, pinned.st_ino) == (path.st_dev, path.st_ino)


def test_directories_are_made_with_exactly_their_mode(root: DirectoryRoot) -> None:
    root.make_directory("folder/one", 0o751)
    root.make_directories("folder/a/b", 0o775)
    os.close(root.open_directory("folder/a/c", make_mode=0o711))

    names = ["folder/one", "folder/a", "folder/a/b", "folder/a/c"]
    assert [mode_of(root.path / name) for name in names] == [0o751, 0o775, 0o775, 0o711]


@pytest.mark.parametrize(
    "make",
    [DirectoryRoot.make_directory, DirectoryRoot.make_directories],
)
def test_a_directory_is_its_owners_until_it_has_its_mode(
    root: DirectoryRoot, make: Callable[[DirectoryRoot, str, int], None]
) -> None:
    os.umask(0)

    with descriptors_left(1), pytest.raises(OSError, match="Too many open files"):
        make(root, "new", 0o755)

    assert mode_of(root.path / "new") == 0o700


def test_files_are_replaced_renamed_linked_and_removed(root: DirectoryRoot) -> None:
    root.replace_file("folder/link", b"new", 0o644)
    root.sync_file("folder/link")
    root.rename("folder/file", "renamed")
    root.symlink("folder/to", "../anywhere")
    root.unlink("folder/nowhere")
    root.unlink("folder/gone", missing_ok=True)
    root.unlink("gone/gone", missing_ok=True)
    root.remove_directory("folder/empty")

    folder = root.path / "folder"
    assert root.names("folder") == ["link", "renamed", "to"]
    assert ((folder / "link").read_bytes(), mode_of(folder / "link")) == (b"new", 0o644)
    assert (folder / "renamed").read_bytes() == b"0123456789"
    assert os.readlink(folder / "to") == "../anywhere"


def test_a_tree_is_removed_with_a_few_names_at_a_time(
    root: DirectoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrusted_trees, "_BATCH", 2)
    for number in range(5):
        (root.path / f"tree/{number}/deep").mkdir(parents=True)
        (root.path / f"tree/{number}/file").touch()
        (root.path / f"tree/link-{number}").symlink_to("../folder")

    root.remove_tree("tree", last=["1", "link-3", "not there"])
    root.remove_tree("way")
    root.remove_tree("folder/file")
    root.remove_tree("folder/file/gone")

    assert root.names() == ["folder"]
    assert root.names("folder") == ["empty", "link", "nowhere"]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0, 0o700), (0o577, 0o700), (0o755, 0o755), (0o700, 0o700), (0o1777, 0o1777)],
)
def test_only_a_directory_that_is_closed_is_opened_to_its_owner(
    root: DirectoryRoot, mode: int, expected: int
) -> None:
    folder = root.path / "folder/empty"
    folder.chmod(mode)
    pinned = root.open_directory("folder/empty")

    _make_removable(pinned)

    os.close(pinned)
    assert mode_of(folder) == expected


def test_a_tree_is_given_to_a_group_without_what_has_other_names(
    linux_root: DirectoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = linux_root
    monkeypatch.setattr(untrusted_trees, "_BATCH", 2)
    group = 4711 if os.geteuid() == 0 else os.getegid()
    outside = root.path / "folder/file"
    outside.chmod(0o600)
    tree = root.path / "tree"
    (tree / "a/b").mkdir(parents=True)
    for name in ("one", "two", "a/three", "a/b/four"):
        (tree / name).touch(0o640)
    (tree / "a/link").symlink_to(outside)
    os.link(outside, tree / "a/other")

    root.give_to_group("tree", group, modes=(0o060, 0o2070))

    given = ["", "a", "a/b", "one", "two", "a/three", "a/b/four"]
    assert {(tree / name).stat().st_gid for name in given} == {group}
    assert [mode_of(tree / name) for name in given] == [
        *[0o2770] * 3, 0o660, 0o660, 0o660, 0o660,
    ]  # fmt: skip
    assert (tree / "a/link").lstat().st_gid == group
    assert mode_of(outside) == 0o600
    assert outside.stat().st_gid == os.getegid()


def test_a_group_gets_what_is_still_there(linux_root: DirectoryRoot) -> None:
    tree = linux_root.path / "tree"
    (tree / "a").mkdir(parents=True)
    for name in ("file", "gone"):
        (tree / name).touch(0o600)

    @contextlib.contextmanager
    def gone() -> Iterator[None]:
        yield
        (tree / "a").rmdir()
        (tree / "gone").unlink()

    parent = linux_root.open_directory()
    change = GroupChange(parent, tree, os.getegid(), (0o060, 0o070))
    os.close(parent)
    interrupt(change, tree, gone)
    change.run()

    assert linux_root.names("tree") == ["file"]
    assert mode_of(tree / "file") == 0o660


def test_a_directory_that_no_group_can_be_given_is_named(
    linux_root: DirectoryRoot,
) -> None:
    with descriptors_left(2), pytest.raises(OSError, match="folder") as refusal:
        linux_root.give_to_group("folder", os.getegid(), modes=(0, 0))

    assert str(refusal.value) == f"{linux_root.path}/folder: Too many open files"


NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
REFUSED: dict[str, tuple[Callable[[DirectoryRoot], object], int, str]] = {
    "open a directory": (lambda r: r.open_directory("folder/x"), errno.ENOENT, "x"),
    "open what is none": (lambda r: r.names("folder/file"), errno.ENOTDIR, "file"),
    "open a link": (lambda r: r.open_directory("folder/link"), errno.ELOOP, "link"),
    "pin nothing": (lambda r: r.open_path("folder/x"), errno.ENOENT, "x"),
    "pin a link": (lambda r: r.open_path("folder/link"), errno.ELOOP, "link"),
    "make it twice": (
        lambda r: r.make_directory("folder/empty", 0o700), errno.EEXIST, "empty",
    ),
    "make below a file": (
        lambda r: r.make_directories("folder/file/x", 0o700), errno.ENOTDIR, "file",
    ),
    "read nothing": (lambda r: r.read_file("folder/x", 9), errno.ENOENT, "x"),
    "read a link": (lambda r: r.read_end("folder/link", 9), errno.ELOOP, "link"),
    "make it twice again": (
        lambda r: r.open_file("folder/file", NEW), errno.EEXIST, "file",
    ),
    "make it at a link": (
        lambda r: r.create_file("folder/nowhere", b"", 0o600), errno.EEXIST, "nowhere",
    ),
    "replace a directory": (
        lambda r: r.replace_file("folder/empty", b"", 0o600), errno.EISDIR, "empty",
    ),
    "sync nothing": (lambda r: r.sync_file("folder/x"), errno.ENOENT, "x"),
    "sync a link": (lambda r: r.sync_file("folder/link"), errno.ELOOP, "link"),
    "link twice": (lambda r: r.symlink("folder/link", "x"), errno.EEXIST, "link"),
    "rename nothing": (lambda r: r.rename("folder/x", "y"), errno.ENOENT, "x"),
    "unlink nothing": (lambda r: r.unlink("folder/x"), errno.ENOENT, "x"),
    "unlink a directory": (lambda r: r.unlink("folder/empty"), errno.EISDIR, "empty"),
    "remove a file": (
        lambda r: r.remove_directory("folder/file"), errno.ENOTDIR, "file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_system_refuses_is_said_with_the_whole_path(
    root: DirectoryRoot, what: str
) -> None:
    call, number, name = REFUSED[what]

    with pytest.raises(OSError, match=name) as refusal:
        call(root)

    assert refusal.value.errno == number
    assert refusal.value.filename == str(root.path / "folder" / name)
    assert refusal.value.strerror in {
        os.strerror(number), "a symbolic link is not followed",
        "it is a symbolic link, not a regular file",
    }  # fmt: skip
    assert root.names("folder") == ["empty", "file", "link", "nowhere"]


THROUGH_A_LINK: list[Callable[[DirectoryRoot], object]] = [
    lambda r: r.open_directory("way/empty"),
    lambda r: r.make_directories("way/new", 0o700),
    lambda r: r.make_directory("way/new", 0o700),
    lambda r: r.open_path("way/file"),
    lambda r: r.exists("way/file"),
    lambda r: r.open_file("way/new", os.O_WRONLY | os.O_CREAT),
    lambda r: r.read_file("way/file", 9),
    lambda r: r.create_file("way/new", b"", 0o600),
    lambda r: r.replace_file("way/file", b"", 0o600),
    lambda r: r.sync_file("way/file"),
    lambda r: r.symlink("way/new", "x"),
    lambda r: r.read_link("way/link"),
    lambda r: r.rename("way/file", "new"),
    lambda r: r.unlink("way/file", missing_ok=True),
    lambda r: r.remove_directory("way/empty"),
    lambda r: r.remove_tree("way/empty"),
    lambda r: r.give_to_group("way/empty", os.getegid(), modes=(0o777, 0o777)),
]


@pytest.mark.parametrize("call", THROUGH_A_LINK, ids=range(len(THROUGH_A_LINK)))
def test_nothing_is_done_through_a_link(
    root: DirectoryRoot, call: Callable[[DirectoryRoot], object]
) -> None:
    with pytest.raises(OSError, match="a symbolic link is not followed") as refusal:
        call(root)

    assert refusal.value.errno == errno.ELOOP
    assert refusal.value.filename == str(root.path / "way")
    assert root.names("folder") == ["empty", "file", "link", "nowhere"]


@pytest.mark.parametrize("name", ["..", "a/b", ""])
def test_a_file_is_not_renamed_into_another_directory(
    root: DirectoryRoot, name: str
) -> None:
    with pytest.raises(ContainerRuntimeError, match="cannot be the name of a file"):
        root.rename("folder/file", name)


def test_the_root_itself_is_left_as_it_is(root: DirectoryRoot) -> None:
    for call in (root.remove_tree, root.unlink, root.remove_directory):
        with pytest.raises(ContainerRuntimeError, match="itself is left as it is"):
            call("./")


NO_NAME = "cannot be the name of a file"


@pytest.mark.parametrize(
    ("relative", "problem"),
    [
        ("/etc", '"/etc" is not a relative path'),
        ("a/..", '".." cannot be the name of a file'),
        ("a\x1b\ud800", r'"a?\ud800" cannot be the name of a file'),
        (
            "n" * 256,
            f'"{"n" * 32}"... {NO_NAME}: it has 256 bytes, at most 255 are possible',
        ),
    ],
    ids=["absolute", "up", "no text", "too long"],
)
def test_a_name_is_refused_with_the_reason(
    root: DirectoryRoot, relative: str, problem: str
) -> None:
    with pytest.raises(ContainerRuntimeError) as refusal:
        root.read_file(relative, 1)

    assert str(refusal.value) == problem


# -- paths of the user's own words


def test_directories_are_made_on_the_way(root: DirectoryRoot) -> None:
    os.umask(0o022)

    make_own_directory(root.path / "a/b/c", 0o700)
    make_own_directory(root.path / "x/y", 0o755, parents_mode=0o750)
    make_own_directory(root.path / "a", 0o700)

    names = ["a", "a/b", "a/b/c", "x", "x/y"]
    modes = [mode_of(root.path / name) for name in names]
    assert modes == [0o755, 0o755, 0o700, 0o750, 0o755]


def test_a_file_in_the_way_of_a_directory_is_named(root: DirectoryRoot) -> None:
    for name in ("folder/file", "folder/file/x", "folder/nowhere"):
        with pytest.raises(NotADirectoryError, match="Not a directory") as refusal:
            make_own_directory(root.path / name, 0o700)
        stopped = "/".join(name.split("/")[:2])
        assert refusal.value.filename == str(root.path / stopped)


def test_a_file_is_created_only_where_nothing_is(root: DirectoryRoot) -> None:
    create_own_file(root.path / "new", 0o640)

    assert mode_of(root.path / "new") == 0o600  # less the umask
    for name in ("new", "folder/nowhere"):
        with pytest.raises(FileExistsError):
            create_own_file(root.path / name, 0o640)


def test_an_output_may_be_a_pipe_with_a_reader(root: DirectoryRoot) -> None:
    pipe = root.path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="No such device or address"):
        open_output(pipe, 0)

    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = open_output(pipe, 0)
    assert os.get_blocking(writer)
    assert not os.get_inheritable(writer)
    os.write(writer, b"x")
    assert os.read(reader, 9) == b"x"
    os.close(reader)
    os.close(writer)


def test_an_output_that_is_made_is_its_owners(root: DirectoryRoot) -> None:
    os.umask(0)

    os.close(open_output(root.path / "new", os.O_CREAT))

    assert mode_of(root.path / "new") == 0o600


def test_what_a_file_is_used_for_is_noted(root: DirectoryRoot) -> None:
    path = root.path / "folder/file"
    status = path.stat()
    key = status.st_dev, status.st_ino

    assert FILE_CLAIMS.get(key) is None
    os.close(open_regular(path, claim=None))
    assert FILE_CLAIMS.get(key) is None
    read_regular(path, 1, claim="a purpose")
    assert FILE_CLAIMS[key] == "a purpose"
    os.close(open_regular(root.path / "folder/link"))
    assert FILE_CLAIMS.pop(key) == AN_INPUT


def test_a_pipe_that_the_shell_hands_over_is_read(root: DirectoryRoot) -> None:
    reader, writer = os.pipe()

    for name in (f"/dev/fd/{reader}", f"/proc/self/fd/{reader}"):
        os.write(writer, b"words")
        assert read_regular(Path(name), 5) == b"words"

    os.close(reader)
    os.close(writer)


def test_settings_are_read_whole_or_not_at_all(root: DirectoryRoot) -> None:
    path = root.path / "folder/file"

    assert read_settings(path) == b"0123456789"
    assert read_settings(path, 10) == b"0123456789"
    with pytest.raises(OSError, match="it has more than 9 bytes") as refusal:
        read_settings(path, 9)
    assert refusal.value.errno == errno.EFBIG
    assert refusal.value.filename == str(path)


@pytest.mark.parametrize("piece", [1, 4, 10, 99])
def test_of_a_file_of_the_kernel_the_beginning_is_read(
    root: DirectoryRoot, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    path = root.path / "folder/file"
    monkeypatch.setattr(untrusted_files, "_PIECE_BYTES", piece)

    assert read_kernel_file(path) == b"0123456789"
    assert read_kernel_file(Path("/proc/self/comm")).endswith(b"\n")
    monkeypatch.setattr(untrusted_files, "KERNEL_FILE_BYTES", 7)
    assert read_kernel_file(path) == b"0123456"


# -- directories and modes


@isolated
def test_directories_are_not_created_through_a_link(arena: Arena) -> None:
    (arena.work / "volume").mkdir()
    (arena.work / "volume/sub").symlink_to(arena.canary)

    with pytest.raises(OSError, match="volume/sub"):
        DirectoryRoot(arena.work).make_directories("volume/sub/deep/er", 0o777)


@isolated
def test_new_directories_have_the_mode_and_others_keep_theirs(
    arena: Arena,
) -> None:
    (arena.work / "there").mkdir(mode=0o750)

    DirectoryRoot(arena.work).make_directories("there/a/b", 0o777)

    modes = [
        stat.S_IMODE((arena.work / path).stat().st_mode)
        for path in ("there", "there/a", "there/a/b")
    ]
    assert modes == [0o750, 0o777, 0o777]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        pytest.param("inside", "inside", id="inside"),
        pytest.param("../canary", None, id="a step up"),
        pytest.param("/", None, id="the root of the machine"),
    ],
)
def test_links_are_resolved_only_within_the_root(
    tmp_path: Path, link: str, expected: str | None
) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "link").symlink_to(link)
    root = DirectoryRoot(tmp_path)

    if expected is None:
        with pytest.raises(ContainerRuntimeError, match="leads out of"):
            root.resolve("link/x")
    else:
        assert str(root.resolve("link/x")) == f"{expected}/x"


@pytest.mark.parametrize(
    "relative",
    [
        pytest.param("..", id="up"),
        pytest.param("a/../../b", id="up from within"),
        pytest.param("/etc", id="absolute"),
        pytest.param("a\0b", id="NUL"),
        pytest.param("n" * 256, id="too long"),
        pytest.param("\ud800", id="no text"),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, relative: str) -> None:
    root = DirectoryRoot(tmp_path)

    for method in (root.remove_tree, root.open_file, root.unlink, root.open_path):
        with pytest.raises(ContainerRuntimeError):
            method(relative)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param(".", id="here"),
        pytest.param("..", id="up"),
        pytest.param("/", id="root"),
        pytest.param("a/b", id="two"),
        pytest.param("../a", id="beside"),
        pytest.param("a\0", id="NUL"),
        pytest.param("\udcff" * 256, id="too many bytes"),
        pytest.param("é" * 128, id="too many bytes of characters"),
        pytest.param("\ud800", id="no text"),
    ],
)
def test_an_invalid_name_makes_no_path(name: str) -> None:
    with pytest.raises(ContainerRuntimeError, match="cannot be the name of a file"):
        child_path(Path("/base"), "pod", name)


@pytest.mark.parametrize(
    "name",
    [
        *("a", "...", "..a", "-"),
        pytest.param(" ", id="space"),
        pytest.param("\udcff", id="a byte"),
        pytest.param("é" * 127, id="as long as can be"),
    ],
)
def test_a_name_is_one_component(name: str) -> None:
    assert child_path(Path("/base"), name).parent == Path("/base")


# -- groups


@isolated
def test_a_group_gets_a_volume_and_nothing_that_links_lead_to(arena: Arena) -> None:
    root, folder = tree(arena)
    (folder / "deep").mkdir()
    (folder / "deep/file").touch(mode=0o600)
    (folder / "link").symlink_to(arena.canary)
    (folder / "mount").mkdir()
    os.link(arena.canary / "script", folder / "script")
    bind(arena.canary, folder / "mount")
    arena.seal()
    told: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]  # a sink
    untrusted_trees.log.addHandler(handler)
    untrusted_trees.log.setLevel(logging.INFO)

    root.give_to_group("tree", 4711, modes=(0o660, 0o2770))

    assert told == [f"{folder}/mount is left as it is: it is a mount point"]
    found = (folder / "deep/file").stat()
    assert (found.st_gid, stat.S_IMODE(found.st_mode)) == (4711, 0o660)
    assert stat.S_IMODE((folder / "deep").stat().st_mode) == 0o2775
    assert (folder / "link").lstat().st_gid == 4711


@isolated
def test_a_group_gets_a_volume_that_is_its_own_file_system(arena: Arena) -> None:
    root, folder = tree(arena)
    mount_tmpfs(folder)
    (folder / "file").touch(mode=0o600)

    root.give_to_group("tree", 4711, modes=(0o660, 0o2770))

    assert folder.stat().st_gid == (folder / "file").stat().st_gid == 4711
