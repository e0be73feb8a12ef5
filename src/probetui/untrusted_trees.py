"""Walks of a directory tree that others may change: removal, change of the group.

A walk goes by descriptors, follows no symbolic link and stays on the mount on which it
began. `DirectoryRoot` of `untrusted_files` begins one.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from probetui.errors import IncompleteRemovalError

log = logging.getLogger(__name__)

MAX_NAMED = 20
"""How many of the paths that a removal left are named; the others are counted."""

_BATCH = 1024
"""How many names of a directory are in memory at once while it is removed."""

_MOST_REFILLS = 100
"""How often a removal empties directories again that somebody else writes into."""

OWNER_ALL = 0o700
IS_LINUX = sys.platform == "linux"
PINNED = getattr(os, "O_PATH", os.O_RDONLY)
"""Refers to a file without opening it, where the system can do that."""

DIRECTORY = PINNED | os.O_DIRECTORY
OPEN_DESCRIPTORS = "/proc/self/fd"


def open_readable(pinned: int) -> int:
    """Return a descriptor of the same directory whose entries can be listed."""
    return os.open(".", os.O_RDONLY, dir_fd=pinned)


def set_pinned_mode(pinned: int, mode: int) -> None:
    """Set the mode of what a descriptor refers to, opened or not."""
    if IS_LINUX:
        # fchmod(2) refuses descriptors that only refer to a file.
        os.chmod(f"{OPEN_DESCRIPTORS}/{pinned}", mode)
    else:
        os.fchmod(pinned, mode)


class Leftover(NamedTuple):
    """Something that a removal left, and why."""

    path: Path
    reason: str


class _Identity(Struct, frozen=True):
    """Which directory it is, and on which mount it was reached."""

    device: int
    inode: int
    mount: int


class _Level(Struct):
    """A directory that is being emptied, by its name in the one above.

    Attributes:
        name: empty for the first one, which is not emptied.
        identity: distinguishes it from another one of the same name.
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
        self._levels = [_Level("", _identity(parent), [(path.name, True)])]
        self._current = os.dup(parent)

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
            beneath = open_readable(pinned)
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
        pinned = os.open("..", DIRECTORY, dir_fd=self._current)
        try:
            if _identity(pinned) != self._levels[-2].identity:
                raise OSError(errno.ESTALE, "it was moved meanwhile")
            return open_readable(pinned) if self._levels[-2].name else os.dup(pinned)
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


class TreeRemoval(_TreeWalk):
    """Removes one tree, and names what it leaves, but not directories around that."""

    def __init__(
        self, parent: int, path: Path, spared: Collection[str] = frozenset()
    ) -> None:
        super().__init__(parent, path, spared)
        self._left: list[Leftover] = []
        self._count = 0
        self._refills = _MOST_REFILLS

    def run(self) -> None:
        """Remove what can be removed; raises `IncompleteRemovalError` for the rest."""
        super().run()
        if self._count:
            raise IncompleteRemovalError(self._left, self._count)

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
            if error.errno == errno.ENOTEMPTY and self._refills:
                # Its owner wrote there meanwhile, as the end of a container that was
                # killed to remove it.
                self._refills -= 1
                self._levels[-1].pending.append((done.name, True))
            else:
                self._leave(done.name, _reason(error))

    def _skip(self, name: str, reason: str) -> None:
        self._leave(name, reason)

    def _leave(self, name: str, reason: str) -> None:
        self._levels[-1].kept.add(name)
        self._count += 1
        if len(self._left) < MAX_NAMED:
            self._left.append(Leftover(self._path(name), reason))


class GroupChange(_TreeWalk):
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
        self._give_to_group(pinned, self._directory_mode)

    def _visit(self, name: str) -> None:
        try:
            pinned = os.open(name, PINNED | os.O_NOFOLLOW, dir_fd=self._current)
        except FileNotFoundError:
            return
        try:
            status = os.fstat(pinned)
            if stat.S_ISLNK(status.st_mode):
                gid = self._group
                os.chown(name, -1, gid, dir_fd=self._current, follow_symlinks=False)
            elif (
                status.st_nlink == 1
                and _mount(pinned) == self._levels[-1].identity.mount
            ):
                self._give_to_group(pinned, self._file_mode)
        finally:
            os.close(pinned)

    def _end(self, done: _Level) -> None:
        pass

    def _skip(self, name: str, reason: str) -> None:
        log.info("%s is left as it is: %s", self._path(name), reason)

    def _leave(self, name: str, reason: str) -> None:
        raise OSError(f"{self._path(name)}: {reason}")

    def _give_to_group(self, pinned: int, mode: int) -> None:
        path = f"{OPEN_DESCRIPTORS}/{pinned}"
        before = stat.S_IMODE(os.fstat(pinned).st_mode)
        os.chown(path, -1, self._group)
        os.chmod(path, before | mode)


def _pin_directory(name: str, parent: int, device: int) -> int:
    """Refer to a directory; raises `NotADirectoryError` for anything else."""
    flags = DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if IS_LINUX or not is_ours or status.st_dev != device:
            raise
        # Without O_PATH a descriptor takes the right to read.
        os.chmod(name, OWNER_ALL, dir_fd=parent, follow_symlinks=False)
        return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError from error
        raise


def _reason(error: OSError) -> str:
    if error.errno == errno.EBUSY:
        return "it is a mount point, here or for another process"
    return error.strerror or str(error)


def _make_removable(pinned: int) -> None:
    """Let the owner, if that is us, list a directory and remove what is in it."""
    status = os.fstat(pinned)
    is_closed = status.st_mode & OWNER_ALL != OWNER_ALL
    if is_closed and status.st_uid == os.geteuid():
        set_pinned_mode(pinned, OWNER_ALL)


def _identity(descriptor: int) -> _Identity:
    status = os.fstat(descriptor)
    return _Identity(status.st_dev, status.st_ino, _mount(descriptor))


def _mount(descriptor: int) -> int:
    """Return the ID of the mount on which something was reached (proc(5), fdinfo).

    Two mounts of one file system have the same device. Raises `OSError` where it is
    not known: then nothing is removed. Other systems than Linux have no bind mounts.
    """
    if not IS_LINUX:
        return 0
    with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
        for line in file:
            if line.startswith(b"mnt_id:"):
                return int(line.split()[1])
    raise OSError(errno.ENOSYS, "the kernel does not tell mounts apart")
