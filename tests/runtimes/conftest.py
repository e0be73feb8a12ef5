"""Fixtures of several tests of runtimes."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator

import pytest

from tests.runtimes.cri.server import CriServer


@pytest.fixture
async def server() -> AsyncIterator[CriServer]:
    """Return a fake CRI runtime on its own socket."""
    # Not in `tmp_path`: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="cri-") as folder:
        made = CriServer(f"{folder}/cri.sock")
        await made.start()
        yield made
        await made.stop()
