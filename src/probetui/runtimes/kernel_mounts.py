"""mount(2), umount2(2) and the mount points of this machine."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from probetui.untrusted_files import read_kernel_file

if TYPE_CHECKING:
    import ctypes

MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(rb"\\([0-7]{3})")

STATUS = Path("/proc/self/status")
CAP_SYS_ADMIN = 21
_EFFECTIVE = re.compile(rb"^CapEff:\s*([0-9a-f]+)$", re.MULTILINE)
"""The capabilities that the kernel checks (proc_pid_status(5))."""

BIND = 4096
DETACH = 2
"""MNT_DETACH: unmount even if files are open there."""

NO_FOLLOW = 8
"""UMOUNT_NOFOLLOW: do not follow a symbolic link."""


def may_mount() -> bool:
    """Return whether this process has CAP_SYS_ADMIN; root in a container may not.

    False where /proc does not show it.
    """
    try:
        match = _EFFECTIVE.search(read_kernel_file(STATUS))
    except OSError:
        return False
    return match is not None and bool(int(match[1], 16) >> CAP_SYS_ADMIN & 1)


def mount_file_system(kind: str, target: Path, options: str) -> None:
    """Mount a file system without a device; raises `OSError`."""
    name = kind.encode()
    result = _libc().mount(name, os.fsencode(target), name, 0, options.encode())
    _check(result, target)


def bind_descriptor(descriptor: int, target: Path) -> None:
    """Bind-mount the file of a descriptor, whatever its path is now.

    Raises `OSError`.
    """
    source = f"/proc/self/fd/{descriptor}".encode()
    _check(_libc().mount(source, os.fsencode(target), None, BIND, None), target)


def mounts_at(target: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Return the file systems mounted at a path, and the mount points beneath it.

    The first are types, the visible one last. Raises `OSError` without /proc.
    """
    kinds, beneath = [], []
    real = Path(os.path.realpath(target))
    for line in read_kernel_file(MOUNTS).splitlines():
        before, _, after = line.partition(b" - ")
        point = Path(os.fsdecode(_unescaped(before.split()[4])))
        if point == real:
            kinds.append(os.fsdecode(after.split()[0]))
        elif point.is_relative_to(real):
            beneath.append(point)
    return tuple(kinds), tuple(beneath)


def _unescaped(text: bytes) -> bytes:
    """Decode a path whose special characters are escaped in octal."""
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), text)


def unmount(target: Path) -> bool:
    """Unmount the last mount at a path; False if it is no mount point.

    Raises `OSError`.
    """
    if _libc().umount2(os.fsencode(target), DETACH | NO_FOLLOW) == 0:
        return True
    if _last_error() == errno.EINVAL:  # no mount point
        return False
    raise _error(target)


def _libc() -> ctypes.CDLL:
    # Late: few sessions mount anything.
    import ctypes  # noqa: PLC0415

    return ctypes.CDLL(None, use_errno=True)


def _last_error() -> int:
    import ctypes  # noqa: PLC0415  # as above

    return ctypes.get_errno()


def _check(result: int, target: Path) -> None:
    if result:
        raise _error(target)


def _error(target: Path) -> OSError:
    number = _last_error()
    return OSError(number, os.strerror(number), str(target))
