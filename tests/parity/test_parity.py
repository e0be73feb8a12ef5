"""Compare with answers of the real kubelet code: one test per kind of case.

The cases come from the folder in `PROBETUI_PARITY_DIR` if set, else from
`tests/parity/data`. The name of a file selects its judge; a name without a judge is
a failing test, never a silent skip. A failure lists all cases that failed;
`--case ID` runs only the cases with such an ID.
"""

from __future__ import annotations

import asyncio
import gzip
import importlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.bulk import fail_with, select_cases

HERE = Path(__file__).parent
DATA = Path(os.environ.get("PROBETUI_PARITY_DIR") or HERE / "data")

SLOW_MILLISECONDS = 100
"""Cases in which the kubelet took longer mostly wait."""

CONCURRENT_CASES = 16


def _files() -> list[Path]:
    return sorted([*DATA.rglob("*.jsonl"), *DATA.rglob("*.jsonl.gz")])


def _text(path: Path) -> str:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text(encoding="utf-8")


def _name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _kinds() -> dict[str, list[Path]]:
    """Return the files by the name of their judge; several folders may have one."""
    found: dict[str, list[Path]] = {}
    for path in _files():
        found.setdefault(_name(path), []).append(path)
    return found


def _cases(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return the cases of some files by ID; a repeated ID gets a prime."""
    found: dict[str, dict[str, Any]] = {}
    for line in (line for path in paths for line in _text(path).splitlines() if line):
        case = json.loads(line)
        name = case["id"]
        while name in found:
            name += "'"
        found[name] = case
    return found


def test_there_are_cases() -> None:
    assert _files(), f"no parity cases below {DATA}"


def _waits(case: Mapping[str, Any]) -> bool:
    """Return whether the kubelet waited for a slow or silent server."""
    out = case.get("out")
    return isinstance(out, dict) and out.get("elapsedMs", 0) >= SLOW_MILLISECONDS


async def _problem(
    judge: Callable[[dict[str, Any]], Any], case: dict[str, Any]
) -> BaseException | None:
    """Judge a case and return its error, empty without one."""
    try:
        answer = judge(case)
        if inspect.isawaitable(answer):
            await answer
    except (Exception, pytest.fail.Exception) as problem:  # noqa: BLE001  # each case's own
        return problem
    return None


async def _problems(
    judge: Callable[[dict[str, Any]], Any], cases: Mapping[str, dict[str, Any]]
) -> dict[str, BaseException]:
    """Judge cases, those that wait concurrently; return errors by ID."""
    waiting = [id_ for id_, case in cases.items() if _waits(case)]
    # The longest first, so that none of them is left to wait alone at the end.
    waiting.sort(key=lambda id_: -cases[id_]["out"]["elapsedMs"])
    free = asyncio.Semaphore(CONCURRENT_CASES)

    async def judged(id_: str) -> BaseException | None:
        async with free:
            return await _problem(judge, cases[id_])

    found = dict(zip(waiting, await asyncio.gather(*map(judged, waiting)), strict=True))
    for id_ in cases.keys() - found.keys():
        found[id_] = await _problem(judge, cases[id_])
    return {id_: problem for id_ in cases if (problem := found[id_]) is not None}


def _values() -> list[ParameterSet]:
    """Return the kinds; those whose servers hold many requests up are sweeps."""
    held_up = {"grpc_result", "http_result"}
    return [
        pytest.param(kind, marks=[pytest.mark.sweep] if kind in held_up else [])
        for kind in _kinds()
    ]


@pytest.mark.parametrize("kind", _values())
async def test_parity(kind: str, request: pytest.FixtureRequest) -> None:
    assert (HERE / "judges" / f"{kind}.py").exists(), f"no judge for {kind}.jsonl"
    judge = importlib.import_module(f"tests.parity.judges.{kind}").judge
    cases = _cases(_kinds()[kind])
    ids = select_cases(cases, request.config)

    fail_with(await _problems(judge, {id_: cases[id_] for id_ in ids}))
