"""Answers of the real kubelet code, one test per case.

The cases come from the folder in `PROBETUI_PARITY_DIR` if set, else from
`tests/parity/data`. A file's name says which judge compares it; a name that no judge
knows is a failing test, never a silent skip.
"""

from __future__ import annotations

import asyncio
import gzip
import importlib
import inspect
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

HERE = Path(__file__).parent
DATA = Path(os.environ.get("PROBETUI_PARITY_DIR") or HERE / "data")

LONG_MILLISECONDS = 100
"""Cases in which the kubelet took longer wait more than they work."""

AT_A_TIME = 16


def _files() -> list[Path]:
    return sorted([*DATA.rglob("*.jsonl"), *DATA.rglob("*.jsonl.gz")])


def _text(path: Path) -> str:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text(encoding="utf-8")


def _name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _cases() -> list[Any]:
    found = []
    for path in _files():
        name = _name(path)
        if not (HERE / "judges" / f"{name}.py").exists():
            found.append(pytest.param(name, None, id=f"{name}-has-a-judge"))
            continue
        for line in _text(path).splitlines():
            if line:
                case = json.loads(line)
                found.append(pytest.param(name, case, id=case["id"]))
    return found


def test_there_are_cases() -> None:
    assert _files(), f"no parity cases below {DATA}"


def _waits(case: Mapping[str, Any]) -> bool:
    """Tell whether the kubelet waited: for a server that is slow, or never answers."""
    out = case.get("out")
    return isinstance(out, dict) and out.get("elapsedMs", 0) >= LONG_MILLISECONDS


async def _judge(name: str, case: dict[str, Any]) -> None:
    judge = importlib.import_module(f"tests.parity.judges.{name}").judge
    answer = judge(case)
    if inspect.isawaitable(answer):
        await answer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def waited_for(
    request: pytest.FixtureRequest,
) -> Mapping[str, BaseException | None]:
    """Say what came of the selected cases that wait, by ID; they wait side by side."""
    params: list[dict[str, Any]] = [
        dict(item.callspec.params)
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.obj is test_parity
    ]
    waiting = [
        parameter
        for parameter in params
        if parameter["case"] and _waits(parameter["case"])
    ]
    # The longest first, so that they do not wait on alone at the end.
    waiting.sort(key=lambda each: -each["case"]["out"]["elapsedMs"])
    free = asyncio.Semaphore(AT_A_TIME)

    async def judged(name: str, case: dict[str, Any]) -> None:
        async with free:
            await _judge(name, case)

    found = await asyncio.gather(
        *(judged(**each) for each in waiting), return_exceptions=True
    )
    return {
        each["case"]["id"]: problem
        for each, problem in zip(waiting, found, strict=True)
    }


@pytest.mark.parametrize(("name", "case"), _cases())
async def test_parity(
    name: str,
    case: dict[str, Any] | None,
    waited_for: Mapping[str, BaseException | None],
) -> None:
    assert case is not None, f"no judge for {name}.jsonl in tests/parity/judges"

    if not _waits(case):
        await _judge(name, case)
    elif (problem := waited_for[case["id"]]) is not None:
        raise problem
