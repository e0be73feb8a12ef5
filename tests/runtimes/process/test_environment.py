"""What a command gets that is run beside a process, by hand or by a probe."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.process import records
from probetui.runtimes.process.listing import environment_of_container
from probetui.runtimes.process.records import ProcessContainerRecord
from probetui.runtimes.process_identity import Process, identify

HERE = identify(os.getpid())
RECORD = ProcessContainerRecord(
    "0a1b2c3d4e5f", "app", "image", 0, 1, ("true",), {"A": "b"}, "/somewhere",
    is_message_from_log=False, created_at=datetime(2026, 1, 1, tzinfo=UTC),
    process=HERE,
)  # fmt: skip


def kept(folder: Path, record: ProcessContainerRecord) -> Path:
    """Put a container's record where the runtime would; return the pods' folder."""
    place = folder / "sandbox" / record.container_id
    place.mkdir(parents=True)
    records.write(place / records.CONTAINER_FILE, record)
    return folder


def test_of_a_container_they_are_those_it_was_started_with(tmp_path: Path) -> None:
    found = environment_of_container(kept(tmp_path, RECORD), "0a1b2c3d4e5f")

    assert found.folder == Path("/somewhere")
    assert found.env == {"A": "b"}


def test_of_a_process_they_are_its_own(tmp_path: Path) -> None:
    found = environment_of_container(tmp_path, str(os.getpid()))

    assert found.folder == Path.cwd()
    assert "PATH" in found.env


@pytest.mark.parametrize(
    ("process", "container_id", "problem"),
    [
        pytest.param(None, "0a1b2c3d4e5f", "does not run", id="not started"),
        pytest.param(
            Process(2, "another time"), "0a1b2c3d4e5f", "does not run", id="ended"
        ),
        pytest.param(HERE, "ffff", "there is no process or container", id="unknown"),
        pytest.param(HERE, "999999999", "there is no process", id="no such number"),
    ],
)
def test_what_does_not_run_has_none(
    tmp_path: Path, process: Process | None, container_id: str, problem: str
) -> None:
    folder = kept(tmp_path, replace(RECORD, process=process))

    with pytest.raises(ContainerRuntimeError, match=problem):
        environment_of_container(folder, container_id)
