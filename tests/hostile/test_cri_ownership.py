"""Unmanaged sandboxes on a CRI runtime that look like managed ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.effects import RunPodSandbox
from probetui.runtimes.cri import files as cri_files
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, CriVersion
from probetui.runtimes.translation import NONCE, OWNER, VERSION
from tests.builders import a_pod
from tests.fakes import FakeClock
from tests.runtimes.bench import POLITE
from tests.runtimes.conftest import server
from tests.runtimes.cri.bench import ENGINE, CriBench, bench
from tests.runtimes.cri.server import CriServer

__all__ = ["bench", "server"]

OURS = {OWNER: "me", VERSION: "0.1.0"}


class TestByLabels:
    """A kubelet passes on the labels of a manifest; crictl accepts any."""

    @pytest.fixture
    async def runtime(
        self, server: CriServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[CriRuntime]:
        monkeypatch.setattr(cri_files, "POD_LOGS", str(tmp_path / "logs"))
        monkeypatch.setattr(
            cri_files,
            "sandbox_log_directory",
            lambda pod: f"{tmp_path}/logs/{pod.namespace}_{pod.name}_{pod.uid}",
        )
        made = CriRuntime(
            CriClient(server.socket),
            CriVersion("fake", "0"),
            FakeClock(),
            CriOptions(tmp_path / "state", owner="me"),
        )
        yield made
        await made.close()

    async def test_a_sandbox_that_only_has_our_labels_is_neither_listed_nor_removed(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        theirs = server.add_container(OURS)
        sandbox_id, _ = server.containers[theirs]

        with pytest.raises(ContainerRuntimeError, match="left alone"):
            await runtime.remove_pod_sandbox(sandbox_id)

        assert await runtime.relist() == ()
        assert sandbox_id in server.sandboxes

    async def test_a_pod_of_a_kubelet_with_our_label_cannot_be_taken_over(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        server.add_container({OWNER: "me"})
        (sandbox,) = server.sandboxes.values()
        server.containers.clear()
        sandbox.metadata.namespace = "default"
        sandbox.labels["io.kubernetes.pod.name"] = "web"
        sandbox.labels["io.kubernetes.pod.namespace"] = "default"
        sandbox.labels["io.kubernetes.pod.uid"] = sandbox.metadata.uid
        with_our_label = await runtime.unowned_pods()
        sandbox.labels[VERSION] = "0.1.0"
        without_a_nonce = await runtime.unowned_pods()
        sandbox.labels[NONCE] = "another's"

        (made_by_another,) = await runtime.unowned_pods()

        assert with_our_label == without_a_nonce == ()
        assert made_by_another.things == (sandbox.id,)

    async def test_leftovers_of_a_failed_sandbox_are_ours(
        self, server: CriServer, runtime: CriRuntime
    ) -> None:
        """A runtime may return an error and keep a sandbox that is not ready."""
        server.failing_after["RunPodSandbox"] = grpc.StatusCode.UNKNOWN

        with pytest.raises(ContainerRuntimeError):
            await runtime.run_pod_sandbox(RunPodSandbox(a_pod(), 0))

        (pod,) = await runtime.relist()
        assert [sandbox.sandbox_id for sandbox in pod.sandboxes] == [*server.sandboxes]


@pytest.mark.cri
@pytest.mark.slow
class TestOnContainerd:
    """Two users of one containerd."""

    async def test_another_users_pod_is_taken_over_only_on_request(
        self, bench: CriBench
    ) -> None:
        source = {"kubernetes.io/config.source": "api"}  # as manifests are loaded
        pod = a_pod(uid=bench.options.owner, annotations=source)
        sandbox_id = await bench.sandbox(pod)
        theirs = await bench.run(POLITE, sandbox_id=sandbox_id)
        other = CriRuntime(
            CriClient(bench.socket),
            ENGINE,
            bench.clock,
            replace(bench.options, folder=bench.folder / "other"),
        )

        seen = await other.relist()
        everybody = await other.unowned_pods()
        # Parallel tests have pods there, too.
        found = [pod for pod in everybody if sandbox_id in pod.things]
        with pytest.raises(ContainerRuntimeError, match="left alone"):
            await other.stop_container(theirs, 0)
        with pytest.raises(ContainerRuntimeError, match="left alone"):
            await other.remove_pod_sandbox(sandbox_id)
        ready = await bench.sandbox_message(sandbox_id)
        for unowned_pod in found:
            await other.take_over(unowned_pod)
        await other.remove_pod_sandbox(sandbox_id)
        await other.close()

        assert seen == ()
        assert len(found) == 1
        assert ready.state == cri.SANDBOX_READY
        assert await bench.runtime.relist() == ()
