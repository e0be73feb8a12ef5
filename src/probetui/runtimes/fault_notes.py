"""Notes on disk of active faults, written before they are injected.

A session undoes its faults when it ends. One that is killed cannot: the next start of
probetui, with whatever command, reads the notes and undoes them.

    <folder>/<kind>-<hash of the ID>.json
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.lease_holder import LeaseHolder, host_name, machine_id
from probetui.untrusted_files import DirectoryRoot, make_own_directory

FROZEN, CUT_OFF = "frozen", "cut-off"

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_MAX_BYTES = 4 * 1024 * 1024
_SUFFIX = ".json"


class FaultNote(Struct, frozen=True):
    """An active fault.

    Attributes:
        kind: `FROZEN` or `CUT_OFF`.
        thing_id: the engine's ID of the frozen or disconnected object.
        engine: the ID of the engine.
        how: the details for undoing it, as JSON.
    """

    kind: str
    thing_id: str
    engine: str
    how: Mapping[str, Any]


class FaultNotes:
    """The notes in one folder, which any number of processes may use at once.

    Args:
        folder: the folder, which is created when it is needed.
        engine: the ID of the engine of this process.
    """

    def __init__(self, folder: Path, engine: str) -> None:
        self._root = DirectoryRoot(folder)
        self._engine = engine

    def write(
        self, kind: str, thing_id: str, how: Mapping[str, Any] | None = None
    ) -> None:
        """Record a fault that is about to be injected.

        Raises:
            ContainerRuntimeError: it cannot be noted, and so must not be injected.
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
                f"not {kind}: the fault cannot be recorded in {self._root.path}: "
                f"{error.strerror or error}"
            ) from error

    def remove(self, kind: str, thing_id: str) -> None:
        """Remove the note of a fault that was undone.

        Raises:
            ContainerRuntimeError: it cannot be removed.
        """
        try:
            self._root.unlink(_file(kind, thing_id), missing_ok=True)
        except NotADirectoryError:
            return
        except OSError as error:
            raise ContainerRuntimeError(str(error)) from error

    def is_here(self, note: FaultNote) -> bool:
        """Return whether a note is of this engine, of which alone the ID is valid."""
        return note.engine == self._engine

    def leftovers(self) -> list[FaultNote]:
        """Return the faults of processes of this machine that have ended.

        Invalid notes are ignored.
        """
        try:
            names = self._root.names()
        except OSError:
            return []
        read = (self._read(name) for name in names if name.endswith(_SUFFIX))
        return [note for note in read if note is not None]

    def _read(self, name: str) -> FaultNote | None:
        try:
            note = json.loads(self._root.read_file(name, _MAX_BYTES))
            holder = LeaseHolder.parse(note["holder"])
            parsed = FaultNote(
                str(note["kind"]), str(note["id"]), str(note["engine"]), {**note["how"]}
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        is_its_file = _file(parsed.kind, parsed.thing_id) == name
        return parsed if is_its_file and holder and _has_ended(holder) else None


def format_undone(what: str, kind: str) -> str:
    """Format the message that a killed session's fault was undone."""
    return f"{what} was left {kind} by a killed probetui and is restored now"


def _has_ended(holder: LeaseHolder) -> bool:
    """Return whether a process has certainly ended, perhaps by a reboot."""
    was_restarted = holder.host == host_name() and holder.machine != machine_id()
    return was_restarted or holder.is_alive() is False


def _file(kind: str, thing_id: str) -> str:
    digest = hashlib.sha256(thing_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}-{digest}{_SUFFIX}"
