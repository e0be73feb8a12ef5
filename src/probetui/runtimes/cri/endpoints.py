"""Where a CRI runtime may be, as crictl looks for it; no connection is made here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from probetui.errors import RuntimeUnavailableError
from probetui.untrusted_files import read_regular

CRICTL_CONFIG = Path("/etc/crictl.yaml")

ENDPOINT_VARIABLE = "CONTAINER_RUNTIME_ENDPOINT"
IMAGE_VARIABLE = "IMAGE_SERVICE_ENDPOINT"
CONFIG_VARIABLE = "CRI_CONFIG_FILE"

KNOWN_SOCKETS = (
    ("unix:///run/containerd/containerd.sock", "containerd"),
    ("unix:///run/crio/crio.sock", "CRI-O"),
    ("unix:///var/run/cri-dockerd.sock", "cri-dockerd"),
)

_SCHEME = "unix://"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a runtime may be, and who says so.

    `image_url` is where its image service is, empty for the same place.
    """

    url: str
    source: str
    image_url: str = ""
    image_source: str = ""

    def __str__(self) -> str:
        return f"{self.url} ({self.source})"


def socket_path(url: str) -> str | None:
    """Return the socket that a URL, or a path, leads to; None for any other kind.

    Others are refused because logs and volumes are files of the runtime's machine.
    """
    path = url.removeprefix(_SCHEME)
    return path if path.startswith("/") else None


def endpoints(
    option: str | None, environ: Mapping[str, str] = os.environ
) -> tuple[Endpoint, ...]:
    """Return where to look, in order.

    An endpoint that somebody named is the only one: the option, then
    `CONTAINER_RUNTIME_ENDPOINT`, then crictl's configuration. Otherwise the known
    sockets follow each other.

    Raises `RuntimeUnavailableError` for a configuration that cannot be read.
    """
    config_file, config = _crictl_config(environ)
    image_url, image_source = _first(
        (environ.get(IMAGE_VARIABLE), IMAGE_VARIABLE),
        (config.get("image-endpoint"), config_file),
    )
    url, source = _first(
        (option, "option --runtime-endpoint"),
        (environ.get(ENDPOINT_VARIABLE), ENDPOINT_VARIABLE),
        (config.get("runtime-endpoint"), config_file),
    )
    if url:
        return (Endpoint(url, source, image_url, image_source),)
    return tuple(
        Endpoint(known, name, image_url, image_source) for known, name in KNOWN_SOCKETS
    )


def _first(*choices: tuple[Any, str]) -> tuple[str, str]:
    """Return the first that says something, with who says it."""
    for value, source in choices:
        if value:
            return str(value), source
    return "", ""


def _crictl_config(environ: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
    """Return crictl's configuration, empty if there is none, and the file's name."""
    named = environ.get(CONFIG_VARIABLE)
    file = Path(named) if named else CRICTL_CONFIG
    try:
        found = yaml.safe_load(read_regular(file).decode())
    except FileNotFoundError as error:
        if named:
            raise _unreadable(file, "there is no such file") from error
        return str(file), {}
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _unreadable(file, "it is not YAML") from error
    if not isinstance(found, dict | None):
        raise _unreadable(file, "it holds no settings")
    return str(file), found or {}


def _unreadable(file: Path, reason: str) -> RuntimeUnavailableError:
    message = f"crictl's configuration {file} cannot be read: {reason}"
    return RuntimeUnavailableError(message)
