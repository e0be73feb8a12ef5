"""Volumes that live in memory: file systems of their own, mounted on this machine.

Source: pkg/volume/emptydir/empty_dir.go, v1.32.10, setupTmpfs,
teardownTmpfsOrHugetlbfs.
"""

from __future__ import annotations

import ctypes
import os
from decimal import Decimal
from pathlib import Path

TMPFS = b"tmpfs"
MODE = "mode=777"
DETACH = 2
"""Unmount at once, whoever still has something open there."""


def mount_memory(folder: Path, size_limit: Decimal | None) -> None:
    """Have a folder live in memory; one that does already keeps what is in it.

    Raises `OSError` for what the system refuses.
    """
    if folder.is_mount():
        return
    options = [MODE]
    if size_limit:
        options.append(f"size={int(size_limit)}")
    data = ",".join(options).encode()
    _check(_libc().mount(TMPFS, os.fsencode(folder), TMPFS, 0, data), folder)


def unmount_memory(folder: Path) -> None:
    """Let go of a folder that lives in memory; any other one stays as it is."""
    if folder.is_mount():
        _check(_libc().umount2(os.fsencode(folder), DETACH), folder)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, folder: Path) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(folder))
