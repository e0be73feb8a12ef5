"""Manifests of traces for plain processes, which have no image and no file system.

The programs are those of this machine's busybox; the traces' image has the same. The
commands of a container run in its own folder, so absolute paths become relative ones; a
server listens at its pod's address, because all pods share the ports of this machine.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.traces.trace import Json

_PATH = re.compile(
    r"(?<![\w./$}:-])(?<!Location: )"
    r"/(?!(?:bin|sbin|usr|proc|dev|etc|sys)\b)[\w.-][\w./-]*"
)
"""A path that containers have for themselves, and processes share."""

_LISTEN_PORT = re.compile(r"(\bhttpd\b[^;\n]*? -p )(\d+)")
_SCRIPT_OF_SERVER = re.compile(r"#!/bin/sh.*?(?='|\nX\n|\Z)", re.DOTALL)
"""The script that a command writes to `www/cgi-bin` for a server."""

MessageRewrite = Callable[[str], str]


def for_processes(manifest: Json) -> Json:
    """Return the manifest of a trace, adapted to processes."""
    spec = manifest["spec"]
    adapted = {
        kind: [_adapted(container) for container in spec[kind]]
        for kind in ("initContainers", "containers")
        if kind in spec
    }
    return {**manifest, "spec": {**spec, **adapted}}


def rewrite_to_trace_paths(manifest: Json) -> MessageRewrite:
    """Return a function that replaces paths in messages by those of the manifest."""
    paths = set(_PATH.findall(str(manifest["spec"])))

    def rewrite(message: str) -> str:
        for path in paths:
            message = message.replace(f"'{_relative(path)}'", f"'{path}'")
        return message

    return rewrite


def link_busybox(folder: Path) -> None:
    """Fill a folder with links to the programs of this machine's busybox."""
    folder.mkdir()
    subprocess.run(["busybox", "--install", "-s", folder], check=True)


def _adapted(value: Any) -> Any:
    """Return a container, or a part of one, with its commands adapted."""
    match value:
        case Mapping():
            # The path of a request is not a path of this machine.
            return {
                key: _command(part)
                if key in {"command", "args"}
                else part
                if key == "httpGet"
                else _adapted(part)
                for key, part in value.items()
            }
        case _:
            return value


def _command(words: list[str]) -> list[str]:
    # A program that does not exist does not exist here either.
    program, *rest = words
    return [program, *map(_text, rest)]


def _text(text: str) -> str:
    text = _SCRIPT_OF_SERVER.sub(
        lambda script: _PATH.sub(lambda path: f"../../{_relative(path[0])}", script[0]),
        text,
    )
    text = _LISTEN_PORT.sub(r"\1$POD_IP:\2", text)
    return _PATH.sub(lambda path: _relative(path[0]), text)


def _relative(path: str) -> str:
    """Return a path in the container's own folder, which has no `/tmp`."""
    return path.removeprefix("/tmp").removeprefix("/")
