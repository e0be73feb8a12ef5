"""Volumes that belong to a group, for containers that run as other users.

Source: pkg/volume/volume_linux.go, v1.32.10, SetVolumeOwnership, changeFilePermission.
"""

from __future__ import annotations

import stat
from pathlib import Path

from probetui.untrusted_files import DirectoryRoot

READ_ONLY = 0o440
READ_WRITE = 0o660
FOLDER = stat.S_ISGID | 0o110


def give_to_group(volume: Path, group: int, *, may_write: bool) -> None:
    """Let a group have a volume, with all that is in it; links are not followed.

    Nor is anything changed that is mounted in it, or that has another hard link.
    Raises `OSError` for what the system refuses.
    """
    rights = READ_WRITE if may_write else READ_ONLY
    DirectoryRoot(volume.parent).give_to_group(
        volume.name, group, modes=(rights, rights | FOLDER)
    )
