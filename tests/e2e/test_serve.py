"""`probetui serve` with the real kubectl."""

from __future__ import annotations

import signal
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cluster.kubectl import Kubectl, next_line
from tests.e2e.program import SAMPLES, Program, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.kubectl]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: served, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: busybox:1.36
    command: [sh, -c, "i=0; while true; do i=$((i+1)); echo line $i; sleep 1; done"]
    env: [{name: PASSWORD, value: hunter22}]
    livenessProbe:
      exec: {command: [sh, -c, "test -e no-such-file"]}
      periodSeconds: 1
      failureThreshold: 3
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Kubectl]:
    """Serve a pod whose container is killed again and again."""
    program = Program(tmp_path)
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(POD)
    config = tmp_path / "kubeconfig"
    args = ("serve", str(manifest), "--runtime", "process")
    with program.started(*args, "--write-kubeconfig", str(config)) as process:
        assert process.stdout is not None
        wait_for("Pending->Running", process.stdout)
        yield Kubectl(config)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert "export KUBECONFIG=" in process.stderr.read()
    assert program.left_behind() == []
    assert not config.exists()


async def test_kubectl_shows_the_pod_its_restarts_and_its_events(
    served: Kubectl,
) -> None:
    async with served.started("get", "pods", "-w", "--no-headers") as watching:
        while (words := (await next_line(watching)).split())[3] == "0":
            assert words[0] == "served"
    described = await served.output("describe", "pod", "served")
    events = await served.output("events", "--for", "pod/served")
    assert "exec [sh -c test -e no-such-file] delay=0s timeout=1s" in described
    assert "hunter22" not in described
    assert "failed liveness probe, will be restarted" in events
    path = "jsonpath={.items[*].involvedObject.resourceVersion}"
    versions = (await served.output("get", "events", "-o", path)).split()
    assert len(versions) >= 4
    assert len({*versions}) == 1
    ready = "--for=condition=ContainersReady"
    waited = await served.output("wait", ready, "pod", "-l", "app=web")
    assert waited == "pod/served condition met\n"


async def test_kubectl_follows_logs_and_reads_previous_ones(served: Kubectl) -> None:
    async with served.started("logs", "-f", "served") as following:
        assert (await next_line(following)) == "line 1"
        assert (await next_line(following)) == "line 2"
    restarted = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
    await served.output("wait", restarted, "pod/served")
    previous = await served.output("logs", "--previous", "served", "--limit-bytes=6")
    assert previous == "line 1"


async def test_the_node_is_ready_and_alive(served: Kubectl) -> None:
    nodes = await served.output("get", "nodes", "--no-headers", "-o", "wide")
    name = nodes.split()[0]
    described = await served.output("describe", "node", name)
    counters = f"/api/v1/nodes/{name}/proxy/metrics/probes"
    assert nodes.split()[1] == "Ready"
    assert nodes.split()[5] == "127.0.0.1"
    assert "RenewTime:" in described
    assert "served" in described
    assert "prober_probe_total" in await served.output("get", "--raw", counters)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("delete", "pod", "served"), id="delete"),
        pytest.param(("label", "pod", "served", "a=b"), id="label"),
        pytest.param(("create", "namespace", "x"), id="create"),
        pytest.param(("exec", "served", "--", "true"), id="exec"),
        pytest.param(("port-forward", "served", ":80"), id="port-forward"),
        pytest.param(("debug", "served", "--image=busybox:1.36"), id="debug"),
    ],
)
async def test_changes_are_refused_with_the_reason(
    served: Kubectl, command: tuple[str, ...]
) -> None:
    result = await served(*command)
    assert result.exit_code == 1
    assert "read-only" in result.stderr


def test_a_client_needs_the_token_and_the_server_name(tmp_path: Path) -> None:
    program = Program(tmp_path)
    config = tmp_path / "kubeconfig"
    sample = str(SAMPLES / "exec-liveness.yaml")
    args = ("serve", sample, "--runtime", "process", "--write-kubeconfig", str(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with program.started(*args, "--port", str(port)) as process:
        assert process.stdout is not None
        wait_for("Pending->Running", process.stdout)
        unverified = ssl.create_default_context()
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        with httpx2.Client(verify=unverified) as client:
            url = f"https://127.0.0.1:{port}/api/v1/pods"
            anonymous = client.get(url)
            rebound = client.get(url, headers={"Host": "evil.example"})
        process.send_signal(signal.SIGINT)
        process.wait(60)
    assert anonymous.status_code == 403
    assert rebound.status_code == 403
    assert "evil.example" in rebound.json()["message"]
