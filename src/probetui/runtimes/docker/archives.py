"""Tar archives, which is how files get into and out of what Docker keeps.

Source: pkg/volume/util/atomic_writer.go, pkg/volume/volume_linux.go, v1.32.10, Write,
SetVolumeOwnership.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BufferedReader, BytesIO, RawIOBase
from typing import Any

from probetui.k8s.volume import VolumeFile

FOLDER_MODE = 0o755
LINK_MODE = 0o777
VOLUME_MODE = 0o777
SET_GROUP = 0o2000
GROUP_MAY_READ = 0o440
GROUP_MAY_ENTER = 0o110

DATA = "..data"
"""The link that leads to the files there are now."""

CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder; one that is there gets this mode."""

    path: str
    mode: int = FOLDER_MODE


@dataclass(frozen=True, slots=True)
class File:
    """A file, which takes the place of another one."""

    path: str
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link, which takes the place of another one."""

    path: str
    target: str


Entry = Folder | File | Link


def pack(entries: Iterable[Entry], at: datetime, group: int = 0) -> bytes:
    """Return an archive of entries that belong to root and a group."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path)
            member.mtime = int(at.timestamp())
            member.gid = group
            match entry:
                case Folder(mode=mode):
                    member.type, member.mode = tarfile.DIRTYPE, mode
                    archive.addfile(member)
                case Link(target=target):
                    member.type, member.mode = tarfile.SYMTYPE, LINK_MODE
                    member.linkname = target
                    archive.addfile(member)
                case File(content=content, mode=mode):
                    member.size, member.mode = len(content), mode
                    archive.addfile(member, BytesIO(content))
    return packed.getvalue()


def volume_root(root: str, group: int | None) -> Folder:
    """Return the folder that is a volume; everybody may write in it."""
    return Folder(root, VOLUME_MODE | (SET_GROUP if group is not None else 0))


def volume_entries(
    root: str, files: Iterable[VolumeFile], stamp: str, group: int | None
) -> list[Entry]:
    """Return what makes files appear in a volume, or change, as one.

    The files are in a folder that is called `stamp`, to which `..data` leads; what
    containers see are links through it.
    """
    files = tuple(files)
    for_group = 0 if group is None else GROUP_MAY_READ
    folder_mode = FOLDER_MODE
    if group is not None:
        folder_mode |= SET_GROUP | GROUP_MAY_ENTER
    folders = dict.fromkeys(parent for each in files for parent in _parents(each.path))
    return [
        volume_root(root, group),
        Folder(f"{root}/{stamp}", folder_mode),
        *(Folder(f"{root}/{stamp}/{each}", folder_mode) for each in folders),
        *(
            File(f"{root}/{stamp}/{each.path}", each.content, each.mode | for_group)
            for each in files
        ),
        Link(f"{root}/{DATA}", stamp),
        *(
            Link(f"{root}/{name}", f"{DATA}/{name}")
            for name in dict.fromkeys(each.path.split("/")[0] for each in files)
        ),
    ]


def last_bytes(pieces: Iterable[bytes], limit: int) -> bytes:
    """Return the end of the only file in an archive, however long that is."""
    with tarfile.open(fileobj=BufferedReader(_Pieces(pieces)), mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is None:
                continue
            kept = b""
            while chunk := content.read(CHUNK_BYTES):
                kept = (kept + chunk)[-limit:]
            return kept
    return b""


def _parents(path: str) -> Iterator[str]:
    steps = path.split("/")[:-1]
    for index in range(len(steps)):
        yield "/".join(steps[: index + 1])


class _Pieces(RawIOBase):
    """A file to read from, made of pieces as they come."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer)
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = piece
        taken, self._left = self._left[: len(room)], self._left[len(room) :]
        room[: len(taken)] = taken
        return len(taken)
