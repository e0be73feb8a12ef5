"""A state folder that is full, damaged or edited by hand."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import RuntimeState
from probetui.kubelet.effects import CreateContainer, RunPodSandbox
from probetui.ports import Runtime
from probetui.runtimes.process import records
from probetui.runtimes.process.runtime import ProcessRuntime
from probetui.runtimes.process_identity import Process, identify
from tests.builders import a_container, a_pod
from tests.hostile.arena import Arena, isolated, mount_tmpfs
from tests.runtimes.bench import sh
from tests.runtimes.process.bench import ProcessBench

ENDED = Process(999999999, "an earlier boot/1")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ProcessBench]:
    made = ProcessBench(tmp_path)
    yield made
    await made.clean_up()


async def a_running_pod(runtime: Runtime, name: str = "web") -> int:
    """Run a pod, and return the PID of its main process."""
    assert isinstance(runtime, ProcessRuntime)
    container = a_container(command=sh("exec sleep 600"))
    pod = a_pod(container, name=name, uid=f"uid-of-{name}")
    sandbox_id = await runtime.run_pod_sandbox(RunPodSandbox(pod, 0))
    operation = CreateContainer(pod, container, sandbox_id, 0, "image")
    container_id = await runtime.create_container(operation)
    await runtime.start_container(container_id)
    for sandbox in runtime._sandboxes.values():
        for made in sandbox.containers.values():
            if made.status.container_id == container_id:
                assert made.record.process
                return made.record.process.pid
    raise AssertionError(container_id)


def files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


async def remove_all(runtime: ProcessRuntime) -> list[str]:
    """Remove all pods like `down --all`; return their names."""
    pods = await runtime.relist()
    for pod in pods:
        for sandbox in pod.sandboxes:
            await runtime.remove_pod_sandbox(sandbox.sandbox_id)
    return [pod.name for pod in pods]


def fill(folder: Path) -> None:
    """Fill a file system completely."""
    facts = os.statvfs(folder)
    (folder / "filler").write_bytes(bytes(facts.f_bavail * facts.f_bsize))


@isolated
async def test_a_pod_is_removed_without_room_to_note_its_exit(
    arena: Arena,
) -> None:
    base = arena.work / "base"
    base.mkdir()
    mount_tmpfs(base, "size=256k")
    bench = ProcessBench(base)
    runtime = ProcessRuntime(base, SystemClock(), sees_all=True)
    process = await a_running_pod(runtime)
    fill(base)

    assert await remove_all(runtime) == ["web"]

    await bench.until_dead(process)
    assert await runtime.relist() == ()
    assert os.listdir(base) == ["filler"]
    await runtime.close()


@isolated
async def test_pods_of_a_killed_session_are_listed_and_removed_on_a_full_disk(
    arena: Arena,
) -> None:
    base = arena.work / "base"
    base.mkdir()
    mount_tmpfs(base, "size=256k")
    bench = ProcessBench(base)
    first = ProcessRuntime(base, SystemClock())
    process = await a_running_pod(first)
    (sandbox,) = first._sandboxes.values()
    change(sandbox.folder / records.SANDBOX_FILE, owner=asdict(ENDED))
    fill(base)
    later = ProcessRuntime(base, SystemClock(), sees_all=True)

    assert await remove_all(later) == ["web"]

    await bench.until_dead(process)
    assert os.listdir(base) == ["filler"]
    await first.close()
    await later.close()


def change(file: Path, **fields: Any) -> None:
    """Edit a record by hand."""
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


@pytest.mark.parametrize("has_record", [False, True])
async def test_a_sandbox_that_a_killed_probetui_half_created_is_removed(
    bench: ProcessBench, tmp_path: Path, *, has_record: bool
) -> None:
    await a_running_pod(bench.runtime)
    (folder,) = files(tmp_path, "*")
    making = tmp_path / f".new-{ENDED.pid}-{'ab' * 6}"
    making.mkdir()
    if has_record:
        shutil.copy(folder / records.SANDBOX_FILE, making)
        change(making / records.SANDBOX_FILE, sandbox_id="ab" * 6, owner=asdict(ENDED))
    other = ProcessRuntime(tmp_path, SystemClock(), sees_all=True)

    await remove_all(other)

    assert not await other.relist()
    assert os.listdir(tmp_path) == []
    await other.close()


async def test_a_copy_of_a_sandbox_is_not_removed_in_its_place(
    bench: ProcessBench, tmp_path: Path
) -> None:
    await a_running_pod(bench.runtime)
    (folder,) = files(tmp_path, "*")
    shutil.copytree(folder, tmp_path / ("cd" * 6))
    other = ProcessRuntime(tmp_path, SystemClock(), sees_all=True)

    await remove_all(other)

    assert not await other.relist()
    assert os.listdir(tmp_path) == []
    await other.close()


ME = identify(os.getpid())
assert ME
INIT = identify(1)
assert INIT


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"process": asdict(INIT)}, id="process 1"),
        pytest.param({"process": {"pid": "self", "born": ME.born}}, id="a path"),
        pytest.param({"process": {"pid": -1, "born": ""}}, id="everybody"),
        pytest.param({"process": {"pid": 0, "born": ""}}, id="our own group"),
        pytest.param({"process": 7}, id="no process"),
        pytest.param({"number": "many"}, id="no number"),
        pytest.param({"created_at": "2026-01-01T00:00:00"}, id="no time zone"),
        pytest.param({"created_at": 5}, id="no instant"),
        pytest.param({"env": ["A=b"]}, id="a list of variables"),
        pytest.param({"env": {"A": 5}}, id="a variable that is a number"),
        pytest.param({"command": "sh"}, id="a command that is a text"),
        pytest.param({"working_dir": None}, id="no working directory"),
        pytest.param({"container_id": "../.."}, id="another ID"),
        pytest.param({"attempt": "../../x"}, id="an attempt that is a path"),
        pytest.param({"name": {}}, id="a name that is none"),
        pytest.param({"message": 5}, id="last words that are a number"),
    ],
)
async def test_an_invalid_record_is_not_ours_and_is_removed_with_its_pod(
    bench: ProcessBench, tmp_path: Path, fields: dict[str, Any]
) -> None:
    process = await a_running_pod(bench.runtime)
    (file,) = files(tmp_path, f"*/*/{records.CONTAINER_FILE}")
    change(file, **fields)

    assert records.read_container(file) is None

    other = ProcessRuntime(tmp_path, SystemClock(), sees_all=True)
    assert len(await remove_all(other)) == 1
    await bench.until_dead(process)
    assert os.listdir(tmp_path) == []
    await other.close()


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"created_at": str(datetime(2026, 1, 1))}, id="no time zone"),  # noqa: DTZ001
        pytest.param({"pod_name": 5}, id="a name that is a number"),
        pytest.param({"ip": None}, id="no address"),
        pytest.param({"owner": None}, id="no owner"),
        pytest.param({"owner": {"pid": "1/../self", "born": ""}}, id="a path"),
        pytest.param({"sandbox_id": "../.."}, id="another ID"),
        pytest.param({"is_ready": "no"}, id="neither yes nor no"),
    ],
)
async def test_a_pod_with_a_damaged_record_is_still_listed_and_removed(
    bench: ProcessBench, tmp_path: Path, fields: dict[str, Any]
) -> None:
    process = await a_running_pod(bench.runtime)
    (file,) = files(tmp_path, f"*/{records.SANDBOX_FILE}")
    change(file, **fields)
    other = ProcessRuntime(tmp_path, SystemClock(), sees_all=True)

    assert len(await remove_all(other)) == 1

    await bench.until_dead(process)
    assert os.listdir(tmp_path) == []
    await other.close()


@pytest.mark.parametrize("depth", ["", "*", "*/*"], ids=["all", "sandbox", "container"])
@pytest.mark.parametrize("is_moved", [True, False], ids=["moved", "removed"])
async def test_what_runs_is_remembered_when_its_folder_is_gone(
    bench: ProcessBench, tmp_path: Path, depth: str, *, is_moved: bool
) -> None:
    """Forgotten, it would be started again at once, a second time."""
    base = tmp_path / "pods"
    runtime = ProcessRuntime(base, SystemClock())
    process = await a_running_pod(runtime)
    folder = base
    if depth:
        (folder,) = (it for it in base.glob(depth) if it.is_dir())
    if is_moved:
        folder.rename(tmp_path / "elsewhere")
    else:
        shutil.rmtree(folder)  # noqa: TID251  # the test's own

    (pod,) = await runtime.relist()
    other = ProcessRuntime(base, SystemClock(), sees_all=True)
    (seen,) = await other.relist()

    for found in (pod, seen):
        assert [it.state for it in found.containers] == [RuntimeState.RUNNING]
    assert await remove_all(other) == ["web"]
    await bench.until_dead(process)
    assert await runtime.relist() == ()
    assert os.listdir(base) == []
    await other.close()
    await runtime.close()


async def test_what_runs_is_remembered_where_no_record_can_be_written(
    bench: ProcessBench, tmp_path: Path
) -> None:
    base = tmp_path / "pods"
    runtime = ProcessRuntime(base, SystemClock())
    process = await a_running_pod(runtime)
    base.rename(tmp_path / "elsewhere")
    base.write_text("not a folder", "utf-8")

    with pytest.raises(ContainerRuntimeError):
        await runtime.relist()
    base.unlink()
    (pod,) = await runtime.relist()
    (sandbox,) = pod.sandboxes
    assert [it.state for it in pod.containers] == [RuntimeState.RUNNING]

    await runtime.remove_pod_sandbox(sandbox.sandbox_id)

    await bench.until_dead(process)
    assert await runtime.relist() == ()
    await runtime.close()
