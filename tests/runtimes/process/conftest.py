"""Fixtures of the process runtime's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.runtimes.process.bench import ProcessBench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ProcessBench]:
    bench = ProcessBench(tmp_path / "base")
    yield bench
    await bench.clean_up()
