"""A home of the test's own, and logs as they were."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.cli.log import LOGGERS


@pytest.fixture
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let everything that is kept be kept in the test's folder."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    yield
    for log in map(logging.getLogger, LOGGERS):
        for handler in tuple(log.handlers):
            log.removeHandler(handler)
            handler.close()
        log.propagate = True
        log.setLevel(logging.NOTSET)
