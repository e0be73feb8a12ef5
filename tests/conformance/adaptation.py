"""Manifests of cases for plain processes, which have no image and no file system.

The manifest replaces what an image and a root file system would provide:

- the test server is run from its source, with this Python;
- paths of volumes and termination messages are relative: on processes they are in the
  container's home folder, where its commands run;
- `/tmp` is that folder too, which is new for each instance of the container;
- a program that is process 1 of a container is not ended by SIGTERM unless it handles
  it, so one that does not is started with SIGTERM ignored.

Other cases need an image or a namespace; `why_not` returns the reason.
"""

from __future__ import annotations

import copy
import shlex
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]

SERVER = Path(__file__).parents[1] / "images" / "agnhost"
SERVER_IMAGE = "/agnhost:"
MISSING_IMAGES = "invalid.registry.k8s.io/"
MESSAGE_PATH = "/dev/termination-log"
WEB_PORT = 80

FOR_SERVER = {
    "/agnhost": str(SERVER / "agnhost.py"),
    "/localhost.crt": str(SERVER / "localhost.crt"),
    "/localhost.key": str(SERVER / "localhost.key"),
}
"""Files of the server's image, and their paths on this machine."""

PATHS_STAY_IN = frozenset({"volumeMounts", "terminationMessagePath"})
"""Fields whose paths the runtime itself resolves below the home folder."""

IGNORING_SIGTERM = "trap '' TERM; exec \"$@\""


def why_not(pod: Mapping[str, Any]) -> str:
    """Return why a pod cannot run on plain processes, empty if it can."""
    for container in _containers(pod):
        if container["image"].startswith(MISSING_IMAGES):
            return "needs images: one of its own is to be missing"
        is_web = "test-webserver" in container.get("args", [])
        if is_web and not _may_listen(WEB_PORT):
            return f"needs a network of its own: port {WEB_PORT} is not for this user"
    return ""


def for_processes(pod: Mapping[str, Any]) -> Json:
    """Return a manifest that does the same on plain processes."""
    adapted: Json = copy.deepcopy(dict(pod))
    for container in _containers(adapted):
        for path, here in _paths(container).items():
            for key in container.keys() - PATHS_STAY_IN:
                container[key] = _moved(container[key], path, here)
        # Afterwards: the path of the source or of this Python may contain such a path.
        if SERVER_IMAGE in container["image"]:
            _run_from_source(container)
        else:
            _run_as_process_1(container)
    return adapted


def _paths(container: Json) -> dict[str, str]:
    """Return a container's own paths, and their replacements on processes."""
    own = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
    own.append(container.get("terminationMessagePath", MESSAGE_PATH))
    return {"/tmp/": "./"} | {path: f".{path}" for path in own}


def _containers(pod: Mapping[str, Any]) -> Iterator[Json]:
    for key in ("initContainers", "containers"):
        yield from pod["spec"].get(key) or ()


def _run_from_source(container: Json) -> None:
    command = container.pop("command", ["/agnhost"]) + container.pop("args", [])
    found = [FOR_SERVER.get(part, part) for part in command]
    container["command"] = [sys.executable, *found]


def _run_as_process_1(container: Json) -> None:
    command = container.pop("command", []) + container.pop("args", [])
    handles_sigterm = "trap" in shlex.join(command)
    if command and shutil.which(command[0]) and not handles_sigterm:
        command = ["/bin/sh", "-c", IGNORING_SIGTERM, "sh", *command]
    container["command"] = command


def _moved(value: Any, path: str, here: str) -> Any:
    """Return a part of a manifest with a path replaced, also in queries."""
    match value:
        case str():
            coded = value.replace(quote(path, safe=""), quote(here, safe=""))
            return coded.replace(path, here)
        case list():
            return [_moved(item, path, here) for item in value]
        case dict():
            return {key: _moved(item, path, here) for key, item in value.items()}
        case _:
            return value


def _may_listen(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            return False
        except OSError:
            return True  # the port is in use at that address, and pods have others
    return True
