"""Whether a command that cannot be started is an error or a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from probetui.errors import ExecutableMissingError
from tests.runtimes.bench import POLITE
from tests.runtimes.docker.bench import DockerBench

pytestmark = [pytest.mark.docker, pytest.mark.slow]

MISSING = ("no-such-command",)
CANNOT_START = {126, 127}


@asynccontextmanager
async def a_bench(exec_errors: str) -> AsyncIterator[DockerBench]:
    bench = DockerBench(exec_errors=exec_errors)
    try:
        yield bench
    finally:
        await bench.close()


async def test_it_is_an_error_as_on_cri_runtimes() -> None:
    async with a_bench("cri") as bench:
        container_id = await bench.run(POLITE)

        with pytest.raises(ExecutableMissingError, match="no-such-command"):
            await bench.runtime.exec_sync(container_id, MISSING, 10)


async def test_it_is_a_failure_as_with_dockershim_if_requested() -> None:
    async with a_bench("docker") as bench:
        container_id = await bench.run(POLITE)

        result = await bench.runtime.exec_sync(container_id, MISSING, 10)

        assert result.exit_code in CANNOT_START
        assert result.is_missing
        assert "no-such-command" in (result.stdout + result.stderr).decode()
