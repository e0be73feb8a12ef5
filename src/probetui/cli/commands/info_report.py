"""`probetui info`: versions, runtimes, files and what the terminal answers."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import sys
import termios
import tty
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from select import select
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui import __version__
from probetui.cli import folders
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import RuntimeOptions, rules_by
from probetui.cli.reports import emit
from probetui.cli.runtimes import PROCESS, open_runtime
from probetui.cli.terminal import Terminal
from probetui.drive.clocks import SystemClock
from probetui.kubelet_rules import VERSIONS, KubeletRules
from probetui.runtimes.cri.connection import describe_endpoints as describe_cri
from probetui.runtimes.docker.connection import describe_endpoints
from probetui.tui.services.terminal_background import (
    TerminalBackground,
    TerminalReplyFilter,
    is_light_by_environment,
    question,
)

if TYPE_CHECKING:
    from probetui.cli.commands.management import InfoOptions

_LIBRARIES = ("textual", "docker", "grpcio", "httpx2", "lightkube", "click", "pyyaml")
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
_REPLY_SECONDS = 0.5
_INPUT, _OUTPUT = 0, 2
_CHUNK = 4096


class Fact(Struct, frozen=True):
    """A fact about this machine, in words."""

    name: str
    value: str


class MachineReport(Struct, frozen=True):
    """Facts about this machine, by topic."""

    versions: Sequence[Fact]
    runtimes: Sequence[Fact]
    files: Sequence[Fact]
    terminal: Sequence[Fact]
    environment: Sequence[Fact]

    def value(self) -> MachineReport:
        """Return it for programs."""
        return self

    def parts(self, _form: str) -> Iterator[str]:
        """Yield a line for each topic and fact."""
        for topic in self.__struct_fields__:
            yield f"{topic.capitalize()}:"
            for fact in getattr(self, topic):
                yield f"  {fact.name:<{_WIDTH}} {fact.value}"


async def print_info(options: InfoOptions) -> int:
    """Print facts about this machine; the exit status is 0."""
    report = MachineReport(
        tuple(_versions(rules_by(options))),
        [runtime async for runtime in _runtimes(pick_options(RuntimeOptions, options))],
        tuple(_files(options)),
        tuple(_terminal()),
        tuple(_environment()),
    )
    emit(report, options.output)
    return 0


def _versions(rules: KubeletRules) -> Iterator[Fact]:
    yield Fact("probetui", __version__)
    yield Fact("kubelet rules", _kubelet(rules))
    yield Fact("python", platform.python_version())
    yield Fact("system", platform.platform())
    for name in _LIBRARIES:
        yield Fact(name, version(name))


def _kubelet(rules: KubeletRules) -> str:
    """Return the version in force, its feature gates, and the others there are."""
    gates = f" with {', '.join(rules.feature_gates)}" if rules.feature_gates else ""
    others = ", ".join(name for name in VERSIONS if name != rules.version)
    return f"v{rules.version}{gates} (--kubelet: {others})"


async def _runtimes(options: RuntimeOptions) -> AsyncIterator[Fact]:
    """Yield each endpoint where a runtime is looked for, in order, with the outcome."""
    for endpoint, outcome in await describe_endpoints(
        host=options.host, context=options.docker_context
    ):
        yield Fact("docker", f"{endpoint}: {outcome}")
    for endpoint, outcome in await describe_cri(endpoint=options.runtime_endpoint):
        yield Fact("cri", f"{endpoint}: {outcome}")
    processes = await open_runtime(RuntimeOptions(runtime=PROCESS), SystemClock())
    yield Fact("process", f"{await processes.version()} (only with --runtime process)")
    await processes.close()


def _files(options: InfoOptions) -> Iterator[Fact]:
    config = options.config or folders.config_file()
    yield Fact("config", _described(config, "not created, optional"))
    log = options.log_file or folders.log_file()
    yield Fact("log", _described(log, "not written yet"))
    themes = folders.themes_folder()
    yield Fact("themes", _described(themes, "not created, optional"))
    yield Fact("state", _described(folders.state_folder(), "not created yet"))
    yield Fact("pods", _described(folders.pods_folder(), "no process was run yet"))


def _described(path: Path, if_missing: str) -> str:
    return str(path) if path.exists() else f"{path} ({if_missing})"


def _terminal() -> Iterator[Fact]:
    terminal = Terminal.here()
    for name in ("stdin", "stdout", "stderr"):
        yield Fact(name, "terminal" if getattr(terminal, name) else "no terminal")
    yield Fact("keyboard", "terminal" if terminal.has_keyboard else "none")
    size = shutil.get_terminal_size()
    yield Fact("size", f"{size.columns} x {size.lines}")
    yield Fact("encoding", sys.stdout.encoding)
    yield Fact("background", _background(terminal))


def _background(terminal: Terminal) -> str:
    """Return what the theme follows if none is chosen."""
    is_asked = terminal.stdin and terminal.stdout and terminal.stderr
    reply = query_background() if is_asked and not terminal.is_dumb else None
    if reply is not None:
        return f"{reply}, reported by the terminal: {_theme(is_light=reply.is_light)}"
    is_light = is_light_by_environment(os.environ)
    if is_light is not None:
        return f"from COLORFGBG: {_theme(is_light=is_light)}"
    return f"unknown: {_theme(is_light=False)}"


def _theme(*, is_light: bool) -> str:
    return f"{'light' if is_light else 'dark'} theme if none is chosen"


def _environment() -> Iterator[Fact]:
    for name in sorted(os.environ):
        if name in _VARIABLES or name.startswith("PROBETUI_"):
            yield Fact(name, os.environ[name])


def query_background() -> TerminalBackground | None:
    """Ask the terminal for its background; None if it does not reply."""
    sieve, typed = TerminalReplyFilter(), b""
    before = termios.tcgetattr(_INPUT)
    try:
        tty.setcbreak(_INPUT, termios.TCSANOW)
        os.write(_OUTPUT, question(os.environ).encode("ascii"))
        while not sieve.is_settled and select([_INPUT], [], [], _REPLY_SECONDS)[0]:
            typed += sieve.feed(os.read(_INPUT, _CHUNK))
    finally:
        termios.tcsetattr(_INPUT, termios.TCSANOW, before)
    _unread(typed + sieve.pause())
    return sieve.background


def _unread(typed: bytes) -> None:
    """Put typed keys back for the next reader, where that is allowed."""
    with suppress(OSError):
        for byte in typed:
            fcntl.ioctl(_INPUT, termios.TIOCSTI, bytes([byte]))
