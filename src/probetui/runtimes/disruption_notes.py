"""Notes on disk of what is frozen or cut off, written before it takes effect.

A session that ends lets everything go on again. One that is killed cannot: the next
start of probetui, whatever it is started for, finds the notes and does it then.

    <folder>/<kind>-<hash of the ID>.json
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.lease_holder import LeaseHolder, host_name, machine_id
from probetui.untrusted_files import DirectoryRoot, make_own_directory

FROZEN, CUT_OFF = "frozen", "cut-off"

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_MAX_BYTES = 4 * 1024 * 1024
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class DisruptionNote:
    """Something that is frozen or cut off.

    Attributes:
        kind: `FROZEN` or `CUT_OFF`.
        thing_id: what; the ID that its engine gave to it.
        engine: where it is, by what tells engines apart.
        how: what has to be known to undo it.
    """

    kind: str
    thing_id: str
    engine: str
    how: Mapping[str, Any]


class DisruptionNotes:
    """The notes in one folder; any number of processes may use it at once.

    Args:
        folder: where the notes are; it is made when it is needed.
        engine: where the things of this process are.
    """

    def __init__(self, folder: Path, engine: str) -> None:
        self._root = DirectoryRoot(folder)
        self._engine = engine

    def write(
        self, kind: str, thing_id: str, how: Mapping[str, Any] | None = None
    ) -> None:
        """Note what is about to be done.

        Raises:
            ContainerRuntimeError: it cannot be noted, and so must not be done.
        """
        note = {
            "kind": kind,
            "id": thing_id,
            "engine": self._engine,
            "holder": LeaseHolder.this_process().text,
            "how": how or {},
        }
        try:
            make_own_directory(self._root.path, _FOLDER_MODE)
            self._root.replace_file(
                _file(kind, thing_id), json.dumps(note).encode(), _FILE_MODE
            )
        except OSError as error:
            raise ContainerRuntimeError(
                f"nothing is {kind} that could not be noted in {self._root.path}: "
                f"{error.strerror or error}"
            ) from error

    def remove(self, kind: str, thing_id: str) -> None:
        """Drop the note of what was undone.

        Raises:
            ContainerRuntimeError: it cannot be dropped.
        """
        try:
            self._root.unlink(_file(kind, thing_id), missing_ok=True)
        except NotADirectoryError:
            return
        except OSError as error:
            raise ContainerRuntimeError(str(error)) from error

    def is_here(self, note: DisruptionNote) -> bool:
        """Tell whether a note is of this engine; elsewhere its ID means nothing."""
        return note.engine == self._engine

    def left(self) -> list[DisruptionNote]:
        """Return what a process of this machine did that has ended since.

        Notes that cannot be read are left as they are.
        """
        try:
            names = self._root.names()
        except OSError:
            return []
        read = (self._read(name) for name in names if name.endswith(_SUFFIX))
        return [note for note in read if note is not None]

    def _read(self, name: str) -> DisruptionNote | None:
        try:
            note = json.loads(self._root.read_file(name, _MAX_BYTES))
            holder = LeaseHolder.parse(note["holder"])
            found = DisruptionNote(
                str(note["kind"]), str(note["id"]), str(note["engine"]), {**note["how"]}
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        is_its_file = _file(found.kind, found.thing_id) == name
        return found if is_its_file and holder and _has_ended(holder) else None


def format_undone(what: str, kind: str) -> str:
    """Say of something that it is undone what a killed session left in force."""
    return f"{what} was left {kind} by a probetui that was killed, and goes on now"


def _has_ended(holder: LeaseHolder) -> bool:
    """Tell whether a process has ended for sure, be it with the whole machine."""
    was_restarted = holder.host == host_name() and holder.machine != machine_id()
    return was_restarted or holder.is_alive() is False


def _file(kind: str, thing_id: str) -> str:
    digest = hashlib.sha256(thing_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}-{digest}{_SUFFIX}"
