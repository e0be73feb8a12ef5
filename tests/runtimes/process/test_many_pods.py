"""What many pods cost at their start and at their end grows with their number alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.cli.runtimes import remove_pods
from probetui.drive.clocks import SystemClock
from probetui.runtimes import process_identity
from probetui.runtimes.process import descendant_killer, logs, records
from probetui.runtimes.process.runtime import ProcessRuntime
from probetui.runtimes.process_identity import Process
from tests.builders import a_pod
from tests.runtimes.process.bench import ProcessBench

MANY = 20
PASSES = 5


def count(
    calls: Counter[str], monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    """Count the calls of a function of a module."""
    function = getattr(module, name)

    def counted(*arguments: Any, **options: Any) -> Any:
        calls[name] += 1
        return function(*arguments, **options)

    monkeypatch.setattr(module, name, counted)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count looks at files and at the machine's processes."""
    counter: Counter[str] = Counter()
    for name in ("write", "signature", "read_container", "read_sandbox"):
        count(counter, monkeypatch, records, name)
    count(counter, monkeypatch, descendant_killer, "kill_numbered")
    return counter


async def run_many(bench: ProcessBench) -> None:
    for number in range(MANY):
        sandbox_id = await bench.sandbox(a_pod(name=f"many-{number}"))
        await bench.run("exec sleep 300", sandbox_id=sandbox_id)


async def test_a_pod_more_is_started_without_a_look_at_all_others(
    bench: ProcessBench, calls: Counter[str]
) -> None:
    await run_many(bench)

    assert calls["write"] == 3 * MANY  # its sandbox, its container, its process
    assert calls["read_sandbox"] <= MANY
    assert calls["read_container"] <= 2 * MANY
    assert calls["signature"] <= 20 * MANY


async def test_a_list_reads_no_record_that_has_not_changed(
    bench: ProcessBench, calls: Counter[str]
) -> None:
    await run_many(bench)
    calls.clear()

    assert len(await bench.runtime.relist()) == MANY

    assert calls["signature"] == 2 * MANY
    assert calls["read_sandbox"] + calls["read_container"] == 0


async def test_all_end_with_few_looks_at_processes_and_two_records_each(
    bench: ProcessBench, calls: Counter[str]
) -> None:
    await run_many(bench)
    pods = await bench.runtime.relist()
    calls.clear()

    await remove_pods(bench.runtime, pods, grace_period_seconds=0)

    assert await bench.runtime.relist() == ()
    assert calls["write"] == 2 * MANY  # the end of the container, of the sandbox
    assert calls["read_sandbox"] + calls["read_container"] <= 2 * MANY
    assert calls["kill_numbered"] <= MANY / 2


async def test_whether_a_probetui_lives_is_looked_up_once_for_all_that_it_left(
    bench: ProcessBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_many(bench)
    await bench.runtime.close()
    ended = await asyncio.create_subprocess_exec("true")
    left_by = Process(ended.pid, "an earlier start time")
    await ended.wait()
    for file in bench.base.glob(f"*/{records.SANDBOX_FILE}"):
        record = records.read_sandbox(file)
        assert record is not None
        records.write(file, replace(record, owner=left_by))
    monkeypatch.setattr(logs, "ROTATION_POLL_SECONDS", 0.01)
    beside = ProcessRuntime(
        bench.base, SystemClock(), adopts=lambda _namespace, _name: False
    )
    try:
        assert len(await beside.relist()) == MANY
        calls: Counter[str] = Counter()
        count(calls, monkeypatch, logs, "is_too_long")
        count(calls, monkeypatch, process_identity, "_read_state")

        async with asyncio.timeout(60):
            while calls["is_too_long"] < PASSES * MANY:  # noqa: ASYNC110  # a loop of the runtime's
                await asyncio.sleep(0.01)
    finally:
        await beside.close()

    passes = calls["is_too_long"] / MANY
    assert calls["_read_state"] <= passes + 1
