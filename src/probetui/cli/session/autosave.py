"""Autosave: a record of every session, which survives any end.

A session is compressed as it is written, in parts with names of their own, so that no
session takes the file of another one; `last.jsonl.gz` is a link to the newest part of
the session that began last and is no lesson. Each part begins with the session record;
all but the first say that they go on. The sessions kept have a total size: the oldest
go first, and what is being written stays.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from msgspec import Struct

from probetui.cli.folders import make_private_directory, state_folder
from probetui.drive.clocks import SystemClock
from probetui.errors import RecordError, UsageError
from probetui.output_files import AppendedFile
from probetui.record.codec import Record, encode_line
from probetui.record.writer import CompressedRecordWriter, Line
from probetui.untrusted_files import DirectoryRoot, open_output

log = logging.getLogger(__name__)

PART_BYTES = 128 << 20
"""Bytes of lines in a part before the next one begins; a reader holds one part."""

KEPT_BYTES = 1 << 30
MOST_SESSIONS = 200
"""How many sessions are kept at most, however small they are."""

LAST = "last.jsonl.gz"
PLAIN_LAST = "last.jsonl"
"""The name that probetui 0.1 gave to the record of the last session."""

KEPT = ".kept"
"""What follows the name of a session in that of the file that says it is kept."""

_PART = re.compile(r"(\d{8}-\d{6}-[0-9a-f]{8})\.(\d+)\.jsonl\.gz")
_PLAIN = (PLAIN_LAST, "last.1.jsonl", "previous.jsonl")


class SessionFile(Struct, frozen=True):
    """A file of a session; those of earlier releases are sessions of their own."""

    path: Path
    session: str
    size: int
    changed_ns: int


def sessions_folder() -> Path:
    """Return the folder with the records of the last sessions."""
    return state_folder() / "sessions"


def last_session() -> Path | None:
    """Return the record of the last session, None if none is kept.

    Of one in parts it is the newest part.
    """
    folder = sessions_folder()
    # An earlier release may have run since.
    kept = [path for path in (folder / LAST, folder / PLAIN_LAST) if path.exists()]
    return max(kept, key=lambda path: path.stat().st_mtime_ns, default=None)


def last_session_to_play() -> Path:
    """Return the record of the last session; of one in parts, the first part.

    Raises:
        UsageError: none is kept.
    """
    path = last_session()
    if path is None:
        where = sessions_folder() / LAST
        raise UsageError(f"no FILE is given, and there is no last session ({where})")
    match = _PART.fullmatch(link_target(path))
    first = path.with_name(f"{match[1]}.1.jsonl.gz") if match else path
    return first if first.exists() else path


def open_autosave(
    folder: Path,
    kept_bytes: int = KEPT_BYTES,
    part_bytes: int = PART_BYTES,
    *,
    becomes_last: bool = True,
) -> CompressedRecordWriter:
    """Return the writer of the session's record.

    Args:
        folder: the folder with the records of sessions.
        kept_bytes: the size above which the oldest sessions are removed.
        part_bytes: the size above which another part begins.
        becomes_last: whether commands without a file name read this record.

    Raises:
        RecordError: it cannot be written; the folder is named.
    """
    try:
        make_private_directory(folder)
        writer = _PartWriter(folder, kept_bytes, part_bytes)
        if becomes_last:
            _link(folder / LAST, Path(writer.name).name)
    except OSError as error:
        raise RecordError(f"{folder}: {error.strerror or error}") from error
    return writer


class _PartWriter(CompressedRecordWriter):
    """Writes a session in parts, and removes old sessions above the limit."""

    def __init__(self, folder: Path, kept_bytes: int, part_bytes: int) -> None:
        self._folder = folder
        self._kept_bytes = kept_bytes
        self._part_bytes = part_bytes
        began = SystemClock().now().astimezone(UTC)
        self._session = _session_name(began)
        self._number = 1
        self._written = 0
        self._header = b""
        path = self._path()
        super().__init__(_create(path), str(path), owned=True)
        self._prune()

    def write(self, lines: Iterable[Line]) -> None:
        """Append lines, to another part once this one is too long."""
        written = list(lines)
        if not self._header and written:
            session = cast("Record", written[0])
            self._header = encode_line(session | {"continues": True})
        if self._written > self._part_bytes:
            self._begin_part()
        super().write(written)

    def append(self, data: bytes) -> None:
        """Append whole lines."""
        self._written += len(data)
        super().append(data)

    def _begin_part(self) -> None:
        before = self._path()
        self._number += 1
        path = self._path()
        try:
            file = _create(path)
        except OSError as error:
            self.problem = f"{path}: {error.strerror or error}"
            return
        self.continue_in(file, str(path))
        if link_target(self._folder / LAST) == before.name:
            _link(self._folder / LAST, path.name)
        self._written = 0
        self.append(self._header)
        self._prune()

    def _path(self) -> Path:
        return self._folder / f"{self._session}.{self._number}.jsonl.gz"

    def _prune(self) -> None:
        with suppress(OSError):  # what stays is removed another time
            prune(self._folder, self._kept_bytes)


def prune(folder: Path, kept_bytes: int, most_sessions: int = MOST_SESSIONS) -> None:
    """Remove the oldest sessions until the others take no more than so many bytes.

    Of sessions that go on, earlier parts are removed last of all, and what is written
    to never. Files with names that are not ours, and sessions that the user keeps, are
    not touched and not counted.

    Raises:
        OSError: the folder cannot be read, or a file not be removed.
    """
    kept = kept_names(folder)
    ours = (part for part in session_parts(folder) if part.session not in kept)
    parts = sorted(ours, key=lambda part: part.changed_ns)
    left = sum(part.size for part in parts)
    counts = Counter(part.session for part in parts)
    if left <= kept_bytes and len(counts) <= most_sessions:
        return
    locked = {part.path for part in parts if is_written(part.path)}
    running = {part.session for part in parts if part.path in locked}
    removable = [part for part in parts if part.path not in locked]
    for part in sorted(removable, key=lambda part: part.session in running):
        has_room = len(counts) <= most_sessions or part.session in running
        if left <= kept_bytes and has_room:
            return
        DirectoryRoot(folder).unlink(part.path.name, missing_ok=True)
        left -= part.size
        counts -= Counter([part.session])


def kept_names(folder: Path) -> set[str]:
    """Return the sessions that the user keeps: a file beside them says so.

    Raises:
        OSError: the folder cannot be read.
    """
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.endswith(KEPT)]
    return {name.removesuffix(KEPT) for name in names}


def session_parts(folder: Path) -> Iterator[SessionFile]:
    """Yield the files of sessions in a folder; links and other names are none.

    Raises:
        OSError: the folder cannot be read.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            match = _PART.fullmatch(entry.name)
            if match is None and entry.name not in _PLAIN:
                continue
            with suppress(FileNotFoundError):  # another session has removed it
                facts = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(facts.st_mode):
                    session = match[1] if match else entry.name
                    path = folder / entry.name
                    yield SessionFile(path, session, facts.st_size, facts.st_mtime_ns)


def is_written(path: Path) -> bool:
    """Return whether a session writes to a file."""
    try:
        descriptor = DirectoryRoot(path.parent).open_file(path.name)
        with closing(os.fdopen(descriptor, "rb")) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _session_name(began: datetime) -> str:
    """Return a new name; names sort in the order in which sessions begin."""
    chance = os.urandom(2).hex()[1:]
    return f"{began:%Y%m%d-%H%M%S}-{began.microsecond:05x}{chance}"


def _create(path: Path) -> AppendedFile:
    # Readable by its owner only: it holds what containers print.
    descriptor = open_output(path, os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return AppendedFile(descriptor)


def _link(path: Path, target: str) -> None:
    """Create or replace a link."""
    root = DirectoryRoot(path.parent)
    fresh = f".{path.name}.{os.urandom(4).hex()}"
    try:
        root.symlink(fresh, target)
        root.rename(fresh, path.name)
    except OSError as error:
        log.info("the last session is not linked: %s", error)


def link_target(path: Path) -> str:
    """Return where a link leads, empty for what is no link."""
    try:
        return str(path.readlink())
    except OSError:
        return ""
