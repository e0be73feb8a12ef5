"""Open a shell in a container; the session continues in the background."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from textual.app import App, SuspendNotSupported

from probetui.descriptor_limit import original_descriptor_limit
from probetui.kubelet.prober.gates import short_id
from probetui.safe_text import safe_line
from probetui.tui.actions.control import shell_command
from probetui.tui.state import StatefulApp

_TERMINAL = "/dev/tty"
_NOT_STARTED = frozenset({125, 126, 127})
"""Exit codes for a shell that does not exist or could not be started."""


async def open_container_shell(app: StatefulApp) -> None:
    """Open a shell in the selected container; restore the screen when it ends."""
    now = app.ui_state.context
    if not (command := shell_command(now)):
        return
    name = f"{now.pod.pod.name}/{now.container.container.name}"
    status = now.container.status
    notice = shell_notice(name, "" if status is None else status.container_id)
    problem = await open_shell(app, command, notice)
    # Keys that were typed before the shell started were meant for the shell.
    app.drop_keys()
    if problem:
        app.notify(problem, severity="error")


def shell_notice(name: str, container_id: str) -> str:
    """Return two lines: where the shell runs, and how to leave it."""
    user = "root" if os.geteuid() == 0 else "your user"
    where = (
        f"beside {name}: no container, this is your machine, as {user}"
        if container_id.startswith("process://")
        else f"in {name} ({short_id(container_id)})"
    )
    return f"probetui: shell {where}\nprobetui: exit comes back; probes keep running"


async def open_shell(app: App[None], command: Sequence[str], notice: str = "") -> str:
    """Run a command on the terminal until it ends; return an error message or "".

    The notice is printed first. Probes continue meanwhile, but nothing is painted.
    """
    program = command[0]
    if shutil.which(program) is None:
        return f"no shell: {program} is not on the PATH"
    try:
        # The end of the batch paints, so that it must come after the end of `suspend`.
        with app.batch_update(), app.suspend():
            code = await _in_front(command, notice)
    except SuspendNotSupported:
        return "no shell: this terminal cannot be suspended"
    except OSError as error:
        return f"no shell: {error}"
    if code in _NOT_STARTED:
        name = Path(program).name
        return f"{name} ended with exit code {code}: is there a shell in the image?"
    return ""


async def _in_front(command: Sequence[str], notice: str) -> int:
    """Run a command on the terminal, even if our own output is redirected."""
    terminal = os.open(_TERMINAL, os.O_RDWR)
    try:
        if notice:
            lines = map(safe_line, notice.splitlines())
            os.write(terminal, "".join(f"{line}\r\n" for line in lines).encode())
        with original_descriptor_limit():
            process = await asyncio.create_subprocess_exec(
                *command, stdin=terminal, stdout=terminal, stderr=terminal
            )
        return await process.wait()
    finally:
        os.close(terminal)
