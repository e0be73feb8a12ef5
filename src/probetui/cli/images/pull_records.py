"""Records on disk of the images that probetui pulled: images cannot be labelled.

One file per image, in one folder per store of images. A file is replaced as a whole, so
that it is never half written. What cannot be read or written is as if it had never been
noted: such an image is not ours, and nothing is done to it.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from probetui.cli.folders import make_private_directory, state_folder
from probetui.errors import RecordError
from probetui.kubelet.images.image_gc_manager import NEVER, ImageRecord
from probetui.untrusted_files import DirectoryRoot

log = logging.getLogger(__name__)

_FILE_MODE = 0o600
_SUFFIX = ".json"
_MAX_BYTES = 1024 * 1024
"""The most that is read of a record: the names of an image are few."""


class PulledImageRecord(Struct, frozen=True):
    """An image that probetui pulled when it was not here.

    Attributes:
        image_id: what names its content.
        names: the names that it got by pulls of ours, as the runtime writes them.
        copy: identifies the copy that we pulled.
        pulled_at: when.
        last_used: when it was last seen in use.
    """

    image_id: str
    names: frozenset[str]
    copy: str
    pulled_at: datetime
    last_used: datetime = NEVER

    @property
    def record(self) -> ImageRecord:
        """What the collection has to know of its past."""
        return ImageRecord(self.image_id, self.pulled_at, self.last_used)


class PulledImageStore:
    """The records about one image store.

    Args:
        store_id: identifies the store.
        folder: where the notes of all stores are.
    """

    def __init__(self, store_id: str, folder: Path | None = None) -> None:
        # A name with a dot in front would be hidden, or another folder.
        name = quote(store_id, safe="").replace(".", "%2E")
        self._folder = (folder or state_folder() / "images") / name

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep other processes from changing the notes for as long as the block lasts.

        Raises:
            RecordError: the notes cannot be changed, be it in the block.
        """
        flags = os.O_RDWR | os.O_CREAT
        try:
            make_private_directory(self._folder)
            descriptor = DirectoryRoot(self._folder).open_file("lock", flags)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)
        except OSError as error:
            raise RecordError(
                f"the pull records in {self._folder} cannot be changed: "
                f"{error.strerror or error}"
            ) from error

    def all(self) -> dict[str, PulledImageRecord]:
        """Return what was noted, by image ID."""
        records = (_read(path) for path in sorted(self._folder.glob(f"*{_SUFFIX}")))
        return {us.image_id: us for us in records if us is not None}

    def save(self, image: PulledImageRecord) -> None:
        """Record an image, replacing its earlier record; only while `changing`."""
        document = {
            "id": image.image_id,
            "names": sorted(image.names),
            "copy": image.copy,
            "pulledAt": image.pulled_at.isoformat(),
            "lastUsed": None
            if image.last_used == NEVER
            else image.last_used.isoformat(),
        }
        DirectoryRoot(self._folder).replace_file(
            self._file(image.image_id).name, json.dumps(document).encode(), _FILE_MODE
        )

    def forget(self, image_id: str) -> None:
        """Drop what was noted of an image, while `changing`."""
        root = DirectoryRoot(self._folder)
        root.unlink(self._file(image_id).name, missing_ok=True)

    def _file(self, image_id: str) -> Path:
        return self._folder / f"{quote(image_id, safe='')}{_SUFFIX}"


def _read(path: Path) -> PulledImageRecord | None:
    try:
        document: Any = json.loads(
            DirectoryRoot(path.parent).read_file(path.name, _MAX_BYTES)
        )
        last_used = document["lastUsed"]
        return PulledImageRecord(
            str(document["id"]),
            frozenset(map(str, document["names"])),
            str(document["copy"]),
            _instant(document["pulledAt"]),
            NEVER if last_used is None else _instant(last_used),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        log.warning("%s is not a pull record: %r", path, error)
        return None


def _instant(text: str) -> datetime:
    """Read an instant; raises `ValueError` for one without a zone."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(text)
    return at.astimezone(UTC)
