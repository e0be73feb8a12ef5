"""Copying reports its method and never more than is known."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import pytest

from probetui.tui.services.clipboard import LONGEST_REQUEST, copy, request, tools

TERMINAL = {"TERM": "xterm-256color"}
LONG = "x" * LONGEST_REQUEST


def everywhere(name: str) -> str:
    return f"/bin/{name}"


@pytest.mark.parametrize(
    ("environment", "platform", "found"),
    [
        pytest.param({}, "linux", [], id="no desktop"),
        pytest.param({}, "darwin", ["pbcopy"], id="macOS"),
        pytest.param({"WAYLAND_DISPLAY": "w"}, "linux", ["wl-copy"], id="Wayland"),
        pytest.param({"DISPLAY": ":0"}, "linux", ["xclip", "xsel"], id="X11"),
        pytest.param({"WSL_DISTRO_NAME": "d"}, "linux", ["clip.exe"], id="WSL"),
        pytest.param({"TMUX": "/t,1,0"}, "linux", ["tmux"], id="tmux"),
        pytest.param(
            {"DISPLAY": ":0", "SSH_CONNECTION": "a"}, "linux", [], id="another machine"
        ),
        pytest.param(
            {"TMUX": "/t", "SSH_CONNECTION": "a"}, "linux", ["tmux"], id="tmux over SSH"
        ),
    ],
)
def test_tools_are_those_of_the_users_desktop(
    environment: Mapping[str, str], platform: str, found: list[str]
) -> None:
    commands = tools(environment, platform, everywhere)

    assert [command[0] for command in commands] == found


def test_tools_that_are_not_installed_are_not_used() -> None:
    assert tools({"DISPLAY": ":0"}, "linux", lambda _name: None) == []


@pytest.mark.parametrize(
    ("environment", "start", "end"),
    [
        pytest.param({}, "\x1b]52;c;", "\x07", id="plain"),
        pytest.param(
            {"TMUX": "t"}, "\x1bPtmux;\x1b\x1b]52;c;", "\x07\x1b\\", id="tmux"
        ),
        pytest.param(
            {"TERM": "screen.xterm"}, "\x1bP\x1b]52;c;", "\x07\x1b\\", id="screen"
        ),
    ],
)
def test_a_request_is_wrapped_for_terminal_multiplexers(
    environment: Mapping[str, str], start: str, end: str
) -> None:
    asking = request("héllo", environment)

    assert asking is not None
    assert asking.startswith(start)
    assert asking.endswith(end)
    data = asking.removeprefix(start).removesuffix(end)
    assert base64.b64decode(data).decode() == "héllo"


def test_invalid_utf_8_can_be_copied() -> None:
    assert request("\udcff", {}) is not None


async def test_the_terminal_copies_if_there_is_no_tool() -> None:
    written: list[str] = []

    copied = await copy("text", TERMINAL, written.append)

    assert written == [request("text", TERMINAL)]
    assert copied.words == "Sent to the terminal (OSC 52), which may have copied it."
    assert not copied.is_done
    assert "Copied" not in copied.words


@pytest.mark.parametrize(
    ("text", "environment", "can_write", "words"),
    [
        pytest.param(LONG, TERMINAL, True, "too many", id="too long"),
        pytest.param("x", {"TERM": "dumb"}, True, "no clipboard", id="dumb terminal"),
        pytest.param("x", TERMINAL, False, "no clipboard", id="no terminal"),
    ],
)
async def test_a_failed_copy_is_reported(
    text: str,
    environment: Mapping[str, str],
    can_write: bool,  # noqa: FBT001  # a column
    words: str,
) -> None:
    written: list[str] = []

    copied = await copy(text, environment, written.append if can_write else None)

    assert copied.is_refused
    assert copied.words.startswith("Not copied: ")
    assert words in copied.words
    assert written == []


@pytest.fixture
def a_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Add a folder of programs in front of the PATH of this process."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def install(folder: Path, name: str, script: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


async def test_a_copy_by_a_tool_is_reported(a_desktop: Path) -> None:
    install(a_desktop, "wl-copy", f'cat > "{a_desktop}/copied"')

    copied = await copy("two\nlines", {"WAYLAND_DISPLAY": "w"}, None)

    assert copied.is_done
    assert copied.words == "Copied (wl-copy clipboard)."
    assert (a_desktop / "copied").read_text() == "two\nlines"  # a test


async def test_a_tool_that_fails_is_skipped(a_desktop: Path) -> None:
    install(a_desktop, "wl-copy", "exit 1")
    written: list[str] = []

    copied = await copy("x", {**TERMINAL, "WAYLAND_DISPLAY": "w"}, written.append)

    assert not copied.is_done
    assert len(written) == 1
