"""The installed `probetui node` and an API server, looked at with the real kubectl."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
import yaml

from tests.cluster.api_server.resources import LEASES, NODES, PODS
from tests.cluster.kubectl import Kubectl, next_line
from tests.cluster.servers import RunningServer, running_cluster
from tests.e2e.program import Program
from tests.engines import CRI_ENDPOINT

pytestmark = [pytest.mark.kubectl, pytest.mark.e2e, pytest.mark.slow]

NODE = f"kubectl-tests-{os.getpid()}"
POD = f"exec-liveness-{os.getpid()}"
"""A pod's name is in use on this machine while another session runs it."""

SAMPLE = Path(__file__).parents[3] / "sample_pods" / "exec-liveness.yaml"
PATIENCE_SECONDS = 60


@asynccontextmanager
async def node(
    kubeconfig: Path, *options: str, runtime: str = "process"
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `probetui node` with folders of its own, and end it as by ^C."""
    endpoint = ("--runtime-endpoint", CRI_ENDPOINT) if runtime == "cri" else ()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "probetui", "node", "--name", NODE, "--runtime", runtime),
        *("--plain", "--no-autosave", "--kubeconfig", str(kubeconfig)),
        *(*endpoint, *options),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=Program(kubeconfig.parent).environment,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await process.communicate()


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def registered(server: RunningServer, *, old_port: int = 0) -> int:
    """Wait until the node is registered, with another port if so; return its port."""
    changed = asyncio.Event()
    end = server.store.listen(changed.set)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (port := _kubelet_port(server)) in {0, old_port}:
                changed.clear()
                await changed.wait()
    finally:
        end()
    return port


def _kubelet_port(server: RunningServer) -> int:
    """Return the port of the node's kubelet, 0 where there is no node."""
    found = server.store.find(NODES, "", NODE)
    if found is None:
        return 0
    port: int = found["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    return port


def sample(**changes: object) -> str:
    """Return the sample pod for our node, quick enough for a test."""
    pod = yaml.safe_load(SAMPLE.read_text())
    pod["metadata"]["name"] = POD
    pod["spec"]["nodeName"] = NODE
    pod["spec"]["terminationGracePeriodSeconds"] = 1
    probe = pod["spec"]["containers"][0]["livenessProbe"]
    probe |= {"initialDelaySeconds": 1, "periodSeconds": 1, **changes}
    command = pod["spec"]["containers"][0]["command"]
    command[-1] = "echo begun; " + command[-1].replace("sleep 20", "sleep 3")
    return json.dumps(pod)


@pytest.mark.parametrize(
    "runtime",
    [
        "process",
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("cri", marks=pytest.mark.cri),
    ],
)
async def test_kubectl_shows_restarts_and_logs_of_a_pod_and_deletes_it(
    runtime: str, tmp_path: Path
) -> None:
    async with (
        running_cluster(tmp_path) as (server, kubeconfig),
        node(kubeconfig, runtime=runtime),
    ):
        kubectl = Kubectl(kubeconfig)

        await registered(server)
        await kubectl.output("apply", "-f", "-", stdin=sample())
        await kubectl.output(
            "wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=30s"
        )
        log = await kubectl.output("logs", POD)
        output = await kubectl.output("exec", POD, "--", "echo", "hello")
        failed = await kubectl("exec", POD, "--", "sh", "-c", "exit 3")
        typed = await kubectl.output("exec", "-i", POD, "--", "cat", stdin="typed\n")
        await kubectl.output(
            *("wait", f"pod/{POD}", "--timeout=60s"),
            "--for=jsonpath={.status.containerStatuses[0].restartCount}=1",
        )
        before = await kubectl.output("logs", "--previous", POD)
        description = await kubectl.output("describe", "pod", POD)
        metrics = await kubectl.output(
            "get", "--raw", f"/api/v1/nodes/{NODE}/proxy/metrics/probes"
        )
        nodes = await kubectl.output("get", "nodes")
        await kubectl.output("delete", "pod", POD, "--timeout=30s")

    assert log == "begun\n"
    assert before == "begun\n"
    assert output == "hello\n"
    assert failed.exit_code == 3
    assert typed == "typed\n"
    assert "Restart Count:  1" in description
    for reason in ("Unhealthy", "Killing", "Pulled", "Created", "Started"):
        assert reason in description
    assert 'prober_probe_total{container="app"' in metrics
    assert "Ready" in nodes
    assert server.store.find(PODS, "default", POD) is None
    assert server.store.find(NODES, "", NODE) is None
    assert server.store.find(LEASES, "kube-node-lease", NODE) is None


async def test_kubectl_attach_shows_what_a_container_prints_from_then_on(
    tmp_path: Path,
) -> None:
    pod = json.loads(sample(failureThreshold=1000))
    ticking = "n=0; while :; do n=$((n+1)); echo tick $n; sleep 0.2; done"
    pod["spec"]["containers"][0]["command"] = ["/bin/sh", "-c", ticking]
    pod["spec"]["containers"][0]["livenessProbe"]["exec"]["command"] = ["true"]
    async with running_cluster(tmp_path) as (server, kubeconfig), node(kubeconfig):
        kubectl = Kubectl(kubeconfig)
        await registered(server)
        await kubectl.output("apply", "-f", "-", stdin=json.dumps(pod))
        await kubectl.output(
            "wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=30s"
        )
        async with kubectl.started("attach", POD) as attached:
            lines = [await next_line(attached) for _ in range(2)]

    first, second = (int(line.removeprefix("tick ")) for line in lines)
    assert second == first + 1
    assert first > 1


async def test_a_forwarded_port_reaches_a_server_of_a_pod(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    pod = json.loads(sample(failureThreshold=1000))
    serve = f"exec {sys.executable} -m http.server {unused_tcp_port}"
    container = pod["spec"]["containers"][0]
    container["command"] = ["/bin/sh", "-c", serve]
    container["livenessProbe"]["exec"]["command"] = ["true"]
    container["readinessProbe"] = {"httpGet": {"port": unused_tcp_port}}
    async with running_cluster(tmp_path) as (server, kubeconfig), node(kubeconfig):
        kubectl = Kubectl(kubeconfig)
        await registered(server)
        await kubectl.output("apply", "-f", "-", stdin=json.dumps(pod))
        await kubectl.output(
            "wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=30s"
        )
        async with kubectl.started(
            "port-forward", f"pod/{POD}", f":{unused_tcp_port}"
        ) as forwarding:
            line = await next_line(forwarding)
            port = int(line.split("->")[0].rpartition(":")[2])
            async with httpx2.AsyncClient(trust_env=False) as client:
                answers = [
                    await client.get(f"http://127.0.0.1:{port}/") for _ in range(2)
                ]

    assert [answer.status_code for answer in answers] == [200, 200]


@pytest.mark.parametrize(
    "runtime",
    [
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("cri", marks=pytest.mark.cri),
    ],
)
async def test_input_files_and_ports_at_localhost_reach_a_container(
    runtime: str, tmp_path: Path
) -> None:
    pod = json.loads(sample())
    container = pod["spec"]["containers"][0]
    serve = "mkdir w; echo here > w/index.html; httpd -f -p 127.0.0.1:8080 -h w"
    container |= {"command": ["sh", "-c", serve], "livenessProbe": None}
    sent = tmp_path / "sent"
    sent.write_text("copied")
    async with (
        running_cluster(tmp_path) as (server, kubeconfig),
        node(kubeconfig, runtime=runtime),
    ):
        kubectl = Kubectl(kubeconfig)
        await registered(server)
        await kubectl.output("apply", "-f", "-", stdin=json.dumps(pod))
        await kubectl.output(
            "wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=30s"
        )
        typed = await kubectl.output(
            *("exec", "-i", POD, "-c", "app", "--", "sh", "-s"),
            stdin="echo $((6 * 7)); exit\n",
        )
        await kubectl.output("cp", str(sent), f"{POD}:/tmp/sent", "-c", "app")
        copied = await kubectl.output(
            "exec", POD, "-c", "app", "--", "cat", "/tmp/sent"
        )
        async with (
            kubectl.started("port-forward", f"pod/{POD}", ":8080") as forwarding,
            httpx2.AsyncClient(trust_env=False) as client,
        ):
            line = await next_line(forwarding)
            port = int(line.split("->")[0].rpartition(":")[2])
            answer = await client.get(f"http://127.0.0.1:{port}/")

    assert (typed, copied, answer.text) == ("42\n", "copied", "here\n")


async def test_attach_probes_a_pod_of_the_node_and_kills_nothing(
    tmp_path: Path,
) -> None:
    async with running_cluster(tmp_path) as (server, kubeconfig), node(kubeconfig):
        kubectl = Kubectl(kubeconfig)
        await registered(server)
        await kubectl.output("apply", "-f", "-", stdin=sample(failureThreshold=2))
        await kubectl.output(
            "wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=30s"
        )
        attached = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "probetui", "attach", f"pod/{POD}", "--plain", "--no-autosave"),
            *("--kubeconfig", str(kubeconfig), "--context", "tests"),
            *("--set", "app.livenessProbe.failureThreshold=1"),
            *("--until", "event=Unhealthy", "--timeout", "40s"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=Program(kubeconfig.parent).environment,
        )
        out, err = await attached.communicate()

    assert attached.returncode == 0, err
    (failure,) = [line for line in out.splitlines() if b"liveness" in line][-1:]
    assert b"run 1/1 would-kill" in failure
    assert b"cat: " in failure


async def test_at_its_end_a_node_is_drained_and_removed(tmp_path: Path) -> None:
    async with running_cluster(tmp_path) as (server, kubeconfig):
        kubectl = Kubectl(kubeconfig)
        async with node(kubeconfig) as process:
            await registered(server)
            await kubectl.output("apply", "-f", "-", stdin=sample())
            await kubectl.output(
                "wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=30s"
            )

    assert process.returncode == 130
    assert server.store.find(PODS, "default", POD) is None
    assert server.store.find(NODES, "", NODE) is None


async def test_a_second_node_of_the_name_is_refused(tmp_path: Path) -> None:
    async with running_cluster(tmp_path) as (server, kubeconfig), node(kubeconfig):
        await registered(server)
        async with node(kubeconfig, "--adopt") as second:
            _, stderr = await second.communicate()

    assert second.returncode == 3
    assert b"is alive: its lease was renewed" in stderr


async def test_who_may_not_use_the_node_is_refused_by_its_api(tmp_path: Path) -> None:
    async with running_cluster(tmp_path) as (server, kubeconfig), node(kubeconfig):
        port = await registered(server)
        # From then on ^C is handled, even if the parent process ignores it.
        await Kubectl(kubeconfig).output("wait", "node", NODE, "--for=condition=Ready")
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=_trusting()
        )
        writer.write(b"GET /pods HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 401")


async def test_a_kept_node_is_adopted_with_its_running_containers(
    tmp_path: Path,
) -> None:
    async def container_id() -> str:
        return await kubectl.output(
            *("get", "pod", POD, "-o"),
            "jsonpath={.status.containerStatuses[0].containerID}",
        )

    async with running_cluster(tmp_path) as (server, kubeconfig):
        kubectl = Kubectl(kubeconfig)
        async with node(kubeconfig, "--keep-node"):
            port = await registered(server)
            await kubectl.output(
                "apply", "-f", "-", stdin=sample(failureThreshold=1000)
            )
            await kubectl.output(
                "wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=30s"
            )
            before = await container_id()
        kept = await container_id()
        async with node(kubeconfig, "--adopt") as second:
            await registered(server, old_port=port)
            await kubectl.output("wait", "node", NODE, "--for=condition=Ready")
            await kubectl.output("exec", POD, "--", "true")
            after = await container_id()
        still = server.store.find(PODS, "default", POD)

    assert before == kept
    assert kept == after
    assert second.returncode == 130
    assert still is None
