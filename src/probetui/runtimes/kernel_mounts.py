"""mount(2) and umount2(2) of this machine's kernel."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

BIND = 4096
DETACH = 2
"""Unmount at once, whoever still has something open there."""

NO_FOLLOW = 8
"""Do not unmount what a symbolic link leads to."""


def mount_file_system(kind: str, target: Path, options: str) -> None:
    """Mount a file system that has no device; raises `OSError`."""
    name = kind.encode()
    found = _libc().mount(name, os.fsencode(target), name, 0, options.encode())
    _check(found, target)


def bind_descriptor(descriptor: int, target: Path) -> None:
    """Let what a descriptor refers to appear at another path; raises `OSError`.

    The kernel takes the descriptor's file itself: what its path leads to by now does
    not matter.
    """
    source = f"/proc/self/fd/{descriptor}".encode()
    _check(_libc().mount(source, os.fsencode(target), None, BIND, None), target)


def unmount(target: Path) -> bool:
    """Unmount what is mounted last at a path; False if nothing is.

    Raises `OSError`.
    """
    if _libc().umount2(os.fsencode(target), DETACH | NO_FOLLOW) == 0:
        return True
    if ctypes.get_errno() == errno.EINVAL:  # no mount point
        return False
    raise _error(target)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, target: Path) -> None:
    if result:
        raise _error(target)


def _error(target: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(target))
