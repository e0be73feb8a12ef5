"""Termination messages on Docker that are meant to take long."""

from __future__ import annotations

import pytest

from tests.runtimes.docker.bench import DockerBench, bench

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


async def test_a_huge_termination_message_is_refused_and_not_read(
    bench: DockerBench,
) -> None:
    script = "truncate -s 100G /dev/termination-log; exit 3"

    ended = await bench.ended(await bench.run(script))

    assert ended.message.startswith("Error on reading termination log ")
    assert "it has 107374182400 bytes" in ended.message
