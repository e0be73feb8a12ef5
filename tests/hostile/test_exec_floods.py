"""Probe commands that write endlessly: they time out, and others continue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probetui.errors import ExecTimeoutError
from tests.runtimes.bench import POLITE, Bench
from tests.runtimes.cri.bench import bench_alone
from tests.runtimes.docker.bench import DockerBench
from tests.runtimes.process.bench import ProcessBench
from tests.turns import LONGEST_TURN_SECONDS, measured_turns

pytestmark = pytest.mark.slow

DOCKER = pytest.param("docker", id="docker", marks=pytest.mark.docker)
CONTAINERD = pytest.param("containerd", id="containerd", marks=pytest.mark.cri)


@pytest.fixture(params=["processes", DOCKER, CONTAINERD])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    match request.param:
        case "processes":
            on_processes = ProcessBench(tmp_path)
            yield on_processes
            await on_processes.clean_up()
        case "docker":
            on_docker = DockerBench()
            yield on_docker
            await on_docker.close()
        case _:
            async with bench_alone() as on_containerd:
                yield on_containerd


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exec yes", id="a lot"),
        pytest.param("while :; do printf a; done", id="often"),
        pytest.param("exec yes >&2", id="on standard error"),
    ],
)
async def test_a_command_that_writes_endlessly_delays_no_others(
    bench: Bench, script: str
) -> None:
    container_id = await bench.run_ready(POLITE)

    async with measured_turns() as turns:
        with pytest.raises(ExecTimeoutError):
            await bench.sh(container_id, script, limit=1)

    assert turns.longest < LONGEST_TURN_SECONDS
    # Others had turns; how many is a matter of the machine.
    assert turns.beats > 1 / LONGEST_TURN_SECONDS


async def test_excess_output_of_a_command_is_read_and_discarded(bench: Bench) -> None:
    """A command whose output is not read would never end."""
    container_id = await bench.run_ready(POLITE)

    result = await bench.sh(container_id, "head -c 8000000 /dev/zero", limit=20)

    assert result.exit_code == 0
    assert len(result.stdout) <= 64 << 10
