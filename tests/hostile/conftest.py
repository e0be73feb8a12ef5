"""What hostile tests share: a private home, and pods as processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtimes.process.conftest import bench

__all__ = ["bench"]


@pytest.fixture
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the test's folder for all state."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
