"""Copy to the clipboard: by a tool of this machine, else through the terminal.

Terminals do not reply to the request (OSC 52), so that its result is unknown.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

LONGEST_REQUEST = 74_994
"""The most base64 that every terminal accepts, in bytes: 100,000 with the rest."""

_SECONDS_FOR_A_TOOL = 3.0
_REQUEST = "\x1b]52;c;{}\x07"


class CopyResult(Struct, frozen=True):
    """The result of copying, as a message; `is_done` means that it certainly worked."""

    words: str
    is_done: bool = False
    is_refused: bool = False


def tools(
    environment: Mapping[str, str],
    platform: str = sys.platform,
    which: Callable[[str], str | None] = shutil.which,
) -> list[Sequence[str]]:
    """Return the commands that copy standard input to the user's clipboard.

    Over SSH the clipboard of the remote desktop is not the user's.

    Args:
        environment: the environment of this process.
        platform: the value of `sys.platform`.
        which: returns the path of a program, or None.
    """
    candidates: list[Sequence[str]] = []
    if not environment.get("SSH_CONNECTION"):
        if platform == "darwin":
            candidates.append(["pbcopy"])
        if environment.get("WAYLAND_DISPLAY"):
            candidates.append(["wl-copy"])
        if environment.get("DISPLAY"):
            candidates += [["xclip", "-selection", "clipboard"], ["xsel", "-ib"]]
        if environment.get("WSL_DISTRO_NAME"):
            candidates.append(["clip.exe"])
    if environment.get("TMUX"):
        # -w also sends it to the terminal around tmux, which may accept it.
        candidates.append(["tmux", "load-buffer", "-w", "-"])
    return [command for command in candidates if which(command[0])]


def request(text: str, environment: Mapping[str, str]) -> str | None:
    """Return the sequence that makes the terminal copy a text, None if it is too long.

    It is wrapped for tmux and screen, which pass it on.
    """
    data = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if len(data) > LONGEST_REQUEST:
        return None
    sequence = _REQUEST.format(data)
    if environment.get("TMUX"):
        inner = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{inner}\x1b\\"
    if environment.get("TERM", "").startswith("screen"):
        return f"\x1bP{sequence}\x1b\\"
    return sequence


async def copy(
    text: str, environment: Mapping[str, str], write: Callable[[str], None] | None
) -> CopyResult:
    """Copy a text in the first way that works.

    Args:
        text: the text to copy.
        environment: the environment of this process.
        write: writes to the terminal, None without one.
    """
    for command in tools(environment):
        if await _run(command, text):
            where = "buffer" if command[0] == "tmux" else "clipboard"
            return CopyResult(f"Copied ({command[0]} {where}).", is_done=True)
    if write is None or environment.get("TERM", "") in {"", "dumb"}:
        return CopyResult("Not copied: no clipboard found.", is_refused=True)
    sequence = request(text, environment)
    if sequence is None:
        return CopyResult(
            f"Not copied: {len(text)} characters are too many for the terminal",
            is_refused=True,
        )
    write(sequence)
    return CopyResult("Sent to the terminal (OSC 52), which may have copied it.")


async def _run(command: Sequence[str], text: str) -> bool:
    """Pipe the text to a tool; return whether it succeeded."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(_SECONDS_FOR_A_TOOL):
            await process.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return process.returncode == 0
