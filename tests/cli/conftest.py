"""Private folders for the tests of the command line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.cli.main import run


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


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Return an unmanaged process in the test's folder."""
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as process:
        yield process
        process.kill()


@pytest.fixture
def _nothing_is_left(home: Path) -> Iterator[None]:
    """Remove what a session on plain processes has left in its own folders."""
    assert os.environ["HOME"] == str(home)
    yield
    assert run(["down", "--all", "--runtime", "process", "-q"]) == 0
