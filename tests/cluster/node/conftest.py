from __future__ import annotations

import pytest

from tests.cluster.node.bench import Cluster, NodeBench
from tests.fakes import FakeClock


@pytest.fixture
async def bench() -> NodeBench:
    clock = FakeClock()
    return NodeBench(Cluster(clock), clock)
