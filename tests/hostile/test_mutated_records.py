"""Damaged records: `why` and `replay` report the damaged lines and use the others."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from tests.hostile.mutations import (
    BUG,
    Commands,
    amount,
    crash_report,
    mutated_bytes,
    mutated_lines,
    mutated_value,
    strays_of,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "records" / "1"
LINES = 80
"""The beginning of a longer record is enough: it has every kind of line."""

MUTATIONS = 400


def records() -> list[bytes]:
    """Return the records to damage."""
    found = []
    for path in sorted(GOLDEN.glob("*.jsonl.gz")):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        found.append(b"".join(lines[:LINES]))
    return found


def mutated(data: bytes, random: Random) -> bytes:
    """Return a damaged record."""
    match random.randrange(4):
        case 0:
            return mutated_bytes(data, random)
        case 1:
            return mutated_lines(data, random)
        case _:
            lines = data.splitlines(keepends=True)
            for _ in range(random.choice((1, 1, 3))):
                # The first line is one of many, but all others depend on it.
                place = random.choice((0, *(random.randrange(len(lines)),) * 9))
                value = mutated_value(json.loads(lines[place]), random)
                lines[place] = json.dumps(value).encode() + b"\n"
            return b"".join(lines)


def try_mutation(seed: int, base: list[bytes], commands: Commands, path: Path) -> str:
    """Damage a record and read it; return the problems of the outcome."""
    random = Random(seed)
    path.write_bytes(mutated(random.choice(base), random))
    for args in (("why", str(path)), ("replay", str(path), "--plain")):
        outcome = commands.run(*args)
        if outcome.status == BUG or "Traceback" in outcome.output:
            return f"seed {seed}: {args[0]}: {crash_report(outcome)}"
        if strays := strays_of(outcome.output):
            return f"seed {seed}: {args[0]} prints {strays!r}"
    return ""


@pytest.mark.usefixtures("_own_home")
def test_no_damaged_record_crashes_why_or_replay(tmp_path: Path) -> None:
    base, commands = records(), Commands(tmp_path)

    wrong = [
        problem
        for seed in range(amount(MUTATIONS))
        if (problem := try_mutation(seed, base, commands, tmp_path / "session.jsonl"))
    ]

    assert wrong == []
