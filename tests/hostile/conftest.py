"""A private home for every test, and restored logging."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.cli.log import LOGGERS


@pytest.fixture
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use the test's folder for all state."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    yield
    for log in map(logging.getLogger, LOGGERS):
        for handler in tuple(log.handlers):
            log.removeHandler(handler)
            handler.close()
        log.propagate = True
        log.setLevel(logging.NOTSET)
