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
import os
import secrets
from pathlib import Path
from urllib.parse import quote, unquote

from probetui.errors import ContainerRuntimeError

_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_NOTE = ".json"
_INTENT = ".intent"
_NONCE_BYTES = 16
_NO_SUCH_NAME = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.ENOTDIR})
"""What a name from elsewhere may lead to that none of our notes has."""


class OwnershipLedger:
    """The notes in one folder; any number of processes may use it at once.

    Raises `ContainerRuntimeError` where a note cannot be written or read: what is not
    noted is not made.

    Args:
        folder: where the notes are; it is made when it is needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[str] = set()

    def intend(self, name: str, engine: str = "") -> str:
        """Note that something of that name is about to be made; return its nonce.

        Args:
            name: what the engine will call it.
            engine: what tells the engine from others, empty if nothing does.
        """
        nonce = secrets.token_hex(_NONCE_BYTES)
        self._write(self._intent(nonce), name, engine)
        return nonce

    def made(self, nonce: str, thing_id: str) -> None:
        """Note the ID of what was intended."""
        try:
            self._intent(nonce).replace(self._note(thing_id))
        except OSError as error:
            raise self._refusal(error) from error
        self._known.add(thing_id)

    def withdraw(self, nonce: str) -> None:
        """Drop an intent of which nothing came."""
        self._remove(self._intent(nonce))

    def owns(self, thing_id: str, name: str, nonce: str) -> bool:
        """Tell whether we made something. This is the one rule of ownership.

        Args:
            thing_id: the ID that the engine gave to it.
            name: what the engine calls it.
            nonce: the one in its labels, empty for none.
        """
        if thing_id in self._known or self._is_there(self._note(thing_id)):
            self._known.add(thing_id)
            return True
        if nonce and name and self._intended_name(nonce) == name:
            self.made(nonce, thing_id)
            return True
        return False

    def take_over(self, thing_id: str, name: str, engine: str = "") -> None:
        """Have something be ours from now on because somebody said so."""
        self._write(self._note(thing_id), name, engine)
        self._known.add(thing_id)

    def forget(self, thing_id: str) -> None:
        """Drop the note of what is gone."""
        self._known.discard(thing_id)
        self._remove(self._note(thing_id))

    def noted(self, engine: str) -> frozenset[str]:
        """Return the IDs of all that is noted of an engine that has a name."""
        paths = self._folder.glob(f"*{_NOTE}") if engine else ()
        return frozenset(
            unquote(each.name.removesuffix(_NOTE))
            for each in paths
            if _engine_in(each) == engine
        )

    # -- files

    def _note(self, thing_id: str) -> Path:
        # A name with a dot in front would be hidden, or another folder.
        name = quote(thing_id, safe="").replace(".", "%2E")
        return self._folder / f"{name}{_NOTE}"

    def _intent(self, nonce: str) -> Path:
        return self._folder / f"{quote(nonce, safe='').replace('.', '%2E')}{_INTENT}"

    def _intended_name(self, nonce: str) -> str:
        """Return what was to be made with a nonce, empty if nothing was."""
        try:
            return str(json.loads(self._intent(nonce).read_text("utf-8"))["name"])
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            return ""
        except OSError as error:
            if error.errno in _NO_SUCH_NAME:
                return ""
            raise self._refusal(error) from error

    def _is_there(self, path: Path) -> bool:
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            if error.errno in _NO_SUCH_NAME:
                return False
            raise self._refusal(error) from error
        return True

    def _write(self, path: Path, name: str, engine: str) -> None:
        """Write a note at once or not at all."""
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
        text = json.dumps({"name": name, "engine": engine})
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            descriptor = os.open(fresh, flags, _FILE_MODE)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                fresh.replace(path)
            except OSError:
                fresh.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise self._refusal(error) from error

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> ContainerRuntimeError:
        return ContainerRuntimeError(
            f"what belongs to probetui cannot be noted in {self._folder}: "
            f"{error.strerror or error}"
        )


def _engine_in(path: Path) -> str:
    """Return which engine a note is about, empty where it does not say."""
    try:
        return str(json.loads(path.read_text("utf-8"))["engine"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""  # just gone, or not to be read: it stays
