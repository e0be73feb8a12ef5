"""What is known of the processes of containers, and what a command beside them gets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psutil  # noqa: F401  # it looks which system this is when it is imported
import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.kuberuntime.labels import CONTAINER_NAME, POD_NAME, POD_NAMESPACE
from probetui.runtimes.process import records
from probetui.runtimes.process.listing import (
    ProcessEnvironment,
    environment_from_psutil,
    environment_of_container,
    environment_of_process,
    list_with_pods,
)
from probetui.runtimes.process.records import ProcessContainerRecord
from probetui.runtimes.process_identity import Process, identify
from tests.runtimes.process.test_records import SANDBOX

HERE = identify(os.getpid())
RECORD = ProcessContainerRecord(
    "0a1b2c3d4e5f", "app", "image", 0, 1, ("true",), {"A": "b"}, "/somewhere",
    is_message_from_log=False, created_at=datetime(2026, 1, 1, tzinfo=UTC),
    process=HERE,
)  # fmt: skip


def kept(folder: Path, record: ProcessContainerRecord) -> Path:
    """Put a container's record where the runtime would; return the pods' folder."""
    place = folder / SANDBOX.sandbox_id / record.container_id
    place.mkdir(parents=True)
    records.write(place / records.CONTAINER_FILE, record)
    return folder


def test_of_a_container_they_are_those_it_was_started_with(tmp_path: Path) -> None:
    found = environment_of_container(kept(tmp_path, RECORD), "0a1b2c3d4e5f")

    assert found.folder == Path("/somewhere")
    assert found.env == {"A": "b"}


@pytest.mark.parametrize("platform", [sys.platform, "darwin"])
def test_of_a_process_they_are_its_own(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is /proc, and where there is none."""
    monkeypatch.setattr(sys, "platform", platform)
    env = {**os.environ, "GREETING": "hello"}
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path, env=env) as child:
        found = environment_of_container(tmp_path, str(child.pid))
        child.kill()

    assert found.folder == tmp_path
    assert found.env["GREETING"] == "hello"


@pytest.mark.parametrize("ask", [environment_of_process, environment_from_psutil])
def test_of_a_process_that_has_ended_they_are_ours(
    ask: Callable[[int], ProcessEnvironment],
) -> None:
    found = ask(2**22 + 1)

    assert found == ProcessEnvironment(Path("/"), os.environ)


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


def test_the_process_of_a_container_is_listed_with_its_pod(tmp_path: Path) -> None:
    """So that `attach` finds it as `probetui ls` shows it."""
    folder = kept(tmp_path, RECORD)
    records.write(folder / SANDBOX.sandbox_id / records.SANDBOX_FILE, SANDBOX)

    listed = {one.pid: one for one in list_with_pods(folder)}

    own, other = listed.pop(os.getpid()), listed.pop(os.getppid())
    assert {"0a1b2c3d4e5f", "process://0a1b2c3d4e5f"} < set(own.names)
    assert own.labels == {
        "app": "web",
        POD_NAMESPACE: "default",
        POD_NAME: "web",
        CONTAINER_NAME: "app",
    }
    assert own.ip == "127.3.2.1"
    assert (other.labels, other.ip) == ({}, "127.0.0.1")


def test_a_process_that_got_the_number_of_an_ended_one_is_no_container(
    tmp_path: Path,
) -> None:
    ended = Process(os.getpid(), "another time")
    folder = kept(tmp_path, replace(RECORD, process=ended))
    records.write(folder / SANDBOX.sandbox_id / records.SANDBOX_FILE, SANDBOX)

    (own,) = (one for one in list_with_pods(folder) if one.pid == os.getpid())

    assert own.labels == {}
