"""Jumping and deviating clocks: nothing is probed too early or too late."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from probetui.drive.clocks import SystemClock
from probetui.engine.inputs import AddPod
from probetui.runtimes.docker.connection import DEFAULT_SOCKET
from tests.builders import START, a_container, a_pod, a_probe
from tests.drive.test_realtime import Bench, running
from tests.e2e.program import Program
from tests.fakes import FakeClock, Run, by_name
from tests.hostile.docker_proxy import docker_proxy, shifted
from tests.runtimes.bench import SPEAKS_AND_STAYS
from tests.runtimes.docker.bench import DockerBench

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
SHIFTS = [
    pytest.param(45 * SECOND, id="ahead"),
    pytest.param(-45 * SECOND, id="behind"),
]
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: hostile-time}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: busybox:1.36
      imagePullPolicy: Never
      command: [sleep, "300"]
      readinessProbe:
        {{exec: {{command: ["true"]}}, initialDelaySeconds: 2, periodSeconds: 1}}
"""


def test_the_proxy_shifts_every_instant_and_changes_no_length() -> None:
    data = (
        b"HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 02:54:58 GMT\r\n\r\n"
        b'{"StartedAt":"2026-11-23T02:59:59.123456789Z","FinishedAt":'
        b'"0001-01-01T00:00:00Z","time":1795402478,"timeNano":1795402478727591300}'
    )

    ahead = shifted(data, 45 * SECOND)

    assert len(ahead) == len(data)
    assert b"Date: Mon, 23 Nov 2026 02:55:43 GMT" in ahead
    assert b'"2026-11-23T03:00:44.123456789Z"' in ahead
    assert b'"0001-01-01T00:00:00Z"' in ahead
    assert b'"time":1795402523,"timeNano":1795402523727591300' in ahead


@pytest.fixture(params=SHIFTS)
def shift(request: pytest.FixtureRequest) -> timedelta:
    found: timedelta = request.param
    return found


@pytest.fixture
def shifted_endpoint(shift: timedelta, tmp_path: Path) -> Iterator[str]:
    daemon = Path(DEFAULT_SOCKET.removeprefix("unix://"))
    with docker_proxy(daemon, tmp_path, shift) as proxy:
        yield proxy.url


@pytest.mark.docker
@pytest.mark.slow
class TestDockerWithAnotherClock:
    async def test_its_instants_are_converted_to_our_clock(
        self, shifted_endpoint: str, shift: timedelta
    ) -> None:
        bench = DockerBench(shifted_endpoint)
        offsets: list[timedelta] = []
        bench.runtime.on_clock_offset(offsets.append)
        clock = SystemClock()
        try:
            asked_at = clock.now()
            container_id = await bench.run(SPEAKS_AND_STAYS)
            found = await bench.status(container_id)
            lines = bench.runtime.follow_logs(container_id, tail=1, follow=True)
            async with asyncio.timeout(60):
                line = await anext(aiter(lines))
            now = clock.now()
        finally:
            await bench.close()

        assert found is not None
        assert found.created_at is not None
        assert found.started_at is not None
        assert line.at is not None
        for instant in (found.created_at, found.started_at, line.at):
            assert asked_at - SECOND <= instant <= now + SECOND
        (offset,) = offsets
        assert abs(offset - shift) < SECOND

    def test_an_initial_delay_has_its_configured_length(
        self, shifted_endpoint: str, tmp_path: Path
    ) -> None:
        program = Program(tmp_path)
        pod = POD.format(name=f"clock-{uuid.uuid4().hex[:8]}")

        done = program.run(
            "run", "-f", "-", "--host", shifted_endpoint, "--plain",
            "--until", "ready", "--timeout", "30s",
            stdin=pod,
        )  # fmt: skip

        assert done.returncode == 0, done.stderr
        assert done.stderr.count("its times are corrected") == 1
        assert "skipped initial-delay" in done.stdout


class SuspendedClock(FakeClock):
    """A clock of a machine that can be suspended; no timer fires then."""

    def suspend(self, length: timedelta) -> None:
        self._now += length

    async def _wake(self, deadline: datetime) -> None:
        await super()._wake(max(deadline, self._now))


class TestSuspend:
    """The clock of the runtime advances during suspension; so does ours."""

    async def test_an_hour_of_suspension_causes_no_probes_and_no_kill(self) -> None:
        clock = SuspendedClock()
        bench = Bench(clock=clock)
        probe = a_probe(period_seconds=1, failure_threshold=1)
        async with running(bench):
            bench.session.send(AddPod(a_pod(a_container(liveness_probe=probe))))
            await clock.advance(5 * SECOND)
            before = bench.prober.probes.total()

            clock.suspend(HOUR)
            await clock.advance(3 * SECOND)

        assert before < bench.prober.probes.total() <= before + 4
        assert "Killing" not in bench.reasons()
        assert "BackOff" not in bench.reasons()

    async def test_a_container_that_restarts_afterwards_has_its_initial_delay(
        self,
    ) -> None:
        clock = SuspendedClock()
        bench = Bench(clock=clock)
        probe = a_probe(period_seconds=1, initial_delay_seconds=10)
        async with running(bench):
            bench.session.send(AddPod(a_pod(a_container(liveness_probe=probe))))
            await clock.advance(15 * SECOND)

            clock.suspend(HOUR)
            bench.world.end(bench.world.container("app"), 1)
            await clock.advance(3 * SECOND)
            restarted_at = bench.world.container("app").started_at
            before = bench.prober.probes.total()
            await clock.advance(7 * SECOND)
            assert bench.prober.probes.total() == before, "it is too early"
            await clock.advance(4 * SECOND)

        assert restarted_at is not None
        assert restarted_at - START > HOUR
        assert bench.prober.probes.total() > before

    async def test_a_back_off_elapses_during_suspension(self) -> None:
        clock = SuspendedClock()
        bench = Bench(clock=clock)
        bench.world.runs = by_name({"app": [Run(exits_after=SECOND)] * 3 + [Run()]})
        async with running(bench):
            bench.session.send(AddPod(a_pod(a_container())))
            await clock.advance(15 * SECOND)
            assert bench.reasons()[-1] == "BackOff"
            before = bench.world.container("app").operation.attempt

            clock.suspend(HOUR)
            # The time until a kubelet syncs a pod again.
            await clock.advance(12 * SECOND)

        assert bench.world.container("app").operation.attempt > before
