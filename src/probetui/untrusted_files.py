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
import logging
import os
import re
import secrets
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import NamedTuple

from probetui.errors import ContainerRuntimeError, LeftBehindError

log = logging.getLogger(__name__)

MAX_NAME_BYTES = 255
MAX_NAMED = 20
"""How many of the paths that a removal left are kept; the others are counted."""

_BATCH = 1024
"""How many names of a directory are in memory at once while it is removed."""

_OWNER_ALL = 0o700
_IS_LINUX = sys.platform == "linux"
_PINNED = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC
"""Refers to a file without opening it, where the system can do that."""

_DIRECTORY = _PINNED | os.O_DIRECTORY
_NEVER_WAITS = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITES = os.O_WRONLY | os.O_RDWR
_OPEN_DESCRIPTORS = "/proc/self/fd"

_HANDED_OVER = re.compile(r"/dev/(?:stdin|fd/\d+)|/proc/self/fd/\d+")
"""Names of descriptors that this process was started with."""

USUAL_DIRECTORY_MODE = 0o777

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
    printable = name.encode("utf-8", "backslashreplace").decode()
    return '"' + "".join(it if it.isprintable() else "?" for it in printable) + '"'


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


def open_regular(path: Path) -> int:
    """Open a file for reading that a user named; links are followed.

    A FIFO, a socket or a device is refused without being opened: opening one may wait
    for ever, or do something. A pipe that the shell has handed over, as `<(command)`,
    is none of these.

    Raises:
        OSError: it is no regular file, or the system refuses.
    """
    if _HANDED_OVER.fullmatch(str(path)):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return _open_regular(str(path), None, os.O_RDONLY, path, follows_links=True)


def read_regular(path: Path, limit: int = -1) -> bytes:
    """Read a file that a user named, or its first bytes; see `open_regular`."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(limit)


def _open_regular(
    name: str, parent: int | None, flags: int, path: Path, *, follows_links: bool
) -> int:
    flags |= _NEVER_WAITS
    stays = 0 if follows_links else os.O_NOFOLLOW
    if not (_IS_LINUX and Path(_OPEN_DESCRIPTORS).is_dir()):
        found = os.stat(name, dir_fd=parent, follow_symlinks=follows_links)
        _check_regular(found, flags, path)
        descriptor = os.open(name, flags | stays, dir_fd=parent)
        try:
            _check_regular(os.fstat(descriptor), flags, path)
        except BaseException:
            os.close(descriptor)
            raise
        os.set_blocking(descriptor, True)
        return descriptor
    # To open a device is to use it already: it is looked at before it is opened.
    pinned = os.open(name, _PINNED | stays, dir_fd=parent)
    try:
        _check_regular(os.fstat(pinned), flags, path)
        # A child that inherits it expects to wait, as everywhere.
        descriptor = os.open(f"{_OPEN_DESCRIPTORS}/{pinned}", flags)
        os.set_blocking(descriptor, True)
        return descriptor
    finally:
        os.close(pinned)


def _check_regular(found: os.stat_result, flags: int, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        number = errno.ELOOP if stat.S_ISLNK(found.st_mode) else errno.EINVAL
        kind = _kind(found.st_mode)
        raise OSError(number, f"it is {kind}, not a regular file", str(path))
    if flags & _WRITES and found.st_nlink > 1:
        raise OSError(
            errno.EMLINK, "it has another hard link and is not written to", str(path)
        )


def _kind(mode: int) -> str:
    return next((kind for test, kind in _KINDS if test(mode)), "of an unknown type")


# -- beneath a directory


@dataclass(frozen=True, slots=True)
class DirectoryRoot:
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
        descriptor = os.open(self.path, _DIRECTORY)
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
                os.mkdir(name, _OWNER_ALL, dir_fd=parent)
            descriptor = _step(parent, name, path, None)
            try:
                _change_mode(descriptor, mode)
            finally:
                os.close(descriptor)

    def open_path(self, relative: str | PurePath) -> int:
        """Return a descriptor of a file of any kind, a link excepted, unopened.

        Where there is no `O_PATH` (macOS) it is open for reading.
        """
        if not _components(relative):
            return self.open_directory()
        with self._parent(relative) as (parent, name, path), _named(path):
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                raise OSError(errno.ELOOP, "a symbolic link is not followed")
            flags = _PINNED | os.O_NOFOLLOW | os.O_NONBLOCK
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
        found = os.path.realpath(self.path.joinpath(*_components(relative)))
        if os.path.commonpath([root, found]) != root:
            raise ContainerRuntimeError(
                f"{_quoted(str(relative))} leads out of {self.path}, to {found}"
            )
        return PurePath(found).relative_to(root)

    def exists(self, relative: str | PurePath) -> bool:
        """Tell whether there is anything, be it a link that leads nowhere."""
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
        """Tell whether it is a directory; a link to one is none."""
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
            readable = _readable(pinned)
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
            kept = flags & ~(os.O_CREAT | os.O_EXCL)
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
            fresh = f".{name[:200]}.{secrets.token_hex(6)}"
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

    def change_mode(self, relative: str | PurePath, mode: int) -> None:
        """Set the mode of a directory or a regular file, never through a link."""
        descriptor = self.open_path(relative)
        try:
            found = os.fstat(descriptor).st_mode
            path = self.path / relative
            if not (stat.S_ISDIR(found) or stat.S_ISREG(found)):
                raise OSError(errno.EINVAL, f"it is {_kind(found)}", str(path))
            with _named(path):
                _change_mode(descriptor, mode)
        finally:
            os.close(descriptor)

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
            LeftBehindError: something could not be removed; all else is.
        """
        try:
            with self._parent(relative) as (parent, _, path):
                if last:
                    _Removal(parent, path, frozenset(last)).run()
                _Removal(parent, path).run()
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
            _GroupChange(parent, path, group, modes).run()

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
            os.mkdir(name, _OWNER_ALL, dir_fd=parent)
            is_made = True
    try:
        descriptor = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        raise _explained(error, parent, name, path) from error
    if is_made and make_mode is not None:
        try:
            # Another one may have taken its place since.
            if os.fstat(descriptor).st_uid == os.geteuid():
                _change_mode(descriptor, make_mode)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def _explained(error: OSError, parent: int, name: str, path: Path) -> OSError:
    """Return what to raise when a component cannot be opened as a directory."""
    with contextlib.suppress(OSError):
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
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


def _readable(pinned: int) -> int:
    """Return a descriptor of the same directory whose entries can be listed."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    return os.open(".", flags, dir_fd=pinned)


def _change_mode(pinned: int, mode: int) -> None:
    """Set the mode of what a descriptor refers to, opened or not."""
    if _IS_LINUX:
        # fchmod(2) refuses descriptors that only refer to a file.
        os.chmod(f"{_OPEN_DESCRIPTORS}/{pinned}", mode)
    else:
        os.fchmod(pinned, mode)


# -- removal


class LeftBehind(NamedTuple):
    """Something that a removal left, and why."""

    path: Path
    reason: str


class _Identity(NamedTuple):
    """Which directory it is, and on which mount it was reached."""

    device: int
    inode: int
    mount: int


@dataclass(slots=True)
class _Level:
    """A directory that is being emptied, by its name in the one above.

    Attributes:
        name: empty for the first one, which is not emptied.
        identity: tells it from another one of the same name.
        pending: names that are to be removed, and whether they seem to be directories.
        kept: names that stay.
    """

    name: str
    identity: _Identity
    pending: list[tuple[str, bool]] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)


class _TreeWalk(ABC):
    """Goes through one tree on one mount, with two descriptors however deep it is.

    The way up is `..`, compared with what was there on the way down. What is done with
    what is found is up to the methods below the line.
    """

    _enters_mount = False
    """The tree itself may be a mount point; what is mounted in it is left anyway."""

    def __init__(
        self, parent: int, path: Path, spared: Collection[str] = frozenset()
    ) -> None:
        self._folder = path.parent
        self._spared = spared
        self._current = os.dup(parent)
        self._levels = [_Level("", _identity(self._current), [(path.name, True)])]

    def run(self) -> None:
        """Go through all of it."""
        try:
            while True:
                level = self._levels[-1]
                if not level.pending and level.name:
                    level.pending = self._read(level)
                if level.pending:
                    name, is_directory = level.pending.pop()
                    if is_directory:
                        self._enter(name)
                    else:
                        self._visit(name)
                elif len(self._levels) == 1 or not self._go_up():
                    break
        finally:
            os.close(self._current)

    def _read(self, level: _Level) -> list[tuple[str, bool]]:
        """Return some names of the directory, not those that were kept."""
        names: list[tuple[str, bool]] = []
        with os.scandir(self._current) as entries:
            for entry in entries:
                if entry.name not in level.kept:
                    is_directory = entry.is_dir(follow_symlinks=False)
                    names.append((entry.name, is_directory))
                if len(names) == _BATCH:
                    break
        return names

    def _enter(self, name: str) -> None:
        """Begin with a directory, unless something is mounted there."""
        above = self._levels[-1].identity
        try:
            pinned = _pin_directory(name, self._current, above.device)
        except FileNotFoundError:
            return
        except NotADirectoryError:  # what is no directory, or is none any more
            self._visit(name)
            return
        except OSError as error:
            self._leave(name, _reason(error))
            return
        try:
            # Asked of the kernel, not of what is mounted: that may never answer.
            is_first = len(self._levels) == 1
            is_entered = is_first and self._enters_mount
            if not is_entered and _mount(pinned) != above.mount:
                self._skip(name, "it is a mount point")
                return
            identity = _identity(pinned)
            if not is_entered and identity.device != above.device:
                self._skip(name, "it is another file system")
                return
            self._begin(pinned)
            beneath = _readable(pinned)
        except OSError as error:
            self._leave(name, _reason(error))
            return
        finally:
            os.close(pinned)
        os.close(self._current)
        self._current = beneath
        kept = set(self._spared) if is_first else set()
        self._levels.append(_Level(name, identity, kept=kept))

    def _go_up(self) -> bool:
        """Go on in the directory above; False if there is none any more."""
        try:
            above = self._open_above()
        except FileNotFoundError:  # somebody else has removed all of it
            return False
        except OSError as error:
            self._leave("", _reason(error))
            return False
        done = self._levels.pop()
        os.close(self._current)
        self._current = above
        self._end(done)
        return True

    def _open_above(self) -> int:
        """Open the directory above, if it is still the one that was come from."""
        pinned = os.open("..", _DIRECTORY, dir_fd=self._current)
        try:
            if _identity(pinned) != self._levels[-2].identity:
                raise OSError(errno.ESTALE, "it was moved meanwhile")
            return _readable(pinned) if self._levels[-2].name else os.dup(pinned)
        finally:
            os.close(pinned)

    def _path(self, name: str) -> Path:
        names = (level.name for level in self._levels[1:])
        return self._folder.joinpath(*names, name)

    # -- what is done

    @abstractmethod
    def _begin(self, pinned: int) -> None:
        """Do something with a directory before what is in it."""

    @abstractmethod
    def _visit(self, name: str) -> None:
        """Do something with what is no directory."""

    @abstractmethod
    def _end(self, done: _Level) -> None:
        """Do something with a directory after what is in it."""

    @abstractmethod
    def _skip(self, name: str, reason: str) -> None:
        """Take note of another mount, which is not gone into."""

    @abstractmethod
    def _leave(self, name: str, reason: str) -> None:
        """Take note of what was refused; no name means the directory itself."""


class _Removal(_TreeWalk):
    """Removes one tree, and names what it leaves, but not directories around that."""

    def __init__(
        self, parent: int, path: Path, spared: Collection[str] = frozenset()
    ) -> None:
        super().__init__(parent, path, spared)
        self._left: list[LeftBehind] = []
        self._count = 0

    def run(self) -> None:
        """Remove all that can be removed; raises `LeftBehindError` for the rest."""
        super().run()
        if self._count:
            raise LeftBehindError(self._left, self._count)

    def _read(self, level: _Level) -> list[tuple[str, bool]]:
        try:
            return super()._read(level)
        except OSError as error:
            self._leave("", _reason(error))
            return []

    def _begin(self, pinned: int) -> None:
        _make_removable(pinned)

    def _visit(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._current)
        except FileNotFoundError:
            return
        except OSError as error:
            self._leave(name, _reason(error))

    def _end(self, done: _Level) -> None:
        if done.kept:
            self._levels[-1].kept.add(done.name)
            return
        try:
            os.rmdir(done.name, dir_fd=self._current)
        except FileNotFoundError:
            return
        except OSError as error:
            self._leave(done.name, _reason(error))

    def _skip(self, name: str, reason: str) -> None:
        self._leave(name, reason)

    def _leave(self, name: str, reason: str) -> None:
        self._levels[-1].kept.add(name)
        self._count += 1
        if len(self._left) < MAX_NAMED:
            self._left.append(LeftBehind(self._path(name), reason))


class _GroupChange(_TreeWalk):
    """Gives one tree to a group; mounts in it and files with other links stay."""

    _enters_mount = True

    def __init__(
        self, parent: int, path: Path, group: int, modes: tuple[int, int]
    ) -> None:
        super().__init__(parent, path)
        self._group = group
        self._file_mode, self._directory_mode = modes

    def _read(self, level: _Level) -> list[tuple[str, bool]]:
        names = super()._read(level)
        level.kept.update(name for name, _ in names)
        return names

    def _begin(self, pinned: int) -> None:
        self._give(pinned, self._directory_mode)

    def _visit(self, name: str) -> None:
        try:
            pinned = os.open(name, _PINNED | os.O_NOFOLLOW, dir_fd=self._current)
        except FileNotFoundError:
            return
        try:
            found = os.fstat(pinned)
            if stat.S_ISLNK(found.st_mode):
                gid = self._group
                os.chown(name, -1, gid, dir_fd=self._current, follow_symlinks=False)
            elif (
                found.st_nlink == 1
                and _mount(pinned) == self._levels[-1].identity.mount
            ):
                self._give(pinned, self._file_mode)
        finally:
            os.close(pinned)

    def _end(self, done: _Level) -> None:
        pass

    def _skip(self, name: str, reason: str) -> None:
        log.info("%s is left as it is: %s", self._path(name), reason)

    def _leave(self, name: str, reason: str) -> None:
        raise OSError(f"{self._path(name)}: {reason}")

    def _give(self, pinned: int, mode: int) -> None:
        path = f"{_OPEN_DESCRIPTORS}/{pinned}"
        before = stat.S_IMODE(os.fstat(pinned).st_mode)
        os.chown(path, -1, self._group)
        os.chmod(path, before | mode)


def _pin_directory(name: str, parent: int, device: int) -> int:
    """Refer to a directory; raises `NotADirectoryError` for anything else."""
    flags = _DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if _IS_LINUX or not is_ours or found.st_dev != device:
            raise
        # Without O_PATH a descriptor takes the right to read.
        os.chmod(name, _OWNER_ALL, dir_fd=parent, follow_symlinks=False)
        return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, error.strerror, name) from error
        raise


def _reason(error: OSError) -> str:
    if error.errno == errno.EBUSY:
        return "it is a mount point, here or for another process"
    return error.strerror or str(error)


def _make_removable(pinned: int) -> None:
    """Let the owner, if that is us, list a directory and remove what is in it."""
    found = os.fstat(pinned)
    is_closed = found.st_mode & _OWNER_ALL != _OWNER_ALL
    if is_closed and found.st_uid == os.geteuid():
        _change_mode(pinned, _OWNER_ALL)


def _identity(descriptor: int) -> _Identity:
    found = os.fstat(descriptor)
    return _Identity(found.st_dev, found.st_ino, _mount(descriptor))


def _mount(descriptor: int) -> int:
    """Return the ID of the mount on which something was reached (proc(5), fdinfo).

    Two mounts of one file system have the same device. Raises `OSError` where it is
    not known: then nothing is removed. Other systems than Linux have no bind mounts.
    """
    if not _IS_LINUX:
        return 0
    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
        for line in file:
            if line.startswith(b"mnt_id:"):
                return int(line.split()[1])
    raise OSError(errno.ENOSYS, "the kernel does not tell mounts apart")
