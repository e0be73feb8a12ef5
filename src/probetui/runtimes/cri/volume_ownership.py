"""Volumes that belong to a group, for containers that run as other users.

Source: pkg/volume/volume_linux.go, v1.32.10, SetVolumeOwnership, changeFilePermission.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

READ_ONLY = 0o440
READ_WRITE = 0o660
FOLDER = stat.S_ISGID | 0o110


def give_to_group(root: Path, group: int, *, may_write: bool) -> None:
    """Let a group have a volume, with all that is in it; links are not followed.

    Raises `OSError` for what the system refuses.
    """
    rights = READ_WRITE if may_write else READ_ONLY
    _give(root, group, rights)
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            _give(Path(folder, name), group, rights)


def _give(path: Path, group: int, rights: int) -> None:
    found = path.lstat()
    os.lchown(path, -1, group)
    if stat.S_ISLNK(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        rights |= FOLDER
    path.chmod(stat.S_IMODE(found.st_mode) | rights)
