"""The socket from which `probetui ls` reads the running sessions."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from pathlib import Path

import pytest

from probetui.cli.folders import state_folder
from probetui.cli.session import state_socket
from probetui.cli.session.state_socket import read_states, serve_state

VERSION = "v1"


def sockets() -> list[Path]:
    return sorted((state_folder() / "sockets").iterdir())


async def test_the_state_of_a_session_is_read_while_it_runs() -> None:
    state = {"apiVersion": VERSION, "pods": [{"podUID": "1"}]}

    async with serve_state(lambda: json.dumps(state)):
        assert await read_states(VERSION) == [state]
        assert [path.name for path in sockets()] == [f"{os.getpid()}.sock"]

    assert sockets() == []
    assert await read_states(VERSION) == []


async def test_only_its_user_may_connect() -> None:
    async with serve_state(lambda: "{}"):
        (path,) = sockets()

        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_the_socket_of_a_dead_session_is_removed_and_a_file_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_state(lambda: "{}"):
        folder = sockets()[0].parent
    (folder / "notes.txt").write_text("mine")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind("7.sock")

    assert await read_states(VERSION) == []
    assert [path.name for path in sockets()] == ["notes.txt"]


async def test_a_client_that_does_not_read_does_not_delay_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_socket, "TIMEOUT_SECONDS", 3600)
    async with serve_state(lambda: "x" * 10_000_000):
        (path,) = sockets()
        monkeypatch.chdir(path.parent)  # a whole path may be too long for a socket
        reader, writer = await asyncio.open_unix_connection(path.name)
        await reader.readexactly(1)

    assert not reader.at_eof()
    writer.transport.abort()


async def test_a_state_folder_with_a_long_path_has_a_socket_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ("long" * 40)))

    state = {"apiVersion": VERSION}

    async with serve_state(lambda: json.dumps(state)):
        assert await read_states(VERSION) == [state]


@pytest.mark.parametrize("turns", [1, 2, 3])
async def test_a_session_that_is_cancelled_while_it_begins_leaves_no_socket(
    turns: int,
) -> None:
    async def serve() -> None:
        async with serve_state(lambda: "{}"):
            await asyncio.Event().wait()

    serving = asyncio.create_task(serve())
    for _ in range(turns):
        await asyncio.sleep(0)
    assert len(sockets()) == 1
    serving.cancel()
    await asyncio.wait({serving})

    assert sockets() == []


async def test_an_answer_that_is_too_long_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = {"apiVersion": VERSION}
    text = json.dumps(state)

    async with serve_state(lambda: text):
        monkeypatch.setattr(state_socket, "LARGEST_STATE", len(text))
        assert await read_states(VERSION) == [state]
        monkeypatch.setattr(state_socket, "LARGEST_STATE", len(text) - 1)
        assert await read_states(VERSION) == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param('{"apiVersion": "v2", "pods": 1}', id="another version"),
        pytest.param("[1]", id="no object"),
        pytest.param("{", id="no JSON"),
        pytest.param("", id="nothing"),
        pytest.param("[" * 500_000, id="nested too deeply"),
    ],
)
async def test_an_unknown_state_is_ignored(answer: str) -> None:
    async with serve_state(lambda: answer):
        assert await read_states(VERSION) == []
