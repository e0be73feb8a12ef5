"""`probetui watch` as it is typed, against an API server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from probetui.cluster.serving.http_server import HttpResponse
from probetui.drive.clocks import SystemClock
from tests.cluster.player import play, play_until
from tests.cluster.servers import running_server, write_kubeconfig


async def _run(*words: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "probetui", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
    )
    output, errors = await process.communicate()
    return process.returncode or 0, output.decode(), errors.decode()


@pytest.mark.slow
async def test_a_kill_is_seen_predicted_and_explained_in_lines(tmp_path: Path) -> None:
    async def metrics(*_: Any) -> HttpResponse:
        return HttpResponse(200, body=player.metrics)

    clock, since = SystemClock(), 12.5
    async with running_server(connect={"nodes/proxy": metrics}) as server:
        config = write_kubeconfig(tmp_path / "config", server.url)
        player = play_until(server.store, clock, since)
        playing = asyncio.create_task(play(player, clock, since))
        status, output, errors = await _run(
            *("watch", "probe-grace", "--kubeconfig", str(config)),
            *("--via-node-proxy", "--until", "restarts=1", "--timeout", "60s"),
        )
        playing.cancel()

    assert status == 0, errors
    assert "probe-grace/app liveness #1 failure" in output
    assert "run 2/2 kill grace=2s" in output
    assert "should have been killed at" in errors
    assert "exec-liveness" not in output


async def test_a_cluster_that_is_not_there_is_named_with_its_status(
    tmp_path: Path,
) -> None:
    config = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")

    status, output, errors = await _run("watch", "--kubeconfig", str(config))

    assert (status, output) == (3, "")
    assert "http://127.0.0.1:1: " in errors


async def test_a_right_that_is_missing_is_named_with_its_command(
    tmp_path: Path,
) -> None:
    async with running_server(tokens={"t": "me"}, authorize=lambda *_: "no") as server:
        config = write_kubeconfig(tmp_path / "config", server.url, token="t")
        status, _, errors = await _run(
            "watch", "-n", "shop", "--kubeconfig", str(config)
        )

    assert status == 3
    assert "`kubectl auth can-i list pods -n shop`" in errors


async def test_a_context_of_docker_is_still_taken_and_says_its_new_name() -> None:
    _, _, errors = await _run("run", "--context", "x", "absent.yaml")

    assert "its name is --docker-context now" in errors
