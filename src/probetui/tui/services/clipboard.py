"""Copying: by a tool of this machine, else by a request to the terminal.

Terminals do not answer the request (OSC 52), so nobody can know whether it was
granted; what is said about it says no more than that.
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
"""Bytes of base64 that every terminal takes: what fits into 100,000 with the rest."""

_SECONDS_FOR_A_TOOL = 3.0
_REQUEST = "\x1b]52;c;{}\x07"


class CopyResult(Struct, frozen=True):
    """The result of copying, in words; `is_done` says whether it is certain."""

    words: str
    is_done: bool = False
    is_refused: bool = False


def tools(
    environment: Mapping[str, str],
    platform: str = sys.platform,
    which: Callable[[str], str | None] = shutil.which,
) -> list[Sequence[str]]:
    """Return the commands that put standard input into this person's clipboard.

    On a machine that is reached over SSH, its desktop's clipboard is not the person's.

    Args:
        environment: variables of this process.
        platform: as `sys.platform` has it.
        which: finds a program, or returns None.
    """
    found: list[Sequence[str]] = []
    if not environment.get("SSH_CONNECTION"):
        if platform == "darwin":
            found.append(["pbcopy"])
        if environment.get("WAYLAND_DISPLAY"):
            found.append(["wl-copy"])
        if environment.get("DISPLAY"):
            found += [["xclip", "-selection", "clipboard"], ["xsel", "-ib"]]
        if environment.get("WSL_DISTRO_NAME"):
            found.append(["clip.exe"])
    if environment.get("TMUX"):
        # -w hands it on to the terminal that tmux is in, if that takes it.
        found.append(["tmux", "load-buffer", "-w", "-"])
    return [sequence for sequence in found if which(sequence[0])]


def request(text: str, environment: Mapping[str, str]) -> str | None:
    """Return what asks the terminal to copy a text, None if it is too long for that.

    tmux and screen pass on what is wrapped for them.
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
        text: what is to be copied.
        environment: variables of this process.
        write: sends characters to the terminal, None where there is none.
    """
    for command in tools(environment):
        if await _run(command, text):
            where = "buffer" if command[0] == "tmux" else "clipboard"
            return CopyResult(f"Copied ({command[0]} {where}).", is_done=True)
    if write is None or environment.get("TERM", "") in {"", "dumb"}:
        return CopyResult("Not copied: no clipboard found.", is_refused=True)
    asking = request(text, environment)
    if asking is None:
        return CopyResult(
            f"Not copied: {len(text)} characters are too many for the terminal",
            is_refused=True,
        )
    write(asking)
    return CopyResult("Sent to the terminal (OSC 52), which may have copied it.")


async def _run(command: Sequence[str], text: str) -> bool:
    """Return whether a tool took the text."""
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
