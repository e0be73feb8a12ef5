"""Outputs that a user names: records, reports, logs, kubeconfigs.

The name may be a slip of the keyboard: a manifest, the record that is being replayed, a
thesis. So an existing file is written to only if it is empty or of the kind that is
about to be written, and never if this process has read it or writes something else to
it, by whatever name. A file of ours is replaced, not emptied: the new one is written
beside it and gets its name once there is something in it. What is no regular file (a
pipe, a terminal, /dev/null) is written to as it is.

Who writes a file for as long as a session lasts holds its lock, so that two sessions
never share one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from probetui.untrusted_files import (
    FILE_CLAIMS,
    DirectoryRoot,
    claim_file,
    open_output,
    open_regular,
    read_regular,
)

_HEAD_BYTES = 1 << 20
"""This much of a file tells its kind."""

_OWNER_ONLY = 0o600
_MODE_BITS = 0o777
_APPENDS = os.O_CREAT | os.O_APPEND


class OutputKind(Struct, frozen=True):
    """What a command writes to files that users name.

    Attributes:
        name: for messages, with its article.
        is_ours: whether the beginning of a file is of this kind.
    """

    name: str
    is_ours: Callable[[bytes], bool]


def check_output(path: Path, kind: OutputKind) -> os.stat_result | None:
    """Return the status of the regular file that an output replaces, None if none.

    Raises:
        OSError: the file is an input, another output, or not of this kind.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    claim = FILE_CLAIMS.get((status.st_dev, status.st_ino), kind.name)
    if claim != kind.name:
        raise _refusal(path, f"this command uses the file as {claim}")
    if status.st_size and not kind.is_ours(_head(path)):
        raise _refusal(path, f"the file exists and is not {kind.name}")
    return status


def replace_output(
    path: Path, kind: OutputKind, content: bytes, mode: int | None = None
) -> None:
    """Write a whole output; readers never see half of it.

    Args:
        path: the file, as the user named it.
        kind: what is written.
        content: all of it.
        mode: of the file; None for that of the file it replaces, or its owner's only.

    Raises:
        OSError: the file must not be replaced, or the system refuses.
    """
    existing = check_output(path, kind)
    if existing is None and path.exists():
        with os.fdopen(open_output(path, 0), "wb") as file:
            file.write(content)
        return
    target = Path(os.path.realpath(path))
    if mode is None:
        mode = _OWNER_ONLY if existing is None else existing.st_mode & _MODE_BITS
    DirectoryRoot(target.parent).replace_file(target.name, content, mode)


class AppendedFile:
    """A file that is written to the end of.

    A regular file that is open for appending and was removed or shortened by somebody
    else is not written to any more: what follows would be read by nobody, or lack its
    beginning.

    Args:
        descriptor: the file, open for writing.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size

    @property
    def _appends(self) -> bool:
        """Whether bytes go to the end, wherever that is."""
        flags: int = fcntl.fcntl(self._descriptor, fcntl.F_GETFL)
        return bool(flags & os.O_APPEND)

    def write(self, data: bytes) -> int:
        """Append bytes and return how many were written.

        Raises:
            OSError: somebody removed or shortened the file, or the system refuses.
        """
        facts = os.fstat(self._descriptor)
        if stat.S_ISREG(facts.st_mode) and self._appends:
            if not facts.st_nlink:
                raise OSError(errno.ENOENT, "the file was removed meanwhile")
            if facts.st_size < self._size:
                raise OSError(errno.ESTALE, "the file was cut short meanwhile")
        written = os.write(self._descriptor, data)
        self._size += written
        return written

    def take_back(self, count: int) -> None:
        """Remove the last bytes of what was written, if it is a regular file."""
        facts = os.fstat(self._descriptor)
        if count and stat.S_ISREG(facts.st_mode):
            self._size -= count
            os.ftruncate(self._descriptor, facts.st_size - count)

    def close(self) -> None:
        """Close the file, which ends its lock."""
        os.close(self._descriptor)


class OutputFile(AppendedFile):
    """A file that is written for as long as a session lasts, and locked meanwhile.

    A file of the same kind is kept until the first bytes are written.

    Args:
        path: the file, as the user named it.
        kind: what is written.

    Raises:
        OSError: the file must not be written, another session writes it, or the system
            refuses.
    """

    def __init__(self, path: Path, kind: OutputKind) -> None:
        self._path = path
        self._kind = kind
        self._is_replacing = False
        super().__init__(self._open())
        claim_file(self._descriptor, kind.name)

    def write(self, data: bytes) -> int:
        """Append bytes and return how many were written.

        Raises:
            OSError: somebody removed or shortened the file, or the system refuses.
        """
        if self._is_replacing:
            self._replace()
        return super().write(data)

    def _open(self) -> int:
        """Open and lock the file that is there, or a new one."""
        while True:
            existing = check_output(self._path, self._kind)
            self._is_replacing = existing is not None and existing.st_size > 0
            if self._is_replacing:
                # Only to hold its lock: two sessions must not both replace it.
                descriptor = open_regular(self._path, claim=self._kind.name)
            else:
                descriptor = open_output(self._path, _APPENDS, _OWNER_ONLY)
            try:
                if self._is_still_named(descriptor):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _is_still_named(self, descriptor: int) -> bool:
        """Lock a file; return whether it still is what was checked."""
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return True
        _lock(descriptor, self._path)
        with suppress(FileNotFoundError):
            named = os.stat(self._path)
            is_filled = named.st_size > 0
            return os.path.samestat(named, facts) and is_filled == self._is_replacing
        return False

    def _replace(self) -> None:
        """Begin a new file in place of the earlier one of this kind."""
        target = Path(os.path.realpath(self._path))
        mode = os.fstat(self._descriptor).st_mode & _MODE_BITS
        if not os.path.samestat(os.fstat(self._descriptor), os.stat(target)):
            raise OSError(errno.ESTALE, "the file was replaced meanwhile")
        root = DirectoryRoot(target.parent)
        fresh = f".{target.name[:200]}.{os.urandom(6).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        descriptor = root.open_file(fresh, flags, mode)
        try:
            _lock(descriptor, self._path)
            root.rename(fresh, target.name)
        except BaseException:
            os.close(descriptor)
            root.unlink(fresh, missing_ok=True)
            raise
        os.close(self._descriptor)
        self._is_replacing = False
        self._descriptor, self._size = descriptor, 0
        claim_file(descriptor, self._kind.name)


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _refusal(path, "another session is writing the file") from error
    except OSError:
        return  # a file system without locks


def _head(path: Path) -> bytes:
    return read_regular(path, _HEAD_BYTES, claim=None)


def _refusal(path: Path, reason: str) -> OSError:
    return OSError(errno.EEXIST, f"{reason}; name another one", str(path))
