"""Tar archives, with which files are copied into and out of containers.

Source: pkg/volume/util/atomic_writer.go, pkg/volume/volume_linux.go, v1.32.10, Write,
SetVolumeOwnership.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BufferedReader, BytesIO, RawIOBase
from typing import Any

from msgspec import Struct

from probetui.k8s.volume import VolumeFile

FOLDER_MODE = 0o755
LINK_MODE = 0o777
VOLUME_MODE = 0o777
SET_GROUP = 0o2000
GROUP_MAY_READ = 0o440
GROUP_MAY_ENTER = 0o110

DATA = "..data"
"""The link to the folder with the current files."""

CHUNK_BYTES = 64 * 1024


class ArchiveFolder(Struct, frozen=True):
    """A folder; an existing one gets this mode."""

    path: str
    mode: int = FOLDER_MODE


class ArchiveFile(Struct, frozen=True):
    """A file, which replaces an existing one."""

    path: str
    content: bytes
    mode: int


class ArchiveLink(Struct, frozen=True):
    """A symbolic link, which replaces an existing one."""

    path: str
    target: str


ArchiveEntry = ArchiveFolder | ArchiveFile | ArchiveLink


def pack(entries: Iterable[ArchiveEntry], at: datetime, group: int = 0) -> bytes:
    """Return an archive of entries owned by root and a group."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path)
            member.mtime = int(at.timestamp())
            member.gid = group
            match entry:
                case ArchiveFolder(mode=mode):
                    member.type, member.mode = tarfile.DIRTYPE, mode
                    archive.addfile(member)
                case ArchiveLink(target=target):
                    member.type, member.mode = tarfile.SYMTYPE, LINK_MODE
                    member.linkname = target
                    archive.addfile(member)
                case ArchiveFile(content=content, mode=mode):
                    member.size, member.mode = len(content), mode
                    archive.addfile(member, BytesIO(content))
    return packed.getvalue()


def volume_root(root: str, group: int | None) -> ArchiveFolder:
    """Return the folder of a volume; everybody may write to it."""
    return ArchiveFolder(root, VOLUME_MODE | (SET_GROUP if group is not None else 0))


def volume_entries(
    root: str, files: Iterable[VolumeFile], stamp: str, group: int | None
) -> list[ArchiveEntry]:
    """Return the entries that add or replace all files of a volume atomically.

    The files are in a folder named `stamp`, to which the link `..data` points;
    containers see links through it.
    """
    files = tuple(files)
    for_group = 0 if group is None else GROUP_MAY_READ
    folder_mode = FOLDER_MODE
    if group is not None:
        folder_mode |= SET_GROUP | GROUP_MAY_ENTER
    folders = dict.fromkeys(parent for file in files for parent in _parents(file.path))
    return [
        volume_root(root, group),
        ArchiveFolder(f"{root}/{stamp}", folder_mode),
        *(ArchiveFolder(f"{root}/{stamp}/{folder}", folder_mode) for folder in folders),
        *(
            ArchiveFile(
                f"{root}/{stamp}/{file.path}", file.content, file.mode | for_group
            )
            for file in files
        ),
        ArchiveLink(f"{root}/{DATA}", stamp),
        *(
            ArchiveLink(f"{root}/{name}", f"{DATA}/{name}")
            for name in dict.fromkeys(file.path.split("/")[0] for file in files)
        ),
    ]


def last_bytes(pieces: Iterable[bytes], limit: int) -> bytes:
    """Return the last `limit` bytes of the only file in an archive."""
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
    """A readable file made of the pieces of a stream."""

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
