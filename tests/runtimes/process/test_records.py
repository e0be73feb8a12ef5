"""What is on disk."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.runtimes.process import records
from probetui.runtimes.process.records import (
    ProcessContainerRecord,
    ProcessSandboxRecord,
)
from probetui.runtimes.process_identity import Process
from tests.builders import at

SANDBOX = ProcessSandboxRecord(
    sandbox_id="5a5a",
    pod_uid="../uid",
    pod_name="web",
    namespace="default",
    attempt=1,
    host_network=False,
    ip="127.3.2.1",
    is_ready=True,
    created_at=at(1.5),
    owner=Process(17, "boot/4711"),
    labels={"app": "web"},
)
CREATED = ProcessContainerRecord(
    container_id="c0c0",
    name="app",
    image="busybox",
    attempt=2,
    hash=0xDEADBEEF,
    command=("/bin/sh", "-c", "\udcff ☕ \x1b[31m"),
    env={"A": "caf\udce9"},
    working_dir="/somewhere",
    is_message_from_log=True,
    created_at=at(2),
)
EXITED = replace(
    CREATED,
    process=Process(18, "boot/4712"),
    started_at=at(3),
    finished_at=at(4),
    exit_code=7,
    reason="Error",
    message="\udcff",
)


def test_a_sandbox_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / SANDBOX.sandbox_id / "sandbox.json"
    file.parent.mkdir()

    records.write(file, SANDBOX)

    assert records.read_sandbox(file) == SANDBOX


def test_a_sandbox_of_an_earlier_version_has_no_labels(
    tmp_path: Path,
) -> None:
    file = tmp_path / SANDBOX.sandbox_id / "sandbox.json"
    file.parent.mkdir()
    records.write(file, SANDBOX)
    content = json.loads(file.read_text())
    del content["labels"]

    file.write_text(json.dumps(content))

    assert records.read_sandbox(file) == replace(SANDBOX, labels=None)


@pytest.mark.parametrize(
    "record",
    [pytest.param(CREATED, id="created"), pytest.param(EXITED, id="exited")],
)
def test_a_container_is_read_as_it_was_written(
    tmp_path: Path, record: ProcessContainerRecord
) -> None:
    file = tmp_path / record.container_id / "container.json"
    file.parent.mkdir()

    records.write(file, record)

    assert records.read_container(file) == record


def test_only_the_user_can_read_a_record(tmp_path: Path) -> None:
    file = tmp_path / "container.json"

    records.write(file, CREATED)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("{", id="half of it"),
        pytest.param("[]", id="a list"),
        pytest.param('{"sandbox_id": "5a5a"}', id="fields that are missing"),
        pytest.param('{"of": "another version"}', id="fields nobody knows"),
        pytest.param('{"created_at": 5}', id="a time that is none"),
        pytest.param('{"owner": 5}', id="a process that is none"),
        pytest.param("\xff", id="not text"),
    ],
)
def test_what_cannot_be_read_is_no_record(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sandbox.json"
    file.write_text(text, encoding="latin-1")

    assert records.read_sandbox(file) is None
    assert records.read_container(file) is None


def test_a_file_that_was_replaced_has_another_signature(tmp_path: Path) -> None:
    file = tmp_path / "container.json"
    assert records.signature(file) is None

    records.write(file, CREATED)
    first = records.signature(file)
    records.write(file, EXITED)

    assert first is not None
    assert first != records.signature(file)


def test_folders_have_names_of_their_own_and_are_the_users(tmp_path: Path) -> None:
    folders = {records.new_folder(tmp_path) for _ in range(20)}

    assert len(folders) == 20
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_records_are_plain_json(tmp_path: Path) -> None:
    file = tmp_path / "container.json"

    records.write(file, EXITED)

    fields = json.loads(file.read_text("ascii"))
    assert fields["process"] == {"pid": 18, "born": "boot/4712"}
    assert fields["finished_at"] == "2025-01-01T12:00:04+00:00"
