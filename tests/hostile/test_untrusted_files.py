"""Directory trees with links, special files and mounts, as a pod may leave them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError, IncompleteRemovalError
from probetui.untrusted_files import DirectoryRoot, child_path, open_regular
from probetui.untrusted_trees import DIRECTORY, MAX_NAMED, TreeRemoval, _Level
from tests.hostile.arena import (
    Arena,
    bind,
    isolated,
    mount_tmpfs,
    remount_read_only,
)

FS_IOC_SETFLAGS = 0x40086602
FS_IMMUTABLE_FL = 0x10


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


SPECIAL = [
    pytest.param(a_fifo, "a FIFO", id="FIFO"),
    pytest.param(a_socket, "a socket", id="socket"),
    pytest.param(a_directory, "a directory", id="directory"),
    pytest.param(a_link, "a symbolic link", id="link"),
]


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
        with pytest.raises(OSError, match=f"it is {kind}, not a regular file"):
            root.open_file("it", flags)


@pytest.mark.parametrize(("make", "kind"), SPECIAL[:3])
def test_a_file_that_a_user_names_must_be_regular_too(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tmp_path / "it")
    (tmp_path / "link").symlink_to("it")

    with pytest.raises(OSError, match=f"it is {kind}, not a regular file"):
        open_regular(tmp_path / "link")


@pytest.mark.parametrize("name", ["full", "tty"])
def test_a_device_is_not_opened(name: str) -> None:
    with pytest.raises(OSError, match="a character device, not a regular file"):
        DirectoryRoot(Path("/dev")).open_file(name)


@isolated
def test_only_the_end_of_a_huge_file_is_read(arena: Arena) -> None:
    with (arena.work / "huge").open("wb") as file:
        file.truncate(1 << 42)
        file.seek(0, os.SEEK_END)
        file.write(b"the end")
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    end = DirectoryRoot(arena.work).read_end("huge", 4096)

    assert len(end) == 4096
    assert end.endswith(b"\0the end")


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

    root.give_to_group("tree", 4711, modes=(0o660, 0o2770))

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
