"""A home of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything that is kept be kept in the test's folder."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
