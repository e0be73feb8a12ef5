"""Records of sandboxes and containers on disk, where later sessions find them.

The folder of the runtime has a folder for each sandbox, with `sandbox.json` and a
folder for each container. That has `container.json`, the log `<attempt>.log`, and the
container's folders `home` and `tmp`. Files are replaced atomically.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from probetui.runtimes.process_identity import Process, identify
from probetui.runtimes.translation import PodName
from probetui.untrusted_files import DirectoryRoot

logger = logging.getLogger(__name__)

SANDBOX_FILE = "sandbox.json"
CONTAINER_FILE = "container.json"

FOLDER_MODE = 0o700

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""More than an environment may have; a longer file is not ours."""

_NAME_BYTES = 6
_NAME = re.compile(r"[0-9a-f]{12}")
_BEING_CREATED = re.compile(r"\.new-(\d+)-[0-9a-f]{12}")
"""A sandbox that is being created; the name has the PID of the process doing so."""

_FIRST_OF_USERS = 2
"""We never start process 1, and to kill its group is to kill every process."""

_MAX_NUMBER = (1 << 62) - 1

Signature = tuple[int, int, int]
"""Identifies a version of a file: it changes when the file is replaced."""


class ProcessSandboxRecord(Struct, frozen=True):
    """A sandbox; `owner` is the probetui process that manages it.

    `labels` are the pod's, None in records of earlier versions.
    """

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
    labels: dict[str, str] | None = None


class ProcessContainerRecord(Struct, frozen=True):
    """A container; `process` is its main process once it was started.

    `command`, `env` and `working_dir` have no references any more. `message_path` is
    the termination message file, empty for none. `number` is that of its processes, see
    `descendants`; 0 for none, as in earlier versions. `is_frozen` is written before the
    container is frozen: if probetui is killed, the next one thaws it. `stop_signal` is
    the number of the signal that stops the main process. `pod` says whose it is if its
    sandbox loses its record; None in records of earlier versions.
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
    stop_signal: int = signal.SIGTERM
    pod: PodName | None = None


Record = TypeVar("Record", ProcessSandboxRecord, ProcessContainerRecord)


def new_folder(parent: Path) -> Path:
    """Create a folder with a random name, which is the ID of its container.

    Names are short because paths of unix sockets must be.
    """
    while True:
        name = os.urandom(_NAME_BYTES).hex()
        try:
            DirectoryRoot(parent).make_directory(name, FOLDER_MODE)
        except FileExistsError:
            continue
        return parent / name


def new_sandbox_folder(
    parent: Path, record_of: Callable[[str], ProcessSandboxRecord]
) -> Path:
    """Create a sandbox's folder together with its record, atomically.

    Args:
        parent: the folder of the runtime.
        record_of: returns the record of a sandbox with an ID.
    """
    root = DirectoryRoot(parent)
    while True:
        name = os.urandom(_NAME_BYTES).hex()
        if root.exists(name):
            continue
        temporary = f".new-{os.getpid()}-{name}"
        root.make_directory(temporary, FOLDER_MODE)
        try:
            write(parent / temporary / SANDBOX_FILE, record_of(name))
            root.rename(temporary, name)
        except BaseException:
            root.remove_tree(temporary)
            raise
        return parent / name


def is_id(name: str) -> bool:
    """Return whether the folder of a sandbox or a container can have that name."""
    return _NAME.fullmatch(name) is not None


def remove_half_created(parent: Path, name: str) -> None:
    """Remove a half-created sandbox if the process that created it has ended."""
    match = _BEING_CREATED.fullmatch(name)
    if match and identify(int(match[1])) is None:
        try:
            DirectoryRoot(parent).remove_tree(name)
        except OSError as error:
            logger.warning("%s", error)


def write(path: Path, record: ProcessSandboxRecord | ProcessContainerRecord) -> None:
    """Replace a record's file; raises `OSError` when its folder is gone."""
    text = json.dumps(
        msgspec.to_builtins(record, builtin_types=(datetime,)),
        default=datetime.isoformat,
        indent=1,
    )
    # Environments may hold secrets.
    DirectoryRoot(path.parent).replace_file(path.name, text.encode("ascii"), 0o600)


def signature(path: Path) -> Signature | None:
    """Return the signature of a file, None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def read_sandbox(path: Path) -> ProcessSandboxRecord | None:
    """Read a sandbox's record, None if it is missing or invalid."""
    record = _read(path, ProcessSandboxRecord)
    is_its_own = record is not None and record.sandbox_id == path.parent.name
    return record if is_its_own else None


def read_container(path: Path) -> ProcessContainerRecord | None:
    """Read a container's record, None if it is missing or invalid.

    It is validated because it has effects: its process will be killed.
    """
    record = _read(path, ProcessContainerRecord)
    if record is None or record.container_id != path.parent.name:
        return None
    if record.process is not None and record.process.pid < _FIRST_OF_USERS:
        return None
    return record if 0 <= record.number <= _MAX_NUMBER else None


def pod_of_containers(folder: Path) -> PodName | None:
    """Return the pod that the containers in a sandbox's folder name, None if none does.

    Raises:
        OSError: the folder could not be read.
    """
    for name in filter(is_id, DirectoryRoot(folder).names()):
        record = read_container(folder / name / CONTAINER_FILE)
        if record is not None and record.pod is not None:
            return record.pod
    return None


def _read(path: Path, kind: type[Record]) -> Record | None:
    try:
        text = DirectoryRoot(path.parent).read_file(path.name, MAX_RECORD_BYTES)
        record = msgspec.convert(json.loads(text), kind)
    except (OSError, ValueError, RecursionError):
        return None  # not ours, or damaged
    # Without a time zone it cannot be compared.
    return record if record.created_at.tzinfo else None
