"""The bench that tests of an attached session share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.cluster.attach.bench import Bench, a_bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """Return a cluster with a pod, to which a runtime is attached."""
    async with a_bench() as bench:
        bench.create()
        yield bench
