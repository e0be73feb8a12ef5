"""The facts of this machine that matter to probetui, found and printed."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from probetui import __version__
from probetui.cli import folders
from probetui.cli.background import ask_terminal
from probetui.cli.printing import print_line
from probetui.cli.runtimes import PROCESS, open_runtime
from probetui.cli.session_options import RuntimeOptions, pick
from probetui.cli.terminal import Terminal
from probetui.drive.clocks import SystemClock
from probetui.kubelet.config import KubeletConfig
from probetui.runtimes.cri.connection import describe as describe_cri
from probetui.runtimes.docker.connection import describe
from probetui.tui.background import is_light_by_environment

_LIBRARIES = ("textual", "docker", "grpcio", "httpx", "lightkube", "click", "pyyaml")
_VARIABLES = frozenset(
    {
        "COLORFGBG", "COLORTERM", "CONTAINER_RUNTIME_ENDPOINT", "CRI_CONFIG_FILE",
        "DOCKER_CERT_PATH", "DOCKER_CONTEXT", "DOCKER_HOST", "DOCKER_TLS_VERIFY",
        "IMAGE_SERVICE_ENDPOINT", "LANG", "LC_ALL", "NO_COLOR", "TERM", "TERM_PROGRAM",
        "TEXTUAL_THEME",
        "TMUX", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
    }
)  # fmt: skip
_WIDTH = 18


async def print_facts(params: Mapping[str, Any]) -> int:
    """Print them, one per line; return the exit status, which is 0."""
    options = pick(RuntimeOptions, params)
    for heading, facts in (
        ("Versions", list(_versions())),
        ("Runtimes", [each async for each in _runtimes(options)]),
        ("Files", list(_files(params))),
        ("Terminal", list(_terminal())),
        ("Environment", list(_environment())),
    ):
        print_line(f"{heading}:")
        for name, value in facts:
            print_line(f"  {name:<{_WIDTH}} {value}")
    return 0


def _versions() -> Iterator[tuple[str, str]]:
    yield "probetui", __version__
    yield "kubelet rules", f"v{KubeletConfig().version}"
    yield "python", platform.python_version()
    yield "system", platform.platform()
    for name in _LIBRARIES:
        yield name, version(name)


async def _runtimes(options: RuntimeOptions) -> AsyncIterator[tuple[str, str]]:
    """Tell what comes of each place where a runtime is looked for, in order."""
    for endpoint, outcome in await describe(host=options.host, context=options.context):
        yield "docker", f"{endpoint}: {outcome}"
    for endpoint, outcome in await describe_cri(endpoint=options.runtime_endpoint):
        yield "cri", f"{endpoint}: {outcome}"
    processes = await open_runtime(RuntimeOptions(PROCESS), SystemClock())
    yield "process", f"{await processes.version()} (only with --runtime process)"
    await processes.close()


def _files(params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    config = params["config"] or folders.config_file()
    yield "config", _described(config, "not there, nothing is wrong with that")
    log = params["log_file"] or folders.log_file()
    yield "log", _described(log, "not written yet")
    themes = folders.themes_folder()
    yield "themes", _described(themes, "not there, nothing is wrong with that")
    yield "state", _described(folders.state_folder(), "not there yet")
    yield "pods", _described(folders.pods_folder(), "no processes were run yet")


def _described(path: Path, if_missing: str) -> str:
    return str(path) if path.exists() else f"{path} ({if_missing})"


def _terminal() -> Iterator[tuple[str, str]]:
    terminal = Terminal.here()
    for name in ("stdin", "stdout", "stderr"):
        yield name, "terminal" if getattr(terminal, name) else "no terminal"
    yield "keyboard", "opens" if terminal.has_keyboard else "does not open"
    size = shutil.get_terminal_size()
    yield "size", f"{size.columns} x {size.lines}"
    yield "encoding", sys.stdout.encoding
    yield "background", _background(terminal)


def _background(terminal: Terminal) -> str:
    """Tell what the theme follows where none is chosen."""
    is_asked = terminal.stdin and terminal.stdout and terminal.stderr
    told = ask_terminal() if is_asked and not terminal.is_dumb else None
    if told is not None:
        return f"{told}, as the terminal answers: {_theme(is_light=told.is_light)}"
    is_light = is_light_by_environment(os.environ)
    if is_light is not None:
        return f"by COLORFGBG: {_theme(is_light=is_light)}"
    return f"not told: {_theme(is_light=False)}"


def _theme(*, is_light: bool) -> str:
    return f"{'light' if is_light else 'dark'} theme if none is chosen"


def _environment() -> Iterator[tuple[str, str]]:
    for name in sorted(os.environ):
        if name in _VARIABLES or name.startswith("PROBETUI_"):
            yield name, os.environ[name]
