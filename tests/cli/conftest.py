"""Folders of their own for the tests of the command line."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the program empty folders and none of the machine's variables."""
    home = tmp_path / "home"
    for name in os.environ:
        if name.startswith(("PROBETUI_", "DOCKER_", "_PROBETUI")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


@pytest.fixture(autouse=True)
def log() -> Iterator[logging.Logger]:
    """Put the log back to where it was before the program took it."""
    log = logging.getLogger("probetui")
    yield log
    for each in tuple(log.handlers):
        log.removeHandler(each)
        each.close()
    log.propagate = True
    log.setLevel(logging.NOTSET)
