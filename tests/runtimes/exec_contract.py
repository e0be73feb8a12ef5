"""The contract of commands in containers."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from probetui.errors import (
    ContainerRuntimeError,
    ExecTimeoutError,
    ExecutableMissingError,
)
from probetui.k8s.runtime import (
    RuntimeState,
)
from probetui.ports import (
    ExecResult,
)
from tests.runtimes.bench import (
    APART,
    BEATS_NO_MORE,
    BYTES,
    ECHO,
    FAILS,
    HAS_BEATEN,
    LONG,
    MEETING,
    MEETS,
    MISSING_PROGRAM,
    POLITE,
    SLACK,
    SLOW,
    Bench,
)


class ExecContract:
    """Commands in containers."""

    async def test_a_command_answers_with_exit_code_and_both_streams(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(POLITE)

        result = await bench.sh(container_id, APART)

        assert result == ExecResult(5, b"out", b"err")

    async def test_output_is_bytes(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)

        result = await bench.sh(container_id, BYTES)

        assert result == ExecResult(0, b"\xff\x00\xfe", b"")

    async def test_arguments_may_hold_any_letter(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)

        result = await bench.sh(container_id, ECHO, "naïve ☕ $HOME")

        assert result.stdout.decode() == "naïve ☕ $HOME"

    async def test_of_long_output_enough_is_kept_and_all_is_read(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(POLITE)

        result = await bench.sh(container_id, LONG)

        assert (result.exit_code, result.stderr) == (0, b"end")
        assert 10 * 1024 <= len(result.stdout) <= 64 * 1024
        assert set(result.stdout) == {ord("x")}

    async def test_a_command_past_its_limit_times_out(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)
        before = bench.clock.now()

        with pytest.raises(ExecTimeoutError):
            await bench.sh(container_id, SLOW, limit=1)

        took = bench.clock.now() - before
        assert timedelta(seconds=1) <= took < timedelta(seconds=1) + SLACK
        assert await bench.state(container_id) is RuntimeState.RUNNING

    async def test_a_timeout_reports_whether_the_command_was_killed(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(POLITE)

        with pytest.raises(ExecTimeoutError) as caught:
            await bench.sh(container_id, bench.beats, limit=1)

        beats_no_more = await bench.sh(container_id, BEATS_NO_MORE)
        assert (beats_no_more.exit_code == 0) == caught.value.killed

    async def test_a_command_that_is_cancelled_leaves_nothing_behind(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(POLITE)

        async def has_heartbeat() -> bool:
            return (await bench.sh(container_id, HAS_BEATEN)).exit_code == 0

        async with bench.meanwhile(bench.sh(container_id, bench.beats, limit=0)):
            await bench.until(has_heartbeat)

        assert (await bench.sh(container_id, BEATS_NO_MORE)).exit_code == 0

    async def test_a_limit_of_zero_is_no_limit(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)

        result = await bench.sh(container_id, ECHO, "still here", limit=0)

        assert result.stdout == b"still here"

    async def test_a_missing_command_cannot_be_run(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)

        with pytest.raises(ExecutableMissingError, match=MISSING_PROGRAM):
            await bench.runtime.exec_sync(container_id, (MISSING_PROGRAM,), 10)

    async def test_no_command_runs_in_an_exited_container(self, bench: Bench) -> None:
        created = await bench.create(bench.container(POLITE))
        ended = await bench.run(FAILS)
        await bench.ended(ended)
        gone = await bench.create(bench.container(POLITE))
        await bench.runtime.remove_container(gone)

        with pytest.raises(ContainerRuntimeError):
            await bench.sh(created, APART)
        with pytest.raises(ContainerRuntimeError):
            await bench.sh(ended, APART)
        with pytest.raises(ContainerRuntimeError):
            await bench.sh(gone, APART)

    async def test_commands_run_side_by_side(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)

        results = await asyncio.gather(
            *(
                bench.sh(container_id, MEETS, str(number), limit=60)
                for number in range(MEETING)
            )
        )

        assert [result.stdout for result in results] == [
            b"%d" % number for number in range(MEETING)
        ]
