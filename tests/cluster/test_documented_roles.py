"""`watch` and `node` need no more than the roles of docs/how-to/cluster-pod.md."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.serving.http_server import HttpResponse
from probetui.drive.clocks import SystemClock
from tests.checkout import ROOT
from tests.cluster.api_server.resources import CONFIG_MAPS, PODS, SECRETS
from tests.cluster.player import put_state_at
from tests.cluster.servers import RunningServer, running_server, write_kubeconfig
from tests.e2e.program import Program

PAGE = ROOT / "docs" / "how-to" / "cluster-pod.md"
PATIENCE_SECONDS = 120
INTERRUPTED = 130

_YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BASIC = {("create", "authorization.k8s.io", "selfsubjectaccessreviews")}
"""What every user may: Kubernetes binds system:basic-user to all of them."""


def _roles(page: Path) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    documents = (yaml.safe_load(block) for block in _YAML.findall(page.read_text()))
    return {
        role["metadata"]["name"]: role["rules"]
        for role in documents
        if isinstance(role, dict) and role.get("kind") == "ClusterRole"
    }


class RoleAuthorizer:
    """Allows what a ClusterRole of a page allows, and lists what it refused."""

    def __init__(self, role: str, page: Path = PAGE) -> None:
        self._rules = _roles(page)[role]
        self.refused: set[tuple[str, str, str]] = set()
        self._used: list[Mapping[str, Any]] = []

    def is_used(self, rule: Mapping[str, Any]) -> bool:
        """Return whether a rule allowed something."""
        return rule in self._used

    def __call__(self, user: str, info: RequestInfo) -> str | None:
        del user
        if info.resource is None:
            return None
        resource = "/".join(filter(None, (info.resource.plural, info.subresource)))
        asked = (info.verb, info.resource.group, resource)
        for rule in self._rules:
            names = rule.get("resourceNames")
            if (
                info.verb in rule["verbs"]
                and info.resource.group in rule["apiGroups"]
                and resource in rule["resources"]
                and (names is None or info.name in names)
            ):
                self._used.append(rule)
                return None
        if asked in _BASIC:
            return None
        self.refused.add(asked)
        return f"the role does not allow {asked}"


async def _start(program: Program, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "probetui", *words, "--plain"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        stdin=asyncio.subprocess.DEVNULL,
        env=program.environment,
    )


async def _run(program: Program, *words: str) -> tuple[int | None, str]:
    process = await _start(program, *words)
    async with asyncio.timeout(PATIENCE_SECONDS):
        output, _ = await process.communicate()
    return process.returncode, output.decode()


def _pod() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "nodeName": "demo",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {
                    "name": "app",
                    "image": "busybox:1.36",
                    "command": ["/bin/sh", "-c", "exec sleep 600"],
                    "envFrom": [
                        {"configMapRef": {"name": "settings"}},
                        {"secretRef": {"name": "password"}},
                    ],
                    "readinessProbe": {
                        "exec": {"command": ["true"]},
                        "periodSeconds": 1,
                    },
                }
            ],
        },
    }


def _static_pod() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "static", "namespace": "default"},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {"name": "app", "image": "busybox:1.36", "command": ["sleep", "600"]}
            ],
        },
    }


def _create_objects(server: RunningServer) -> None:
    data = {"metadata": {"name": "settings"}, "data": {"COLOUR": "blue"}}
    server.store.create(CONFIG_MAPS, "default", data)
    secret = {"metadata": {"name": "password"}, "stringData": {"WORD": "x"}}
    server.store.create(SECRETS, "default", secret)
    server.store.create(PODS, "default", _pod())


def _is_ready(server: RunningServer) -> bool:
    status = server.store.get(PODS, "default", "web").get("status", {})
    conditions = status.get("conditions", ())
    return ("Ready", "True") in {(held["type"], held["status"]) for held in conditions}


async def _ready(server: RunningServer) -> None:
    changed = asyncio.Event()
    forget = server.store.listen(changed.set)
    while not _is_ready(server):
        await changed.wait()
        changed.clear()
    forget()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path / "home")


@pytest.mark.slow
async def test_watch_asks_for_nothing_that_its_role_does_not_allow(
    tmp_path: Path, program: Program
) -> None:
    async def metrics(*_: Any) -> HttpResponse:
        return HttpResponse(200, body=b"")

    role = RoleAuthorizer("probetui-watch")
    async with running_server(
        authorize=role, connect={"nodes/proxy": metrics}
    ) as server:
        put_state_at(server.store, SystemClock(), 20)
        config = write_kubeconfig(tmp_path / "config", server.url)
        status, output = await _run(
            program,
            *("watch", "ticks", "--kubeconfig", str(config)),
            *("--until", "started", "--timeout", "60s"),
        )

    assert role.refused == set(), output
    assert status == 0, output


@pytest.mark.slow
async def test_a_node_asks_for_nothing_that_its_role_does_not_allow(
    tmp_path: Path, program: Program
) -> None:
    role = RoleAuthorizer("probetui-node")
    async with running_server(authorize=role) as server:
        _create_objects(server)
        config = write_kubeconfig(tmp_path / "config", server.url)
        static = tmp_path / "static.yaml"
        static.write_text(json.dumps(_static_pod()))
        process = await _start(
            program,
            *("node", "--name", "demo", "--runtime", "process", "--no-autosave"),
            *("--static", str(static), "--kubeconfig", str(config)),
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _ready(server)
        process.send_signal(signal.SIGINT)
        output, _ = await process.communicate()

    assert role.refused == set(), output.decode()
    assert process.returncode == INTERRUPTED, output.decode()
    is_in_use = [role.is_used(rule) for rule in _roles(PAGE)["probetui-node"]]
    # Nobody used the node's kubelet API, so that it asked for no review.
    assert is_in_use == [True] * 6 + [False] * 2
