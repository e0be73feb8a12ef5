"""What several tests of runtimes are given."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator

import pytest

from tests.runtimes.cri.server import CriServer


@pytest.fixture
async def server() -> AsyncIterator[CriServer]:
    """Return a CRI runtime that is made up, on a socket of its own."""
    # Not a test's own folder: the name of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="cri-") as folder:
        made = CriServer(f"{folder}/cri.sock")
        await made.start()
        yield made
        await made.stop()
