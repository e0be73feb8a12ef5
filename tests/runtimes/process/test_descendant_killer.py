"""Requests to kill what containers started are carried out together."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from probetui.runtimes.process import descendant_killer
from probetui.runtimes.process.descendant_killer import (
    DescendantKiller,
    KilledDescendants,
)
from probetui.runtimes.process.descendants import kill_numbered, new_number, numbering

MANY = 50


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[Collection[int]]:
    """Record which numbers are killed by one look."""
    made: list[Collection[int]] = []

    def recorded(numbers: Collection[int], *args: Any, **options: Any) -> Any:
        made.append(numbers)
        return kill_numbered(numbers, *args, **options)

    monkeypatch.setattr(descendant_killer, "kill_numbered", recorded)
    return made


@pytest.fixture
def processes() -> Iterator[dict[int, subprocess.Popen[bytes]]]:
    """Start three processes, each with a number of its own."""
    started = {}
    for _ in range(3):
        number = new_number()
        with numbering(number):
            started[number] = subprocess.Popen(["sleep", "300"])
    yield started
    for process in started.values():
        process.kill()
        process.wait()


async def test_many_requests_take_two_looks(batches: list[Collection[int]]) -> None:
    killer = DescendantKiller()

    await asyncio.gather(
        *(killer.kill(new_number(), (), is_thorough=True) for _ in range(MANY))
    )

    assert sum(map(len, batches)) == MANY
    assert len(batches) <= 2


async def test_each_request_ends_the_processes_of_its_own_number(
    processes: dict[int, subprocess.Popen[bytes]],
) -> None:
    killer = DescendantKiller()
    spared_number, *others = processes

    killed = await asyncio.gather(
        *(killer.kill(number, (), is_thorough=False) for number in others)
    )

    assert killed == [KilledDescendants()] * 2
    assert [processes[number].wait() for number in others] == [-9, -9]
    assert processes[spared_number].poll() is None


async def test_a_cancelled_request_leaves_the_others(
    processes: dict[int, subprocess.Popen[bytes]],
) -> None:
    killer = DescendantKiller()
    first, second, _ = processes
    cancelled = asyncio.ensure_future(killer.kill(first, (), is_thorough=True))
    kept = asyncio.ensure_future(killer.kill(second, (), is_thorough=True))
    await asyncio.sleep(0)

    cancelled.cancel()
    await kept

    assert processes[second].wait() == -9


async def test_a_look_that_fails_is_told_to_who_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(os.strerror(24))

    monkeypatch.setattr(descendant_killer, "kill_numbered", broken)

    with pytest.raises(OSError, match="Too many open files"):
        await DescendantKiller().kill(new_number(), (), is_thorough=True)
