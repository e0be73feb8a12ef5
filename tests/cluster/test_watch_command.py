"""`probetui watch` as it is typed, against an API server."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import main_of_plugin
from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.serving.http_server import HttpResponse
from probetui.drive.clocks import SystemClock
from tests.cluster.api_server.server import ServerFault
from tests.cluster.player import put_state_at, replay
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
async def test_watch_prints_a_predicted_kill_and_its_explanation(
    tmp_path: Path,
) -> None:
    async def metrics(*_: Any) -> HttpResponse:
        is_watching.set()
        return HttpResponse(200, body=player.metrics)

    async def replay_when_watched() -> None:
        # The first failure is 3s away, and the program may take longer to start.
        await is_watching.wait()
        await replay(player, clock, since)

    is_watching = asyncio.Event()
    clock, since = SystemClock(), 12.5
    async with running_server(connect={"nodes/proxy": metrics}) as server:
        config = write_kubeconfig(tmp_path / "config", server.url)
        player = put_state_at(server.store, clock, since)
        playing = asyncio.create_task(replay_when_watched())
        status, output, errors = await _run(
            *("watch", "probe-grace", "--kubeconfig", str(config)),
            *("--via-node-proxy", "--until", "restarts=1", "--timeout", "60s"),
        )
        playing.cancel()

    assert status == 0, errors
    assert "probe-grace/app liveness #1 failure" in output
    assert "run 2/2 kill grace=2s" in output
    assert "should have been" not in errors
    assert "exec-liveness" not in output


async def test_a_cluster_that_is_not_there_is_named_with_its_status(
    tmp_path: Path,
) -> None:
    config = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")

    status, output, errors = await _run("watch", "--kubeconfig", str(config))

    assert (status, output) == (3, "")
    assert "http://127.0.0.1:1: " in errors


async def test_a_request_to_a_busy_server_is_repeated(tmp_path: Path) -> None:
    busy = ApiFailure(429, "TooManyRequests", "slow down", retry_after=1)
    faults = [ServerFault(failure=busy)]
    async with running_server() as server:
        put_state_at(server.store, SystemClock(), 20)
        server.api.fault = lambda *_: faults.pop() if faults else None
        config = write_kubeconfig(tmp_path / "config", server.url)
        status, output, errors = await _run(
            *("watch", "ticks", "--kubeconfig", str(config), "--no-counters"),
            *("--until", "started", "--timeout", "60s"),
        )

    assert status == 0, errors
    assert "too many requests (the server says: slow down); asked again in 1s" in errors
    assert "ticks/one" in output


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(("run",), '"--context" is not an option', id="run"),
        pytest.param(
            ("attach",), "a context of Docker is --docker-context", id="attach"
        ),
    ],
)
async def test_a_context_is_one_of_a_kubeconfig(
    words: tuple[str, ...], message: str
) -> None:
    status, _, errors = await _run(*words, "--context", "x", "absent.yaml")

    assert status == 2
    assert message in errors


async def test_facts_are_printed_as_json_lines(tmp_path: Path) -> None:
    async with running_server() as server:
        put_state_at(server.store, SystemClock(), 20)
        config = write_kubeconfig(tmp_path / "config", server.url)
        status, output, errors = await _run(
            *("watch", "ticks", "-n", "default", "--kubeconfig", str(config)),
            *("--no-counters", "-o", "jsonl", "--timeout", "2s"),
        )

    kinds = {json.loads(line)["type"] for line in output.splitlines()}
    assert status == 4, errors
    assert {"session", "container", "event"} <= kinds
    assert "known from events alone" in output


async def test_a_record_is_replayed_as_it_was_watched(tmp_path: Path) -> None:
    record = str(tmp_path / "watch.jsonl.gz")
    async with running_server() as server:
        put_state_at(server.store, SystemClock(), 60)
        config = write_kubeconfig(tmp_path / "config", server.url)
        _, watched, _ = await _run(
            *("watch", "exec-liveness", "--kubeconfig", str(config), "--no-counters"),
            *("--record", record, "--timeout", "2s"),
        )

    status, replayed, errors = await _run("replay", record, "--plain")
    _, explained, _ = await _run("why", record)

    assert status == 0
    assert "known from events alone" in errors
    assert replayed == watched != ""
    assert "exec-liveness/liveness" in explained


def test_a_plugin_of_kubectl_without_a_command_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["web", "--kubeconfig", "/absent"]
    monkeypatch.setattr(sys, "argv", ["kubectl-probetui", *words])

    with pytest.raises(SystemExit) as caught:
        main_of_plugin()

    assert caught.value.code == 2
    assert "/absent: No such file" in capsys.readouterr().err
