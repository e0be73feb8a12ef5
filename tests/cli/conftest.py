"""Private folders for the tests of the command line."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.cli.log import LOGGERS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set empty folders and remove the machine's environment variables."""
    home = tmp_path / "home"
    for name in os.environ:
        if name.startswith(("PROBETUI_", "DOCKER_", "CONTAINER_", "CRI_", "_PROBETUI")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Restore the logging configuration that the program changes."""
    yield
    for log in map(logging.getLogger, LOGGERS):
        for handler in tuple(log.handlers):
            log.removeHandler(handler)
            handler.close()
        log.propagate = True
        log.setLevel(logging.NOTSET)
