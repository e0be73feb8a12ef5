"""Where a process runs, and with which variables: what a command beside it gets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.process import records
from probetui.runtimes.process_identity import PROC, identify, is_alive


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A folder and variables."""

    folder: Path
    env: Mapping[str, str]


def of_process(pid: int) -> Surroundings:
    """Return those of a process; our own where they may not be seen."""
    return Surroundings(_folder(pid), _environment(pid))


def of_container(pods_folder: Path, container_id: str) -> Surroundings:
    """Return those of a container that runs, or of a process by its number.

    Args:
        pods_folder: what the runtime keeps of its pods.
        container_id: without `process://`.

    Raises:
        ContainerRuntimeError: there is none, or it does not run.
    """
    name = records.CONTAINER_FILE
    for path in pods_folder.glob("*/*/"):
        record = records.read_container(path / name)
        if record is None or not record.container_id.startswith(container_id):
            continue
        if record.process is None or not is_alive(record.process):
            raise ContainerRuntimeError(f"{container_id} does not run")
        return Surroundings(Path(record.working_dir), record.env)
    if container_id.isdecimal() and identify(int(container_id)) is not None:
        return of_process(int(container_id))
    raise ContainerRuntimeError(f"there is no process or container {container_id}")


def _environment(pid: int) -> Mapping[str, str]:
    try:
        text = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return os.environ
    pairs = (
        each.decode("utf-8", "surrogateescape").partition("=")
        for each in text.split(b"\0")
        if each
    )
    return {name: value for name, _, value in pairs if name}


def _folder(pid: int) -> Path:
    try:
        return (PROC / str(pid) / "cwd").readlink()
    except OSError:
        return Path("/")
