"""Volumes that live in memory: file systems of their own, mounted on this machine.

Source: pkg/volume/emptydir/empty_dir.go, v1.32.10, setupTmpfs,
teardownTmpfsOrHugetlbfs.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from probetui.errors import LeftBehindError
from probetui.runtimes.kernel_mounts import mount_file_system, mounts_at, unmount
from probetui.untrusted_files import MAX_NAMED, LeftBehind

TMPFS = "tmpfs"
MODE = "mode=777"


def mount_memory(folder: Path, size_limit: Decimal | None) -> None:
    """Have a folder live in memory; one that does already keeps what is in it.

    Raises `OSError` for what the system refuses.
    """
    if folder.is_mount():
        return
    options = [MODE]
    if size_limit:
        options.append(f"size={int(size_limit)}")
    mount_file_system(TMPFS, folder, ",".join(options))


def unmount_memory(folder: Path) -> None:
    """Let go of a folder that lives in memory; any other one stays as it is.

    Raises:
        LeftBehindError: something else is mounted on it or in it, which is left.
        OSError: the system refuses.
    """
    kinds, beneath = mounts_at(folder)
    if not kinds:
        return
    others = beneath if kinds == (TMPFS,) else (folder, *beneath)
    if others:
        left = [LeftBehind(it, "something is mounted there") for it in others]
        raise LeftBehindError(left[:MAX_NAMED], len(left))
    unmount(folder)
