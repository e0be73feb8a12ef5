"""OwnershipLedger: a note on disk for each of our containers, sandboxes and volumes.

A label proves nothing. An image keeps the labels of the container that it was committed
from, and Docker adds them to every container of that image; a kubelet gives the labels
of a pod to its sandbox. An ID is unique, so the ID in a note of ours is the proof:

    <folder>/<id>.json          an object that we created, or took over
    <folder>/<nonce>.intent     an object that is about to be created

The intent is written before the call, with the object's name. If this process is killed
between the response and the note, the object is ours by its name and its nonce. Both
must match: no image existed that could have passed on that nonce.

The disk has the intent before the call begins: an engine keeps its objects through a
loss of power, and one that is unknown to us would be left for ever. That takes some
5 ms on a busy SSD, in a thread: probes do not wait, and a creation takes ten times as
long. The note is not waited for: until the disk has it, there is the intent.

An object with our labels but no note was created by another user's probetui, by one
with another state folder, or is a copy. It is never stopped, removed or adopted, unless
the user takes it over (`take_over`).
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote, unquote

from probetui.errors import ContainerRuntimeError
from probetui.untrusted_files import DirectoryRoot, make_own_directory

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_NOTE = ".json"
_INTENT = ".intent"
_NONCE_BYTES = 16
_MAX_BYTES = 64 * 1024
_MAX_ID = 80
"""Longer than any ID of an engine; other text may have any length."""

_NO_SUCH_NAME = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP}
)
"""Errors of file names from untrusted text: there is no such note."""


class OwnershipLedger:
    """The notes in one folder, which any number of processes may use at once.

    Every method raises `ContainerRuntimeError` if a note cannot be written or read: no
    object is created without a note.

    Args:
        folder: the folder, which is created when it is needed.

    Attributes:
        half_made: the volumes whose creation failed in this process, of which an
            engine may have made some: their nonces, if they have one, by their names.
        tidying: is held while they are removed.
    """

    def __init__(self, folder: Path) -> None:
        self.half_made: dict[str, str] = {}
        self.tidying = asyncio.Lock()
        self._root = DirectoryRoot(folder)
        self._known: set[str] = set()
        self._in_thread: Callable[..., Awaitable[None]] = asyncio.to_thread

    def intend(self, name: str, engine: str = "") -> str:
        """Record that an object is about to be created; return its nonce.

        Args:
            name: its name in the engine.
            engine: the engine's ID, empty if it has none.
        """
        nonce = os.urandom(_NONCE_BYTES).hex()
        self._write(_intent(nonce), name, engine)
        return nonce

    async def intend_durably(self, name: str, engine: str = "") -> str:
        """Record the same, and return once a loss of power would not undo it."""
        nonce = self.intend(name, engine)
        try:
            await self._in_thread(self._root.sync_file, _intent(nonce))
        except OSError as error:
            self.withdraw(nonce)
            raise self._refusal(error) from error
        return nonce

    def made(self, nonce: str, thing_id: str) -> None:
        """Record the ID of an object whose creation was recorded.

        `owns` does so as well when the object is listed before the engine's response;
        the second call changes nothing.
        """
        try:
            self._root.rename(_intent(nonce), _note(thing_id))
        except OSError as error:
            if error.errno != errno.ENOENT or not self._is_there(_note(thing_id)):
                raise self._refusal(error) from error
        self._known.add(thing_id)

    def withdraw(self, nonce: str) -> None:
        """Remove the intent of an object that was not created."""
        self._remove(_intent(nonce))

    def owns(self, thing_id: str, name: str, nonce: str) -> bool:
        """Return whether an object is ours. This is the only rule of ownership.

        Args:
            thing_id: its ID in the engine.
            name: its name in the engine.
            nonce: the nonce in its labels, empty for none.
        """
        if not _is_valid_id(thing_id):
            return False
        if thing_id in self._known or self._is_there(_note(thing_id)):
            self._known.add(thing_id)
            return True
        is_nonce = _is_valid_id(nonce)
        if is_nonce and name and self._intended_name(nonce) == name:
            self.made(nonce, thing_id)
            return True
        return False

    def take_over(self, thing_id: str, name: str, engine: str = "") -> None:
        """Take over an object that the user chose."""
        self._write(_note(thing_id), name, engine)
        self._known.add(thing_id)

    def forget(self, thing_id: str) -> None:
        """Remove the note of an object that is gone."""
        self._known.discard(thing_id)
        self._remove(_note(thing_id))

    def noted(self, engine: str) -> frozenset[str]:
        """Return the IDs of all noted objects of an engine with an ID."""
        try:
            names = self._root.names() if engine else []
        except OSError:
            return frozenset()
        return frozenset(
            unquote(name.removesuffix(_NOTE))
            for name in names
            if name.endswith(_NOTE) and _field(self._read(name), "engine") == engine
        )

    # -- files

    def _intended_name(self, nonce: str) -> str:
        """Return the name in the intent of a nonce, empty without one."""
        return _field(self._read(_intent(nonce)), "name")

    def _read(self, name: str) -> bytes:
        """Return the content of a note, empty if there is none."""
        try:
            return self._root.read_file(name, _MAX_BYTES)
        except OSError as error:
            if error.errno in _NO_SUCH_NAME:
                return b""
            raise self._refusal(error) from error

    def _is_there(self, name: str) -> bool:
        try:
            return self._root.exists(name)
        except OSError as error:
            if error.errno in _NO_SUCH_NAME:
                return False
            raise self._refusal(error) from error

    def _write(self, file: str, name: str, engine: str) -> None:
        text = json.dumps({"name": name, "engine": engine})
        try:
            make_own_directory(self._root.path, _FOLDER_MODE)
            self._root.replace_file(file, text.encode(), _FILE_MODE)
        except OSError as error:
            raise self._refusal(error) from error

    def _remove(self, name: str) -> None:
        try:
            self._root.unlink(name, missing_ok=True)
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:
                raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> ContainerRuntimeError:
        return ContainerRuntimeError(
            f"the ownership record in {self._root.path} cannot be written: "
            f"{error.strerror or error}"
        )


class EngineOwnership:
    """The ownership of an engine's sandboxes and containers.

    Args:
        ledger: the notes about them.
        engine: the engine's ID, empty if it has none.
    """

    def __init__(self, ledger: OwnershipLedger, engine: str) -> None:
        self._ledger = ledger
        self._engine = engine
        self._has_returned_noted = False

    def is_ours(self, thing_id: str, name: str, nonce: str) -> bool:
        """Return whether an object is ours; see `OwnershipLedger.owns`."""
        return self._ledger.owns(thing_id, name, nonce)

    def take_over(self, thing_id: str, name: str) -> None:
        """Take over an object that the user chose."""
        self._ledger.take_over(thing_id, name, self._engine)

    def forget(self, thing_id: str) -> None:
        """Remove the note of an object that is gone."""
        self._ledger.forget(thing_id)

    def noted_before(self) -> frozenset[str]:
        """Return, at the first call only, the IDs that are noted of this engine."""
        if self._has_returned_noted:
            return frozenset()
        self._has_returned_noted = True
        return self._ledger.noted(self._engine)


def _is_valid_id(text: str) -> bool:
    """Return whether a text can be an ID or a nonce: labels may have any text."""
    return text.isascii() and 0 < len(text) <= _MAX_ID


def _note(thing_id: str) -> str:
    """Return the file name of a note; the ID is untrusted."""
    # A name with a leading dot would be hidden, or another folder.
    return quote(thing_id, safe="").replace(".", "%2E") + _NOTE


def _intent(nonce: str) -> str:
    return quote(nonce, safe="").replace(".", "%2E") + _INTENT


def _field(note: bytes, name: str) -> str:
    """Return a field of a note, empty if it is missing."""
    try:
        return str(json.loads(note)[name])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
