"""A kubelet that uses the same CRI runtime: it would kill our pods."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from probetui.k8s.pod_source import CONFIG_SOURCE
from probetui.kubelet.kuberuntime.labels import (
    POD_NAME,
    POD_NAMESPACE,
    POD_UID,
)
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.translation import OWNER
from tests.runtimes.cri.server import CriServer

POD = """
apiVersion: v1
kind: Pod
metadata: {name: beside}
spec: {containers: [{name: app, image: "busybox:1.36"}]}
"""
OF_A_KUBELET = {POD_UID: "11", POD_NAME: "proxy", POD_NAMESPACE: "kube-system"}
API = {CONFIG_SOURCE: "api"}


def add_pod(
    server: CriServer, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> cri.PodSandboxStatus:
    """Have a sandbox in a runtime, as a kubelet, crictl or a probetui makes one."""
    container_id = server.add_container(labels)
    sandbox = server.sandboxes[server.containers[container_id][0]]
    sandbox.metadata.name, sandbox.metadata.namespace = "proxy", "kube-system"
    sandbox.annotations.update(annotations)
    return sandbox


async def run(server: CriServer, folder: Path, *options: str) -> tuple[int, str]:
    """Run a pod on a runtime; return the status and what was printed."""
    manifest = folder / "pod.yaml"
    manifest.write_text(POD, "utf-8")
    words = ["run", "-f", str(manifest), "--runtime", "cri", "--plain", *options]
    words += ["--runtime-endpoint", f"unix://{server.socket}", "--timeout", "1s"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "probetui",
        *words,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, printed = await process.communicate()
    assert process.returncode is not None
    return process.returncode, printed.decode()


async def test_nothing_is_started_beside_a_kubelet(
    server: CriServer, tmp_path: Path
) -> None:
    add_pod(server, OF_A_KUBELET, API)
    add_pod(server, OF_A_KUBELET, API)

    status, printed = await run(server, tmp_path)

    assert status == 2
    assert "fake runs pods of a kubelet (kube-system/proxy and 1 more)" in printed
    assert "--beside-kubelet" in printed
    assert server.call_counts["RunPodSandbox"] == 0


async def test_who_says_so_runs_pods_beside_a_kubelet(
    server: CriServer, tmp_path: Path
) -> None:
    add_pod(server, OF_A_KUBELET, API)

    _, printed = await run(server, tmp_path, "--beside-kubelet")

    assert "those of this session too" in printed
    assert server.call_counts["RunPodSandbox"] == 1


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        pytest.param({}, {}, id="made by crictl"),
        pytest.param({**OF_A_KUBELET, OWNER: "probetui"}, {}, id="another probetui's"),
        pytest.param(
            {**OF_A_KUBELET, OWNER: "probetui"}, API, id="a node's of probetui"
        ),
    ],
)
async def test_other_pods_are_no_reason_to_refuse(
    server: CriServer,
    tmp_path: Path,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
) -> None:
    add_pod(server, labels, annotations)

    _, printed = await run(server, tmp_path)

    assert "pods of a kubelet" not in printed
    assert server.call_counts["RunPodSandbox"] == 1


async def test_pods_that_a_kubelet_has_stopped_are_no_reason_to_refuse(
    server: CriServer, tmp_path: Path
) -> None:
    sandbox = add_pod(server, OF_A_KUBELET, API)
    sandbox.state = cri.SANDBOX_NOTREADY

    _, printed = await run(server, tmp_path)

    assert "pods of a kubelet" not in printed
    assert server.call_counts["RunPodSandbox"] == 1
