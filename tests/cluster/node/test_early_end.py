"""A node that a signal ends before its session has begun, or while pods pour in."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.serving.http_server import HttpRequest
from tests.cluster.api_server.resources import LEASES, NODES, PODS
from tests.cluster.api_server.server import ServerFault
from tests.cluster.servers import RunningServer, running_cluster
from tests.e2e.program import Program

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NODE = f"early-tests-{os.getpid()}"
PATIENCE_SECONDS = 60
POD_SECONDS = 0.02
CHANGED_PODS = 5
MERGE_PATCH = "application/merge-patch+json"
_GRACE_SECONDS = 1

SILENT_SECONDS = 10 * PATIENCE_SECONDS
"""Longer than we wait: who ended did not wait for the answer."""


async def start_node(kubeconfig: Path, *more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "probetui", "node", "--name", NODE, "--runtime", "process", *more),
        *("--plain", "--no-autosave", "--kubeconfig", str(kubeconfig)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=Program(kubeconfig.parent).environment,
    )


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110  # the store is another task's
            await asyncio.sleep(0.05)


def is_registered(server: RunningServer) -> bool:
    return any(
        node["metadata"]["name"] == NODE for node in server.store.list(NODES).items
    )


def has_lease(server: RunningServer) -> bool:
    return any(
        lease["metadata"]["name"] == NODE for lease in server.store.list(LEASES).items
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_before_the_session_begins_leaves_nothing_registered(
    tmp_path: Path, number: signal.Signals
) -> None:
    def is_slow(info: RequestInfo, _request: HttpRequest) -> ServerFault | None:
        is_list = info.resource == PODS and info.verb == "list"
        return ServerFault(delay_seconds=PATIENCE_SECONDS) if is_list else None

    async with running_cluster(tmp_path) as (server, kubeconfig):
        server.api.fault = is_slow
        process = await start_node(kubeconfig)
        await until(lambda: is_registered(server) and has_lease(server))

        process.send_signal(number)
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, printed = await process.communicate()

        assert process.returncode == 128 + number
        assert not is_registered(server)
        assert not has_lease(server)
    assert "before any pod was started" in printed.decode()
    assert "Traceback" not in printed.decode()


async def test_the_first_signal_ends_a_node_while_pods_pour_in_and_change(
    tmp_path: Path,
) -> None:
    async with running_cluster(tmp_path) as (server, kubeconfig):
        process = await start_node(kubeconfig)
        await until(lambda: is_registered(server))
        flood = asyncio.create_task(pour(server))
        await until(lambda: len(server.store.list(PODS).items) > 20)

        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, printed = await process.communicate()
        assert not flood.done()
        flood.cancel()

        assert process.returncode == 128 + signal.SIGTERM, printed.decode()
        assert not is_registered(server)
        assert not has_lease(server)
    assert "did not end in time" not in printed.decode()


async def test_a_node_of_a_kubelets_rights_ends_well_and_is_left_not_ready(
    tmp_path: Path,
) -> None:
    def as_node_authorizer(user: str, info: RequestInfo) -> str | None:
        del user
        may_not = info.verb == "delete" and info.resource == NODES
        return "can only delete pods and leases" if may_not else None

    async with running_cluster(tmp_path, authorize=as_node_authorizer) as (
        server,
        kubeconfig,
    ):
        static = tmp_path / "static.yaml"
        static.write_text(json.dumps(a_pod(0, grace=1)))
        process = await start_node(
            kubeconfig, "--static", str(static), "--until", "started"
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, printed = await process.communicate()
        assert process.returncode == 0, printed.decode()
        node = server.store.get(NODES, "", NODE)
        ready = {it["type"]: it["status"] for it in node["status"]["conditions"]}
        assert ready["Ready"] == "False"
        assert not has_lease(server)
    text = printed.decode()
    assert f"note: this user may not delete node {NODE}: at the end" in text
    assert f"note: node {NODE} is left in the cluster, not ready" in text


async def test_a_second_signal_ends_a_node_whose_server_answers_nothing(
    tmp_path: Path,
) -> None:
    is_silent = False
    deleted: list[RequestInfo] = []

    def fault(info: RequestInfo, _request: HttpRequest) -> ServerFault | None:
        if not is_silent:
            return None
        if info.verb == "delete":
            deleted.append(info)
        return ServerFault(delay_seconds=SILENT_SECONDS)

    async with running_cluster(tmp_path) as (server, kubeconfig):
        server.api.fault = fault
        process = await start_node(kubeconfig)
        await until(lambda: is_registered(server))
        server.store.create(PODS, "default", a_pod(0, grace=3600))
        await until(lambda: _phases(server) == ["Running"])
        is_silent = True

        process.send_signal(signal.SIGINT)
        await until(lambda: deleted)  # that of the first signal is interrupted
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, messages = await process.communicate()
    Program(tmp_path).run("down", f"poured-{os.getpid()}-0")

    assert process.returncode == 128 + signal.SIGINT, messages.decode()
    assert "left running" in messages.decode()
    assert "may be left in the cluster" in messages.decode()


def _phases(server: RunningServer) -> list[str]:
    pods = server.store.list(PODS).items
    return [pod.get("status", {}).get("phase", "") for pod in pods]


async def pour(server: RunningServer) -> None:
    """Assign pod after pod to the node, and change the earlier ones meanwhile."""
    for number in itertools.count():
        server.store.create(PODS, "default", a_pod(number, grace=_GRACE_SECONDS))
        change = {"metadata": {"annotations": {"turn": str(number)}}}
        for pod in server.store.list(PODS).items[-CHANGED_PODS:]:
            name = pod["metadata"]["name"]
            server.store.patch(PODS, "default", name, MERGE_PATCH, change)
        await asyncio.sleep(POD_SECONDS)


def a_pod(number: int, *, grace: int) -> dict[str, Any]:
    container = {"name": "app", "image": "any", "command": ["sleep", "600"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"poured-{os.getpid()}-{number}"},
        "spec": {
            "nodeName": NODE,
            "terminationGracePeriodSeconds": grace,
            "containers": [container],
        },
    }
