"""What is on disk of sandboxes and containers, so that any probetui can find them.

The folder of the runtime has one folder per sandbox, in it `sandbox.json` and one
folder per container with `container.json`, the log `<attempt>.log`, and the folders
`home` and `tmp` that the container gets. Files are replaced, never rewritten, so that
a reader never sees half of one.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from probetui.runtimes.process_identity import Process, identify
from probetui.untrusted_files import DirectoryRoot

logger = logging.getLogger(__name__)

SANDBOX_FILE = "sandbox.json"
CONTAINER_FILE = "container.json"

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""More than an environment may take; a longer file is none of ours."""

_NAME_BYTES = 6
_NAME = re.compile(r"[0-9a-f]{12}")
_BEING_MADE = re.compile(r"\.new-(\d+)-[0-9a-f]{12}")
"""A sandbox that is not whole yet; in its name the process that makes it."""

_FIRST_OF_USERS = 2
"""Nothing that we started is process 1, and to kill group 1 is to kill all there is."""

_MAX_NUMBER = (1 << 62) - 1

Signature = tuple[int, int, int]
"""What tells a file from the one that replaced it."""


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    """A sandbox; `owner` is the probetui that looks after it."""

    sandbox_id: str
    pod_uid: str
    pod_name: str
    namespace: str
    attempt: int
    host_network: bool
    ip: str
    is_ready: bool
    created_at: datetime
    owner: Process


@dataclass(frozen=True, slots=True)
class ContainerRecord:
    """A container; `process` is its main process once it was started.

    `command`, `env` and `working_dir` are finished: they can be run as they are.
    `message_path` is the file for last words, empty for none. `number` is what all that
    runs in it bears, see `descendants`; 0 for none, as earlier versions had it.
    `is_frozen` is written before it is so: should probetui be killed, the next one lets
    it go on.
    """

    container_id: str
    name: str
    image: str
    attempt: int
    hash: int
    command: tuple[str, ...]
    env: dict[str, str]
    working_dir: str
    is_message_from_log: bool
    created_at: datetime
    message_path: str = ""
    number: int = 0
    process: Process | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    is_frozen: bool = False


Record = TypeVar("Record", SandboxRecord, ContainerRecord)


def new_folder(parent: Path) -> Path:
    """Make a folder with a name that nothing has; it is the ID of what is in it.

    Names are short because paths of unix sockets have to be.
    """
    while True:
        name = secrets.token_hex(_NAME_BYTES)
        try:
            DirectoryRoot(parent).make_directory(name, 0o700)
        except FileExistsError:
            continue
        return parent / name


def new_sandbox_folder(parent: Path, record_of: Callable[[str], SandboxRecord]) -> Path:
    """Make a sandbox's folder; whoever sees it sees its record too.

    Args:
        parent: where it is made.
        record_of: returns the record of a sandbox with that ID.
    """
    root = DirectoryRoot(parent)
    while True:
        name = secrets.token_hex(_NAME_BYTES)
        if root.exists(name):
            continue
        making = f".new-{os.getpid()}-{name}"
        root.make_directory(making, 0o700)
        try:
            write(parent / making / SANDBOX_FILE, record_of(name))
            root.rename(making, name)
        except BaseException:
            root.remove_tree(making)
            raise
        return parent / name


def is_id(name: str) -> bool:
    """Tell whether the folder of a sandbox or a container can have that name."""
    return _NAME.fullmatch(name) is not None


def remove_left(parent: Path, name: str) -> None:
    """Remove a sandbox's folder that a process was making which has ended since."""
    found = _BEING_MADE.fullmatch(name)
    if found and identify(int(found[1])) is None:
        try:
            DirectoryRoot(parent).remove_tree(name)
        except OSError as error:
            logger.warning("%s", error)


def write(path: Path, record: SandboxRecord | ContainerRecord) -> None:
    """Replace a record's file; raises `OSError` when its folder is gone."""
    text = json.dumps(asdict(record), default=datetime.isoformat, indent=1)
    # Environments may hold secrets.
    DirectoryRoot(path.parent).replace_file(path.name, text.encode("ascii"), 0o600)


def signature(path: Path) -> Signature | None:
    """Return what changes whenever a file is replaced, None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def read_sandbox(path: Path) -> SandboxRecord | None:
    """Read a sandbox's record, None if there is none that can be read."""
    record = _read(path, SandboxRecord)
    is_its_own = record is not None and record.sandbox_id == path.parent.name
    return record if is_its_own else None


def read_container(path: Path) -> ContainerRecord | None:
    """Read a container's record, None if there is none that can be read.

    What it says is acted on: a process that it names is killed one day.
    """
    record = _read(path, ContainerRecord)
    if record is None or record.container_id != path.parent.name:
        return None
    if record.process is not None and record.process.pid < _FIRST_OF_USERS:
        return None
    return record if 0 <= record.number <= _MAX_NUMBER else None


def _read(path: Path, kind: type[Record]) -> Record | None:
    try:
        text = DirectoryRoot(path.parent).read_file(path.name, MAX_RECORD_BYTES)
        record = msgspec.convert(json.loads(text), kind)
    except (OSError, ValueError, RecursionError):
        return None  # not ours, or damaged
    # Without a time zone it cannot be compared with others.
    return record if record.created_at.tzinfo else None
