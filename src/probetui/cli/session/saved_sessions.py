"""The sessions that autosave has saved: found, summed up, kept and removed."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from probetui.cli.session.autosave import (
    KEPT,
    LAST,
    is_written,
    kept_names,
    link_target,
    session_parts,
)
from probetui.errors import RecordError, UsageError
from probetui.kubelet.journal import TickAction
from probetui.record.codec import decode_line
from probetui.record.file import RECORD_BYTES, RecordLines, is_record_beginning
from probetui.record.file import record_lines as lines_of
from probetui.record.format import RewindRecord, TickRecord
from probetui.record.reader import last_kept
from probetui.record.values import DamageError, parse_session_instant
from probetui.suggestions import nearest_hint
from probetui.untrusted_files import DirectoryRoot

THE_LAST = "last"
"""The name of the session that began last and is no lesson, whatever it is called."""

_TIME = "%Y%m%d-%H%M%S"
_TIME_LENGTH = 15
_BEGINNING_BYTES = 4096
_KILLS = frozenset({TickAction.KILL, TickAction.WOULD_KILL})
_SIGNS = (b'"action":"kill"', b'"action":"would-kill"', b'"type":"rewind"')
"""What is in lines of which the number of kills follows."""

_POD, _AFTER_POD = b'"pod":"', b',"podUID"'


class SavedSession(Struct, frozen=True):
    """A session of which there is a record.

    Attributes:
        name: what it is called: when it began, in UTC, and a number. Of those of one
            second the number grows.
        began: when that was, to the second.
        parts: the files of its record, in their order.
        size: their bytes.
        is_last: whether commands without a name read it.
        is_kept: whether it stays when old sessions are removed.
        is_running: whether it is still being written.
    """

    name: str
    began: datetime
    parts: tuple[Path, ...]
    size: int
    is_last: bool
    is_kept: bool
    is_running: bool


class SavedSummary(Struct, frozen=True):
    """What a session came to, as far as its record can be read.

    Attributes:
        pods: their names, with the namespace if that is not `default`.
        length: from its first instant to the last that is known.
        kills: how often a probe killed a container.
        problem: why there is no more; empty if all could be read.
    """

    pods: tuple[str, ...] = ()
    length: timedelta = timedelta()
    kills: int = 0
    problem: str = ""


def saved_sessions(folder: Path) -> list[SavedSession]:
    """Return the sessions that are saved in a folder, the newest first.

    Raises:
        RecordError: the folder cannot be read.
    """
    try:
        parts = sorted(session_parts(folder), key=lambda part: _order(part.path))
        kept = kept_names(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(f"{folder}: {error.strerror or error}") from error
    last = link_target(folder / LAST)
    sessions = []
    for name in dict.fromkeys(part.session for part in parts):
        own = [part for part in parts if part.session == name]
        paths = tuple(part.path for part in own)
        sessions.append(
            SavedSession(
                name,
                _began(name, own[0].changed_ns),
                paths,
                sum(part.size for part in own),
                is_last=last in {path.name for path in paths},
                is_kept=name in kept,
                is_running=any(map(is_written, paths)),
            )
        )
    return sorted(
        sessions, key=lambda session: (session.began, session.name), reverse=True
    )


def find_session(sessions: Sequence[SavedSession], name: str) -> SavedSession:
    """Return the session of a name, of the beginning of one, or `last`.

    Raises:
        UsageError: there is none, or there are several.
    """
    found = [
        session
        for session in sessions
        if session.name == name or (name == THE_LAST and session.is_last)
    ] or [session for session in sessions if name and session.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f'"{name}" begins the names of {len(found)} saved sessions')
    hint = nearest_hint(name, [session.name for session in sessions])
    raise UsageError(
        f'"{name}" is no saved session{hint}; `probetui sessions` lists them'
    )


def summarize_session(
    session: SavedSession, most_bytes: int = RECORD_BYTES
) -> SavedSummary:
    """Read through the record of a session, decoding no more than is asked for.

    Args:
        session: what to read.
        most_bytes: how large a part of it may be, unpacked.
    """
    pods: dict[bytes, None] = {}
    kills: list[int] = []
    first = last = None
    problem = ""
    for path in session.parts:
        try:
            begun = RecordLines(path, most_bytes).started_at
            first, last = first or begun, begun
            last_line = _read_lines(lines_of(path, most_bytes), pods, kills)
        except RecordError as error:
            problem = str(error)
            continue
        last = _instant(last_line) or last
    length = last - first if first and last else timedelta()
    return SavedSummary(
        tuple(_pod_name(pod) for pod in pods), length, len(kills), problem
    )


def keep_session(session: SavedSession) -> None:
    """Have a session stay when old ones are removed.

    Raises:
        RecordError: the file that says so cannot be made.
    """
    folder = session.parts[0].parent
    with _explained(folder):
        DirectoryRoot(folder).replace_file(session.name + KEPT, b"", 0o600)


def remove_session(session: SavedSession) -> None:
    """Remove the files of a session, and the link that leads to it.

    Raises:
        UsageError: it is running, or a file of it is no record of ours.
        RecordError: a file cannot be removed.
    """
    folder = session.parts[0].parent
    root = DirectoryRoot(folder)
    with _explained(folder), ExitStack() as stack:
        for path in session.parts:
            # All of them are held first: a session that runs is left whole.
            descriptor = root.open_file(path.name)
            file = stack.enter_context(os.fdopen(descriptor, "rb"))
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(f"{session.name} is running: end it first") from None
            beginning = file.read(_BEGINNING_BYTES)
            if beginning and not is_record_beginning(beginning):
                raise UsageError(f"{path}: is no record of a session; left as it is")
        for path in session.parts:
            root.unlink(path.name, missing_ok=True)
        root.unlink(session.name + KEPT, missing_ok=True)
        if session.is_last and link_target(folder / LAST) in {
            path.name for path in session.parts
        }:
            root.unlink(LAST, missing_ok=True)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or folder
        raise RecordError(f"{where}: {error.strerror or error}") from error


def _read_lines(
    lines: Iterable[bytes], pods: dict[bytes, None], kills: list[int]
) -> bytes:
    """Note the pods and kills of lines; return the last that is whole."""
    last = b""
    for number, text in enumerate(lines):
        if not text.endswith(b"\n") or len(text) == 1:
            continue
        last = text
        # Of the session record and inputs the names would be those of manifests.
        if number and b'"type":"input"' not in text:
            begin = text.find(_POD)
            end = text.find(_AFTER_POD, begin)
            if 0 < begin < end:
                pods[text[begin:end]] = None
        if any(sign in text for sign in _SIGNS):
            _count_kill(text, kills)
    return last


def _count_kill(text: bytes, kills: list[int]) -> None:
    try:
        record: Any = decode_line(text)
    except DamageError:
        return
    match record:
        case TickRecord(action=action) if action in _KILLS:
            kills.append(record.seq)
        case RewindRecord():
            kept = last_kept(record)
            kills[:] = [number for number in kills if number <= kept]
        case _:
            pass


def _instant(text: bytes) -> datetime | None:
    """Return when a line was written, None if it has no time."""
    try:
        record = decode_line(text) if text else None
        return None if record is None else parse_session_instant(record.ts)
    except ValueError:
        return None


def _pod_name(text: bytes) -> str:
    """Return the name of a pod from the fields of a line that name it."""
    try:
        fields = json.loads(b"{" + text + b"}")
        name, namespace = str(fields["pod"]), str(fields["namespace"])
    except (ValueError, KeyError):
        return "?"
    return name if namespace in {"", "default"} else f"{namespace}/{name}"


def _order(path: Path) -> tuple[str, int]:
    """Return what sorts files by session and part."""
    name, _, rest = path.name.partition(".")
    number = rest.partition(".")[0]
    return name, int(number) if number.isdecimal() else 0


def _began(name: str, changed_ns: int) -> datetime:
    try:
        return datetime.strptime(name[:_TIME_LENGTH], _TIME).replace(tzinfo=UTC)
    except ValueError:  # a name of an earlier release
        return datetime.fromtimestamp(changed_ns / 1e9, UTC)
