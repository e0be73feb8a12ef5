"""Proof of ownership: a note on disk of each container, sandbox and volume we made.

A label proves nothing. An image keeps the labels of the container that it was committed
from, and Docker gives them to every container of that image; a kubelet gives the labels
of a pod to its sandbox. An ID is given once, so the ID in a note of ours is the proof:

    <folder>/<id>.json          something that we made, or took over on purpose
    <folder>/<nonce>.intent     something that is about to be made

The intent is written before the engine is asked, and names what is made. Should we be
killed between the answer and the note, the thing is ours by its name and its nonce,
which both have to hold: no image existed that could have handed on that nonce.

What has our labels and is in no note was made by another user's probetui, by one with
another state folder, by an earlier version, or is a copy. It is never stopped, removed
or adopted, unless somebody says so (`take_over`).
"""

from __future__ import annotations

import errno
import json
import secrets
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
"""Longer than any ID of an engine; of what comes from elsewhere nothing is known."""

_NO_SUCH_NAME = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP}
)
"""What a name from elsewhere may lead to that none of our notes has."""


class OwnershipLedger:
    """The notes in one folder; any number of processes may use it at once.

    Raises `ContainerRuntimeError` where a note cannot be written or read: what is not
    noted is not made.

    Args:
        folder: where the notes are; it is made when it is needed.
    """

    def __init__(self, folder: Path) -> None:
        self._root = DirectoryRoot(folder)
        self._known: set[str] = set()

    def intend(self, name: str, engine: str = "") -> str:
        """Note that something of that name is about to be made; return its nonce.

        Args:
            name: what the engine will call it.
            engine: what tells the engine from others, empty if nothing does.
        """
        nonce = secrets.token_hex(_NONCE_BYTES)
        self._write(_intent(nonce), name, engine)
        return nonce

    def made(self, nonce: str, thing_id: str) -> None:
        """Note the ID of what was intended.

        Whoever finds it in the engine's list before the engine has answered does so,
        too: the second one changes nothing.
        """
        try:
            self._root.rename(_intent(nonce), _note(thing_id))
        except OSError as error:
            if error.errno != errno.ENOENT or not self._is_there(_note(thing_id)):
                raise self._refusal(error) from error
        self._known.add(thing_id)

    def withdraw(self, nonce: str) -> None:
        """Drop an intent of which nothing came."""
        self._remove(_intent(nonce))

    def owns(self, thing_id: str, name: str, nonce: str) -> bool:
        """Tell whether we made something. This is the one rule of ownership.

        Args:
            thing_id: the ID that the engine gave to it.
            name: what the engine calls it.
            nonce: the one in its labels, empty for none.
        """
        if not _is_given_by_engines(thing_id):
            return False
        if thing_id in self._known or self._is_there(_note(thing_id)):
            self._known.add(thing_id)
            return True
        is_nonce = _is_given_by_engines(nonce)
        if is_nonce and name and self._intended_name(nonce) == name:
            self.made(nonce, thing_id)
            return True
        return False

    def take_over(self, thing_id: str, name: str, engine: str = "") -> None:
        """Have something be ours from now on because somebody said so."""
        self._write(_note(thing_id), name, engine)
        self._known.add(thing_id)

    def forget(self, thing_id: str) -> None:
        """Drop the note of what is gone."""
        self._known.discard(thing_id)
        self._remove(_note(thing_id))

    def noted(self, engine: str) -> frozenset[str]:
        """Return the IDs of all that is noted of an engine that has a name."""
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
        """Return what was to be made with a nonce, empty if nothing was."""
        return _field(self._read(_intent(nonce)), "name")

    def _read(self, name: str) -> bytes:
        """Return what a note says, nothing if there is none."""
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
            f"what belongs to probetui cannot be noted in {self._root.path}: "
            f"{error.strerror or error}"
        )


def _is_given_by_engines(text: str) -> bool:
    """Tell whether it can be an ID or a nonce: labels may hold anything."""
    return text.isascii() and 0 < len(text) <= _MAX_ID


def _note(thing_id: str) -> str:
    """Return the file for what has an ID; IDs may come from anywhere."""
    # A name with a dot in front would be hidden, or another folder.
    return quote(thing_id, safe="").replace(".", "%2E") + _NOTE


def _intent(nonce: str) -> str:
    return quote(nonce, safe="").replace(".", "%2E") + _INTENT


def _field(note: bytes, name: str) -> str:
    """Return what a note says, empty where it does not."""
    try:
        return str(json.loads(note)[name])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
