"""`node`, `watch` and `attach` with any cluster that kubectl can reach.

`PROBETUI_TEST_KUBECONFIG` is the kubeconfig of one that somebody has; its user must be
allowed all of a node, and the API server must reach this machine for logs and exec.
Without it, the cluster is the API server of the tests in another process.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.cluster.kubectl import Kubectl, next_line
from tests.e2e.program import Program

pytestmark = [pytest.mark.kubectl, pytest.mark.e2e, pytest.mark.slow]

VARIABLE = "PROBETUI_TEST_KUBECONFIG"
OWN_KUBECONFIG = (
    Path(os.environ[VARIABLE]).expanduser() if os.environ.get(VARIABLE) else None
)
PATIENCE_SECONDS = 120


class AnyCluster(Struct, frozen=True):
    """A cluster, with a namespace of our own and the name of our node."""

    kubeconfig: Path
    kubectl: Kubectl
    namespace: str
    node: str
    program: Program

    def pod(self, **probe: object) -> str:
        """Return a pod for our node, whose container is well for five seconds."""
        script = "echo begun; touch healthy; sleep 5; rm healthy; exec sleep 600"
        container: dict[str, Any] = {
            "name": "app",
            "image": "busybox:1.36",
            "command": ["/bin/sh", "-c", script],
            "livenessProbe": {
                "exec": {"command": ["cat", "healthy"]},
                "initialDelaySeconds": 1,
                "periodSeconds": 1,
                **probe,
            },
        }
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "web", "namespace": self.namespace},
                "spec": {
                    "nodeName": self.node,
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": 1,
                    "containers": [container],
                },
            }
        )

    @asynccontextmanager
    async def started(self, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Start a command of probetui, and end it as by ^C."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "probetui", *words, "--kubeconfig", str(self.kubeconfig)),
            *("--plain", "--quiet"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.program.environment,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGINT)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await process.communicate()

    async def printed(self, *words: str) -> tuple[int | None, str]:
        """Run a command of probetui to its end; return its exit code and its output."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "probetui", *words, "--kubeconfig", str(self.kubeconfig)),
            "--plain",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self.program.environment,
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, _ = await process.communicate()
        return process.returncode, out.decode()

    @asynccontextmanager
    async def running_node(self) -> AsyncIterator[None]:
        """Be a node, and have it run the pod."""
        words = ("node", "--name", self.node, "--runtime", "process", "--no-autosave")
        async with self.started(*words):
            for condition in ("create", "condition=Ready"):
                await self.kubectl.output(
                    "wait", f"node/{self.node}", f"--for={condition}", "--timeout=60s"
                )
            await self.kubectl.output("apply", "-f", "-", stdin=self.pod())
            await self.wait("condition=Ready")
            yield

    async def wait(self, what: str) -> None:
        """Wait until something is so of the pod."""
        await self.kubectl.output(
            *("wait", "pod/web", "-n", self.namespace, f"--for={what}"),
            "--timeout=60s",
        )


@asynccontextmanager
async def some_kubeconfig(folder: Path) -> AsyncIterator[Path]:
    """Give the kubeconfig that was named, else that of a server in another process."""
    if OWN_KUBECONFIG is not None:
        yield OWN_KUBECONFIG
        return
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.cluster.servers", str(folder)),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        yield Path(await next_line(server))
    finally:
        server.terminate()
        await server.communicate()


def namespace(name: str) -> str:
    metadata = {"name": name}
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


async def make_service_account(kubectl: Kubectl, name: str) -> None:
    """Make the account without which no pod is admitted to a namespace.

    Elsewhere a controller makes it; an API server alone has none.
    """
    metadata = {"name": "default", "namespace": name}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    result = await kubectl("create", "-f", "-", stdin=json.dumps(account))
    assert result.exit_code == 0 or "AlreadyExists" in result.stderr, result.stderr


@pytest.fixture
async def any_cluster(tmp_path: Path) -> AsyncIterator[AnyCluster]:
    name = f"probetui-tests-{secrets.token_hex(4)}"
    async with some_kubeconfig(tmp_path) as kubeconfig:
        home = str(tmp_path) if OWN_KUBECONFIG is None else os.environ["HOME"]
        kubectl = Kubectl(kubeconfig, HOME=home)
        # `create namespace` sends protobuf, which our server does not read.
        await kubectl.output("apply", "-f", "-", stdin=namespace(name))
        await make_service_account(kubectl, name)
        try:
            # What credentials need (a cloud's program) may be in the user's folders.
            program = Program(tmp_path, {"HOME": home})
            yield AnyCluster(kubeconfig, kubectl, name, name, program)
        finally:
            for what in (
                ("namespace", name),
                ("node", name),
                ("lease", name, "-n", "kube-node-lease"),
            ):
                await kubectl("delete", *what, "--ignore-not-found", "--wait=false")


async def test_a_pod_of_our_node_restarts_has_events_and_ends(
    any_cluster: AnyCluster,
) -> None:
    kubectl, of_ours = any_cluster.kubectl, ("-n", any_cluster.namespace)
    async with any_cluster.running_node():
        await any_cluster.wait("jsonpath={.status.containerStatuses[0].restartCount}=1")
        description = await kubectl.output("describe", "pod", "web", *of_ours)
        await kubectl.output("delete", "pod", "web", *of_ours, "--timeout=60s")
    node = await kubectl("get", "node", any_cluster.node)

    for reason in ("Unhealthy", "Killing", "Pulled", "Created", "Started"):
        assert reason in description
    assert "NotFound" in node.stderr


async def test_a_pod_of_our_node_answers_kubectl(any_cluster: AnyCluster) -> None:
    kubectl, of_ours = any_cluster.kubectl, ("-n", any_cluster.namespace)
    async with any_cluster.running_node():
        log = await kubectl.output("logs", "web", *of_ours)
        typed = await kubectl.output(
            "exec", "-i", "web", *of_ours, "--", "cat", stdin="typed\n"
        )

    assert (log, typed) == ("begun\n", "typed\n")


async def test_watch_shows_the_restart_of_a_pod(any_cluster: AnyCluster) -> None:
    # On a busy machine, the first restart may be over when the command has started.
    async with any_cluster.running_node():
        status, printed = await any_cluster.printed(
            *("watch", "web", "-n", any_cluster.namespace, "--no-counters"),
            *("--until", "restarts=2", "--timeout", "90s"),
        )

    assert status == 0, printed
    assert "reason=liveness" in printed


async def test_attach_reports_the_consequences_of_the_pods_probes(
    any_cluster: AnyCluster,
) -> None:
    async with any_cluster.running_node():
        status, printed = await any_cluster.printed(
            *("attach", "pod/web", "-n", any_cluster.namespace, "--no-autosave"),
            *("--until", "event=Unhealthy", "--timeout", "60s"),
        )

    assert status == 0, printed
    assert "cat: " in printed
