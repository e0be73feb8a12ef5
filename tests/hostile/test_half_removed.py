"""Pods whose removal was interrupted: `ls` shows them and `down` removes them."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probetui.cli.commands.listing import ListedPod
from probetui.cli.runtimes import all_pods, remove_pods
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.k8s.volume import Volume
from probetui.kubelet.effects import CreateContainer, MountVolume
from probetui.ports import Runtime
from probetui.runtimes.cri import files as cri_files
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, CriVersion
from probetui.runtimes.docker.translate import to_docker_id
from probetui.runtimes.process.runtime import ProcessRuntime
from tests.builders import START, a_pod
from tests.fakes import FakeClock, FakeEngine, FakeRuntime
from tests.runtimes.bench import POLITE
from tests.runtimes.conftest import server
from tests.runtimes.cri.server import CriServer
from tests.runtimes.docker.bench import DockerBench
from tests.runtimes.docker.bench import bench as docker
from tests.runtimes.process.bench import ProcessBench, runs

__all__ = ["docker", "server"]

SANDBOX = SandboxStatus("s", is_ready=True)


def a_status(state: RuntimeState) -> RuntimeContainerStatus:
    return RuntimeContainerStatus(ContainerID("docker://c"), "app", state)


RUNS, ENDED = a_status(RuntimeState.RUNNING), a_status(RuntimeState.EXITED)


@pytest.mark.parametrize(
    ("sandboxes", "containers", "holder", "state"),
    [
        pytest.param((SANDBOX,), (RUNS,), "", "running", id="all there"),
        pytest.param((SANDBOX,), (ENDED,), "", "stopped", id="nothing runs"),
        pytest.param((), (RUNS,), "", "half-removed", id="no sandbox"),
        pytest.param((SANDBOX,), (), "", "half-removed", id="no container"),
        pytest.param((), (), "", "half-removed", id="volumes or files only"),
        pytest.param((SANDBOX,), (), "process 7", "starting", id="a session makes it"),
    ],
)
def test_leftovers_of_a_pod_have_a_state(
    sandboxes: tuple[SandboxStatus, ...],
    containers: tuple[RuntimeContainerStatus, ...],
    holder: str,
    state: str,
) -> None:
    status = RuntimePodStatus("u", "web", "default", sandboxes, containers)
    found = ListedPod(FakeRuntime(FakeEngine(FakeClock())), status, holder)

    row = found.row(START, wide=False)

    assert row["STATE"] == found.as_dict(START)["state"] == state


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def remove_all(runtime: Runtime) -> None:
    await remove_pods(runtime, await all_pods(runtime), grace_period_seconds=0)


class TestOnProcesses:
    """Files of sandboxes, containers and volumes."""

    @pytest.fixture
    async def bench(self, tmp_path: Path) -> AsyncIterator[ProcessBench]:
        made = ProcessBench(tmp_path / "base")
        yield made
        await made.clean_up()

    async def test_a_sandbox_that_lost_its_record_is_recorded_again_by_its_session(
        self, bench: ProcessBench
    ) -> None:
        """So that another one finds and removes it with its processes."""
        container_id = await bench.run_ready(f"echo $$ > pid; {POLITE}")
        pid = bench.pid_in(container_id, "pid")
        (record,) = bench.base.glob("*/sandbox.json")
        record.unlink()
        later = ProcessRuntime(bench.base, bench.clock, sees_all=True)

        in_a_session = await bench.runtime.relist()
        (found,) = await all_pods(later)
        await remove_pods(later, [found], grace_period_seconds=0)

        assert [pod.name for pod in in_a_session] == [found.name] == ["web"]
        assert [container.container_id for container in found.containers] == [
            container_id
        ]
        await bench.until_dead(pid)
        assert not runs(pid)
        assert not record.parent.exists()
        await later.close()

    async def test_a_sandbox_that_lost_its_record_and_its_session_is_removed_whole(
        self, bench: ProcessBench
    ) -> None:
        """Also what has none of the variables by which its processes are known."""
        script = "env -i sleep 600 & echo $! > bare; echo $$ > pid; "
        container_id = await bench.run_ready(f"{script}{POLITE}")
        pids = [bench.pid_in(container_id, name) for name in ("pid", "bare")]
        (record,) = bench.base.glob("*/sandbox.json")
        record.unlink()
        later = ProcessRuntime(bench.base, bench.clock, sees_all=True)

        (first,) = await all_pods(later)
        (found,) = await all_pods(later)
        listed = ListedPod(later, found, "").row(START, wide=False)
        await remove_pods(later, [found], grace_period_seconds=1)

        assert first.containers == found.containers
        assert [container.container_id for container in found.containers] == [
            container_id
        ]
        assert listed["STATE"] == "running"
        for pid in pids:
            await bench.until_dead(pid)
        assert not record.parent.exists()
        assert await all_pods(later) == ()
        await later.close()

    async def test_a_sandbox_without_its_record_is_removed_with_its_volumes_by_name(
        self, bench: ProcessBench
    ) -> None:
        container_id = await bench.run_ready(f"echo $$ > pid; {POLITE}")
        pid = bench.pid_in(container_id, "pid")
        (record,) = bench.base.glob("*/sandbox.json")
        pod = a_pod(uid=json.loads(record.read_text())["pod_uid"], name="web")
        later = ProcessRuntime(bench.base, bench.clock, sees_all=True)
        await later.mount_volume(MountVolume(pod, Volume("data"), (), START))
        record.unlink()

        (found,) = await all_pods(later)
        await remove_pods(later, [found], grace_period_seconds=1)

        assert (found.name, found.pod_uid) == ("web", pod.uid)
        await bench.until_dead(pid)
        assert [*bench.base.glob("*"), *bench.base.glob(".volumes/*")] == [
            bench.base / ".volumes"
        ]
        await later.close()

    async def test_a_listing_does_not_record_a_sandbox_of_another_session(
        self, bench: ProcessBench
    ) -> None:
        await bench.run_ready(POLITE)
        (record,) = bench.base.glob("*/sandbox.json")
        record.unlink()
        later = ProcessRuntime(bench.base, bench.clock, sees_all=True)

        await all_pods(later)
        await all_pods(later)
        await later.close()

        assert not record.exists()
        (pod,) = await bench.runtime.relist()
        assert pod.name == "web"
        assert record.exists()

    async def test_an_unknown_folder_is_not_changed(self, bench: ProcessBench) -> None:
        for name in ("theirs", "0123456789ab.bak", ".hidden", "0123456789AB"):
            (bench.base / name).mkdir(parents=True)
            (bench.base / name / "precious").touch()
        (bench.base / "abcdefabcdef").write_text("a file")
        (bench.base / "123456123456").symlink_to(bench.base / "theirs")
        later = ProcessRuntime(bench.base, bench.clock, sees_all=True)

        assert await all_pods(later) == ()
        await later.close()

        assert len([*bench.base.rglob("precious")]) == 4
        assert not (bench.base / "theirs/sandbox.json").exists()

    @pytest.mark.parametrize("left", ["the volume", "whose it was"])
    async def test_partly_removed_volumes_are_found_and_removed(
        self, bench: ProcessBench, left: str
    ) -> None:
        pod = a_pod(uid=uuid.uuid4().hex)
        later = ProcessRuntime(bench.base, bench.clock, sees_all=True)
        await later.mount_volume(MountVolume(pod, Volume("data"), (), START))
        folder = bench.base / ".volumes" / pod.uid
        if left == "the volume":
            (folder / "pod.json").unlink()
        else:
            (folder / "data").rmdir()

        (found,) = await all_pods(later)
        await remove_all(later)

        assert found.pod_uid == pod.uid
        assert not folder.exists()
        assert await all_pods(later) == ()
        await later.close()

    async def test_a_sandbox_being_created_does_not_count_as_half_removed(
        self, bench: ProcessBench
    ) -> None:
        """A sandbox's folder exists with its record, or not at all."""
        later = ProcessRuntime(bench.base, bench.clock, sees_all=True)

        sandbox_id = await bench.sandbox(a_pod())

        (found,) = await all_pods(later)
        assert [sandbox.sandbox_id for sandbox in found.sandboxes] == [sandbox_id]
        assert found.name == "web"
        record = json.loads((bench.base / sandbox_id / "sandbox.json").read_text())
        assert record["sandbox_id"] == sandbox_id
        await later.close()


class TestFilesOnCri:
    """Files and logs, which outlive a sandbox if the program is killed in between."""

    @pytest.fixture
    def logs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        logs = tmp_path / "logs"
        monkeypatch.setattr(cri_files, "POD_LOGS", str(logs))
        monkeypatch.setattr(
            cri_files,
            "sandbox_log_directory",
            lambda pod: f"{logs}/{pod.namespace}_{pod.name}_{pod.uid}",
        )
        return logs

    async def test_files_without_a_sandbox_are_found_and_removed(
        self, server: CriServer, tmp_path: Path, logs: Path
    ) -> None:
        (tmp_path / "cri/pods/u1").mkdir(parents=True)
        (tmp_path / "cri/pods/u2").mkdir()
        (logs / "shop_web_u1").mkdir(parents=True)
        (logs / "shop_web_other").mkdir()
        client = CriClient(server.socket)
        runtime = CriRuntime(
            client, CriVersion("fake", "0"), FakeClock(), CriOptions(tmp_path / "cri")
        )

        found = await all_pods(runtime)
        await remove_all(runtime)
        await runtime.close()

        assert {(status.namespace, status.name) for status in found} == {
            ("shop", "web"),
            ("default", "half-removed-u2"),
        }
        assert names(tmp_path / "cri/pods") == []
        assert names(logs) == ["shop_web_other"]

    async def test_files_of_a_pod_with_any_sandbox_are_kept(
        self, server: CriServer, tmp_path: Path, logs: Path
    ) -> None:
        """A kubelet runs a pod with the same uid: the logs are in use."""
        server.add_container({"io.kubernetes.pod.uid": "u1"})
        (tmp_path / "cri/pods/u1").mkdir(parents=True)
        (logs / "shop_web_u1").mkdir(parents=True)
        runtime = CriRuntime(
            CriClient(server.socket),
            CriVersion("fake", "0"),
            FakeClock(),
            CriOptions(tmp_path / "cri"),
        )

        await remove_all(runtime)
        await runtime.close()

        assert (logs / "shop_web_u1").is_dir()


@pytest.mark.docker
@pytest.mark.slow
class TestOnDocker:
    """Containers, sandboxes and volumes without each other."""

    async def test_all_leftovers_of_pods_are_found_and_removed(
        self, docker: DockerBench
    ) -> None:
        async def sandbox_of(name: str) -> str:
            pod = a_pod(name=name, uid=f"{name}-{docker.options.owner}")
            sandbox_id = await docker.sandbox(pod)
            app = docker.container(POLITE)
            operation = CreateContainer(pod, app, sandbox_id, 0, "")
            made = await docker.runtime.create_container(operation)
            await docker.runtime.start_container(made)
            await docker.runtime.mount_volume(
                MountVolume(pod, Volume("data"), (), START)
            )
            return to_docker_id(made) if name == "empty" else sandbox_id

        docker.docker(await sandbox_of("orphans")).remove(force=True, v=True)
        docker.docker(await sandbox_of("empty")).remove(force=True, v=True)
        gone = await sandbox_of("volumes")
        await docker.runtime.remove_pod_sandbox(gone)

        found = await all_pods(docker.another())
        await remove_all(docker.another())

        what = {pod.name: (len(pod.sandboxes), len(pod.containers)) for pod in found}
        assert what == {"orphans": (0, 1), "empty": (1, 0), "volumes": (0, 0)}
        assert await all_pods(docker.another()) == ()
        assert docker.volumes() == []
        assert names(docker.folder / "containers") == []
