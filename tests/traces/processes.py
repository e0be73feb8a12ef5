"""Manifests of traces for plain processes, which have no image and no file system.

The programs are those of this machine's busybox, as they are in the traces' image. A
container's commands run in a folder of its own, so absolute paths become relative ones;
a server listens at its pod's address, because all pods share this machine's ports.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.traces.trace import Json

NEEDS_IMAGES = "needs images: where there are none, none is missing"

LEFT_OUT: Mapping[str, str] = {
    "image-missing": NEEDS_IMAGES,
    "image-never": NEEDS_IMAGES,
}
"""The traces whose pods cannot be run as processes, and why."""

AT_POD_IP = ("-p 8080", "-p $POD_IP:8080")

REWRITTEN: Mapping[str, tuple[tuple[str, str], ...]] = {
    "exec-liveness": (("/tmp/healthy", "healthy"),),
    # The script runs in the folder it is in.
    "http-liveness": (
        AT_POD_IP,
        ("/www", "www"),
        ("cat /start", "cat ../../start"),
        (">/start", ">start"),
    ),
    "http-redirect": (AT_POD_IP, ("/www", "www")),
    "readiness-flap": (("/ready", "ready"),),
    "startup-slow": (("/ok", "ok"),),
}
"""What is replaced in the commands of a pod, and by what, so that it does the same."""

SAID = {"'healthy'": "'/tmp/healthy'"}
"""What programs say of such paths, and what they say in the traces."""


def for_processes(name: str, manifest: Json) -> Json:
    """Return the manifest of a trace for processes."""
    rewritten: Json = _rewritten(manifest, REWRITTEN.get(name, ()))
    return rewritten


def in_the_traces_words(message: str) -> str:
    """Return a message with the paths that the trace's manifest has."""
    for said, meant in SAID.items():
        message = message.replace(said, meant)
    return message


def link_busybox(folder: Path) -> None:
    """Fill a folder with links to the programs of this machine's busybox."""
    folder.mkdir()
    subprocess.run(["busybox", "--install", "-s", folder], check=True)


def _rewritten(value: Any, pairs: tuple[tuple[str, str], ...]) -> Any:
    match value:
        case str():
            for path, here in pairs:
                value = value.replace(path, here)
            return value
        case list():
            return [_rewritten(each, pairs) for each in value]
        case Mapping():
            # The path of a request is no path of this machine.
            return {
                key: each if key == "httpGet" else _rewritten(each, pairs)
                for key, each in value.items()
            }
        case _:
            return value
