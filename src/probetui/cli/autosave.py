"""The last session's record, kept without being asked for: it survives any end.

Lines are with the operating system as soon as they are written, so that neither a
crash nor SIGKILL takes them. Of a session that gets too long for one file two are
kept: `last.jsonl` with the newest part, `last.1.jsonl` with the part before. The
session before is kept as `previous.jsonl`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from probetui.cli.folders import state_folder
from probetui.drive.record_writer import RecordWriter
from probetui.drive.recording import Record, to_line
from probetui.errors import RecordError, UsageError

log = logging.getLogger(__name__)

LONGEST = 128 << 20
"""A file of so many bytes is followed by another one."""

LAST, PART_BEFORE, PREVIOUS = "last.jsonl", "last.1.jsonl", "previous.jsonl"


def sessions_folder() -> Path:
    """Return the folder with the records of the last sessions."""
    return state_folder() / "sessions"


def last_session() -> Path:
    """Return the record of the last session.

    Raises:
        UsageError: there is none.
    """
    path = sessions_folder() / LAST
    if not path.exists():
        raise UsageError(f"no FILE is named, and there is no last session ({path})")
    return path


def open_autosave(folder: Path, longest: int = LONGEST) -> RecordWriter | None:
    """Return where the session is saved, None where that is not possible.

    A session that cannot be saved goes on all the same: nobody asked for it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            (folder / LAST).replace(folder / PREVIOUS)
        return _RotatingWriter(folder, longest)
    except (OSError, RecordError) as error:
        log.info("the session is not saved: %s", error)
        return None


class _RotatingWriter(RecordWriter):
    """Writes the newest part of a session, and keeps the one before it.

    Each part begins with the session record; all but the first say that they go on.
    """

    def __init__(self, folder: Path, longest: int) -> None:
        self._folder = folder
        self._longest = longest
        self._written = 0
        self._header = b""
        super().__init__(_create(folder / LAST), str(folder / LAST), owned=True)

    def write(self, records: Iterable[Record]) -> None:
        """Append records, to another file once this one is too long."""
        written = list(records)
        if not self._header and written:
            self._header = to_line(written[0] | {"continues": True})
        if self._written > self._longest:
            self._begin_anew()
        super().write(written)

    def append(self, data: bytes) -> None:
        """Append whole lines."""
        self._written += len(data)
        super().append(data)

    def _begin_anew(self) -> None:
        path = self._folder / LAST
        if not _is_open_as(self._descriptor, path):
            # A session that began later has taken the name.
            self.problem = f"{path} is another session's"
            return
        try:
            path.replace(self._folder / PART_BEFORE)
            descriptor = _create(path)
        except OSError as error:
            self.problem = f"{path}: {error.strerror or error}"
            return
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._written = 0
        self.append(self._header)


def _create(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    # Readable by its owner only: it holds what containers print.
    return os.open(path, flags, mode=0o600)


def _is_open_as(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
