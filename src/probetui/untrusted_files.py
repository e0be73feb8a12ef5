"""Files that others can change: opened, made and removed without following links.

What a container, a process or another user writes to may hold symbolic links, FIFOs,
devices, hard links and mount points, and may change between two calls. Here a path is
resolved component by component beneath a directory that is trusted, no link is
followed, only regular files are opened and never with a wait, and a removal stays on
the mount on which it began.

Source: pkg/volume/util/subpath/subpath_linux.go, v1.32.10, doSafeOpen, doSafeMakeDir
(the same walk, for volumes).
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path, PurePath

from msgspec import Struct

from probetui.errors import ContainerRuntimeError
from probetui.untrusted_trees import (
    DIRECTORY,
    IS_LINUX,
    OPEN_DESCRIPTORS,
    OWNER_ALL,
    PINNED,
    GroupChange,
    TreeRemoval,
    open_readable,
    set_pinned_mode,
)

MAX_NAME_BYTES = 255

SETTINGS_BYTES = 16 * 1024 * 1024
"""The most that a file of settings may have: a kubeconfig, one of an engine."""

KERNEL_FILE_BYTES = 8 * 1024 * 1024
"""The most that is read of a file of the kernel; more than exec(3) can pass on."""

_PIECE_BYTES = 64 * 1024

_NEVER_WAITS = os.O_NONBLOCK | os.O_NOCTTY
_WRITES = os.O_WRONLY | os.O_RDWR

_HANDED_OVER = re.compile(r"/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+")
"""Names of descriptors that this process was started with."""

USUAL_DIRECTORY_MODE = 0o777

FILE_CLAIMS: dict[tuple[int, int], str] = {}
"""What this process uses files for that a user named, by device and inode.

No output goes to a file that is used for anything else; see `output_files`.
"""

AN_INPUT = "an input"

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


# -- names


def check_component(name: str) -> str:
    """Return a name if it can be that of one file in one directory.

    Raises:
        ContainerRuntimeError: it is empty, too long, `.`, `..`, or leads elsewhere.
    """
    try:
        length = len(os.fsencode(name))
    except UnicodeEncodeError:
        length = 0
    if name in {".", ".."} or "/" in name or "\0" in name or not length:
        raise ContainerRuntimeError(f"{_quoted(name)} cannot be the name of a file")
    if length > MAX_NAME_BYTES:
        raise ContainerRuntimeError(
            f"{_quoted(name[:32])}... cannot be the name of a file: "
            f"it has {length} bytes, at most {MAX_NAME_BYTES} are possible"
        )
    return name


def child_path(folder: Path, *names: str) -> Path:
    """Return the path beneath a folder that has these names as its components.

    Every path that is made from a name in a manifest, a record or a daemon's answer
    comes from here: trees are removed by such paths, and one that leads out of its
    folder must never get that far.

    Raises:
        ContainerRuntimeError: one of them is not the name of a file.
    """
    return folder.joinpath(*map(check_component, names))


def _quoted(name: str) -> str:
    printable = name.encode(errors="backslashreplace").decode()
    shown = "".join(char if char.isprintable() else "?" for char in printable)
    return f'"{shown}"'


def _components(relative: str | PurePath) -> list[str]:
    """Return the names of which a path beneath a directory consists.

    Raises:
        ContainerRuntimeError: it is absolute, or one of them leads elsewhere.
    """
    text = str(relative)
    if text.startswith("/"):
        raise ContainerRuntimeError(f"{_quoted(text)} is not a relative path")
    return [check_component(name) for name in text.split("/") if name not in {"", "."}]


# -- paths that are trusted: of the user's own words, or of this program


def make_own_directory(
    path: Path, mode: int, *, parents_mode: int = USUAL_DIRECTORY_MODE
) -> None:
    """Make a directory and those that lead to it, unless they exist.

    The umask is taken off the modes. Raises `OSError`.
    """
    for folder in (*path.parents[::-1], path):
        if not folder.is_dir():
            try:
                folder.mkdir(mode if folder == path else parents_mode)
            except FileExistsError as error:
                if not folder.is_dir():  # else it was made meanwhile
                    text = os.strerror(errno.ENOTDIR)
                    raise OSError(errno.ENOTDIR, text, str(folder)) from error


def create_own_file(path: Path, mode: int) -> None:
    """Make an empty file where nothing is yet, not even a link that leads nowhere."""
    os.close(open_output(path, os.O_CREAT | os.O_EXCL, mode))


def open_output(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open a file for writing that a user named, and return its descriptor.

    It may be a pipe or a terminal. A FIFO that nobody reads is not waited for: that
    raises `OSError`, as does what the system refuses.

    Args:
        path: the file; links are followed.
        flags: of open(2), beside that for writing.
        mode: of a file that is made, with the umask taken off.
    """
    descriptor = os.open(path, os.O_WRONLY | flags | _NEVER_WAITS, mode)
    os.set_blocking(descriptor, True)
    return descriptor


def open_regular(path: Path, *, claim: str | None = AN_INPUT) -> int:
    """Open a file for reading that a user named; links are followed.

    A FIFO, a socket or a device is refused without being opened: opening one may wait
    for ever, or do something. A pipe that the shell has handed over, as `<(command)`,
    is none of these.

    Args:
        path: the file.
        claim: what it is used for, see `FILE_CLAIMS`; None for nothing.

    Raises:
        OSError: it is no regular file, or the system refuses.
    """
    if _HANDED_OVER.fullmatch(str(path)):
        descriptor = os.open(path, os.O_RDONLY)
    else:
        descriptor = _open_regular(
            str(path), None, os.O_RDONLY, path, follows_links=True
        )
    if claim is not None:
        claim_file(descriptor, claim)
    return descriptor


def claim_file(descriptor: int, claim: str) -> None:
    """Note what a file is used for, see `FILE_CLAIMS`."""
    facts = os.fstat(descriptor)
    FILE_CLAIMS[facts.st_dev, facts.st_ino] = claim


def read_regular(path: Path, limit: int, *, claim: str | None = AN_INPUT) -> bytes:
    """Read the first `limit` bytes of a file that a user named; see `open_regular`."""
    with os.fdopen(open_regular(path, claim=claim), "rb") as file:
        return file.read(limit)


def read_settings(path: Path, limit: int = SETTINGS_BYTES) -> bytes:
    """Read a whole file of settings; see `open_regular`.

    Raises:
        OSError: it has more than `limit` bytes, is no regular file, or the system
            refuses.
    """
    data = read_regular(path, limit + 1)
    if len(data) > limit:
        text = f"it has more than {limit} bytes"
        raise OSError(errno.EFBIG, text, str(path))
    return data


def read_kernel_file(path: Path) -> bytes:
    """Read a file of /proc or /sys, or its first `KERNEL_FILE_BYTES`.

    Such files have no length to ask for, and some are as long as a process wants: it
    may point its arguments and its environment at all of its memory
    (prctl(2), PR_SET_MM_MAP).
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        pieces: list[bytes] = []
        left = KERNEL_FILE_BYTES
        while left and (piece := os.read(descriptor, min(left, _PIECE_BYTES))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _open_regular(
    name: str, parent: int | None, flags: int, path: Path, *, follows_links: bool
) -> int:
    flags |= _NEVER_WAITS
    stays = 0 if follows_links else os.O_NOFOLLOW
    if not (IS_LINUX and Path(OPEN_DESCRIPTORS).is_dir()):
        status = os.stat(name, dir_fd=parent, follow_symlinks=follows_links)
        _check_regular(status, flags, path)
        descriptor = os.open(name, flags | stays, dir_fd=parent)
        try:
            _check_regular(os.fstat(descriptor), flags, path)
        except BaseException:
            os.close(descriptor)
            raise
        os.set_blocking(descriptor, True)
        return descriptor
    # To open a device is to use it already: it is looked at before it is opened.
    pinned = os.open(name, PINNED | stays, dir_fd=parent)
    try:
        _check_regular(os.fstat(pinned), flags, path)
        # A child that inherits it expects to wait, as everywhere.
        descriptor = os.open(f"{OPEN_DESCRIPTORS}/{pinned}", flags)
        os.set_blocking(descriptor, True)
        return descriptor
    finally:
        os.close(pinned)


def _check_regular(status: os.stat_result, flags: int, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        number = errno.ELOOP if stat.S_ISLNK(status.st_mode) else errno.EINVAL
        kind = _kind(status.st_mode)
        raise OSError(number, f"it is {kind}, not a regular file", str(path))
    if flags & _WRITES and status.st_nlink > 1:
        raise OSError(
            errno.EMLINK, "it has another hard link and is not written to", str(path)
        )


def _kind(mode: int) -> str:
    return next((kind for test, kind in _KINDS if test(mode)), "of an unknown type")


# -- beneath a directory


class DirectoryRoot(Struct, frozen=True):
    """A directory that is trusted, and paths beneath it, which are not.

    As with `os.Root` of Go nothing outside of it is reached, however the tree changes
    meanwhile; unlike there no link is followed at all. Paths are relative to it. Every
    method raises `OSError` for what the system refuses, with the whole path, and
    `ContainerRuntimeError` for a path that cannot be beneath it.

    Attributes:
        path: the directory itself; links that lead to it are followed.
    """

    path: Path

    def open_directory(
        self, relative: str | PurePath = "", *, make_mode: int | None = None
    ) -> int:
        """Open a directory and return its descriptor, which the caller closes.

        On Linux it only refers to the directory (`O_PATH`).

        Args:
            relative: which one.
            make_mode: directories that are missing are made with exactly this mode;
                None makes none.
        """
        descriptor = os.open(self.path, DIRECTORY)
        path = self.path
        try:
            for name in _components(relative):
                path /= name
                beneath = _step(descriptor, name, path, make_mode)
                os.close(descriptor)
                descriptor = beneath
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def make_directories(self, relative: str | PurePath, mode: int) -> None:
        """Make a directory and those that lead to it; those that exist stay as is."""
        os.close(self.open_directory(relative, make_mode=mode))

    def make_directory(self, relative: str | PurePath, mode: int) -> None:
        """Make one directory that is not there yet, with exactly this mode."""
        with self._parent(relative) as (parent, name, path):
            with _named(path):
                os.mkdir(name, OWNER_ALL, dir_fd=parent)
            descriptor = _step(parent, name, path, None)
            try:
                set_pinned_mode(descriptor, mode)
            finally:
                os.close(descriptor)

    def open_path(self, relative: str | PurePath) -> int:
        """Return a descriptor of a file of any kind, a link excepted, unopened.

        Where there is no `O_PATH` (macOS) it is open for reading.
        """
        if not _components(relative):
            return self.open_directory()
        with self._parent(relative) as (parent, name, path), _named(path):
            flags = PINNED | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(name, flags, dir_fd=parent)
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise OSError(errno.ELOOP, "a symbolic link is not followed")
            return descriptor

    def resolve(self, relative: str | PurePath) -> PurePath:
        """Return a path beneath, with the links in it resolved as they are now.

        What is opened by it afterwards is still reached without following links.

        Raises:
            ContainerRuntimeError: the links lead out of this directory.

        Source: pkg/volume/util/subpath/subpath_linux.go, v1.32.10,
        safeOpenSubPath, doBindSubPath.
        """
        root = os.path.realpath(self.path)
        status = os.path.realpath(self.path.joinpath(*_components(relative)))
        if os.path.commonpath([root, status]) != root:
            raise ContainerRuntimeError(
                f"{_quoted(str(relative))} leads out of {self.path}, to {status}"
            )
        return PurePath(status).relative_to(root)

    def exists(self, relative: str | PurePath) -> bool:
        """Return whether there is anything, be it a link that leads nowhere."""
        try:
            os.close(self.open_path(relative))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            if error.errno == errno.ELOOP:
                return self.read_link(relative) is not None
            raise
        return True

    def is_directory(self, relative: str | PurePath) -> bool:
        """Return whether it is a directory; a link to one is none."""
        try:
            os.close(self.open_directory(relative))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            if error.errno == errno.ELOOP:
                return False
            raise
        return True

    def names(self, relative: str | PurePath = "") -> list[str]:
        """Return what is in a directory, sorted."""
        with contextlib.ExitStack() as stack:
            pinned = self.open_directory(relative)
            stack.callback(os.close, pinned)
            readable = open_readable(pinned)
            stack.callback(os.close, readable)
            return sorted(os.listdir(readable))

    def open_file(
        self, relative: str | PurePath, flags: int = os.O_RDONLY, mode: int = 0o600
    ) -> int:
        """Open a regular file and return its descriptor, which the caller closes.

        One that is made has exactly `mode`. One that has another hard link is not
        opened for writing: that link may be a file of the user's.
        """
        with self._parent(relative) as (parent, name, path), _named(path):
            if not flags & os.O_CREAT:
                return _open_regular(name, parent, flags, path, follows_links=False)
            kept = flags & ~os.O_CREAT
            new = flags | os.O_EXCL | os.O_NOFOLLOW | _NEVER_WAITS
            while True:
                try:
                    descriptor = os.open(name, new, mode, dir_fd=parent)
                except FileExistsError:
                    if flags & os.O_EXCL:
                        raise
                else:
                    os.fchmod(descriptor, mode)
                    return descriptor
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    return _open_regular(name, parent, kept, path, follows_links=False)

    def read_file(self, relative: str | PurePath, limit: int) -> bytes:
        """Return the first `limit` bytes of a regular file."""
        with os.fdopen(self.open_file(relative), "rb") as file:
            return file.read(limit)

    def read_end(self, relative: str | PurePath, limit: int) -> bytes:
        """Return the last `limit` bytes of a regular file, however long it is."""
        with os.fdopen(self.open_file(relative), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - limit, 0))
            return file.read(limit)

    def create_file(self, relative: str | PurePath, content: bytes, mode: int) -> None:
        """Make a file that is not there yet."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(self.open_file(relative, flags, mode), "wb") as file:
            file.write(content)

    def replace_file(self, relative: str | PurePath, content: bytes, mode: int) -> None:
        """Put a new file in place of what has this name; readers never see half."""
        with self._parent(relative) as (parent, name, path), _named(path):
            fresh = f".{name[:200]}.{os.urandom(6).hex()}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            descriptor = os.open(fresh, flags | _NEVER_WAITS, mode, dir_fd=parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    os.fchmod(descriptor, mode)
                    file.write(content)
                os.replace(fresh, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(fresh, dir_fd=parent)
                raise

    def sync_file(self, relative: str | PurePath) -> None:
        """Have the disk write a file and its name; it may take long."""
        with self._parent(relative) as (parent, name, path), _named(path):
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            # Some file systems cannot do so with a directory, as of a network.
            with contextlib.suppress(OSError):
                os.fsync(parent)

    def symlink(self, relative: str | PurePath, target: str | PurePath) -> None:
        """Make a link; what has its name already is not replaced."""
        with self._parent(relative) as (parent, name, path), _named(path):
            os.symlink(target, name, dir_fd=parent)

    def read_link(self, relative: str | PurePath) -> str | None:
        """Return where a link leads, None for anything else."""
        with self._parent(relative) as (parent, name, path), _named(path):
            try:
                return os.readlink(name, dir_fd=parent)
            except OSError as error:
                if error.errno in {errno.EINVAL, errno.ENOENT}:
                    return None
                raise

    def rename(self, relative: str | PurePath, name: str) -> None:
        """Give another name in the same directory; what has it is replaced."""
        check_component(name)
        with self._parent(relative) as (parent, before, path), _named(path):
            os.replace(before, name, src_dir_fd=parent, dst_dir_fd=parent)

    def unlink(self, relative: str | PurePath, *, missing_ok: bool = False) -> None:
        """Remove one file or link."""
        try:
            with self._parent(relative) as (parent, name, path), _named(path):
                os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def remove_directory(self, relative: str | PurePath) -> None:
        """Remove a directory that is empty."""
        with self._parent(relative) as (parent, name, path), _named(path):
            os.rmdir(name, dir_fd=parent)

    def remove_tree(
        self, relative: str | PurePath, *, last: Collection[str] = ()
    ) -> None:
        """Remove a file, or a directory with all that is in it; missing is fine.

        Nothing is removed beyond a mount point and nothing is unmounted. It may take
        long: on an event loop it belongs into a thread.

        Args:
            relative: what to remove.
            last: names in that directory that are removed only once all else is, so
                that what says whose it is stays as long as anything of it does.

        Raises:
            IncompleteRemovalError: something could not be removed; all else is.
        """
        try:
            with self._parent(relative) as (parent, _, path):
                if last:
                    TreeRemoval(parent, path, frozenset(last)).run()
                TreeRemoval(parent, path).run()
        except FileNotFoundError:
            return

    def give_to_group(
        self, relative: str | PurePath, group: int, *, modes: tuple[int, int]
    ) -> None:
        """Give a tree to a group, with modes that files and directories get as well.

        Links are not followed. What is mounted in it, and files with other hard links,
        stay as they are.
        """
        with self._parent(relative) as (parent, _, path):
            GroupChange(parent, path, group, modes).run()

    @contextlib.contextmanager
    def _parent(self, relative: str | PurePath) -> Iterator[tuple[int, str, Path]]:
        """Yield the directory in which something is, its name, its whole path."""
        *above, name = _components(relative) or [""]
        if not name:
            raise ContainerRuntimeError(f"{self.path} itself is left as it is")
        descriptor = self.open_directory("/".join(above))
        try:
            yield descriptor, name, self.path.joinpath(*above, name)
        finally:
            os.close(descriptor)


def _step(parent: int, name: str, path: Path, make_mode: int | None) -> int:
    """Open a directory in another one, made if it is missing and that is asked for."""
    is_made = False
    if make_mode is not None:
        with _named(path), contextlib.suppress(FileExistsError):
            os.mkdir(name, OWNER_ALL, dir_fd=parent)
            is_made = True
    try:
        descriptor = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        raise _explained(error, parent, name, path) from error
    if is_made and make_mode is not None:
        try:
            # Another one may have taken its place since.
            if os.fstat(descriptor).st_uid == os.geteuid():
                set_pinned_mode(descriptor, make_mode)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def _explained(error: OSError, parent: int, name: str, path: Path) -> OSError:
    """Return what to raise when a component cannot be opened as a directory."""
    with contextlib.suppress(OSError):
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            text = "a symbolic link is not followed"
            return OSError(errno.ELOOP, text, str(path))
    return OSError(error.errno, error.strerror, str(path))


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Have errors name a whole path; calls by descriptor know its last part only."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
