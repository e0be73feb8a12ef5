"""Private folders for the tests of the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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
