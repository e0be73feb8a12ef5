"""Worlds judged by their seeds, in other processes, too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.faults.rules import broken_rules
from tests.faults.session import run_world
from tests.faults.sharing import broken_by_sharing

SHARES_EACH = 3
"""Of so many worlds one has an engine that two homes share beside it."""


class Outcome(NamedTuple):
    """What became of one world."""

    seed: int
    broken: list[str]
    counts: Counter[str]
    seconds: float


def judged(seed: int) -> Outcome:
    """Run a world and judge it; what it raises breaks a rule, too."""
    try:
        with TemporaryDirectory() as folder:
            world = run_world(seed, Path(folder))
            broken = broken_rules(world)
            if seed % SHARES_EACH == 0:
                homes = Path(folder) / "homes"
                homes.mkdir()
                broken += broken_by_sharing(seed, homes, world.counts)
    except Exception as error:  # noqa: BLE001  # a bug, with the seed that shows it
        return Outcome(seed, [f"raised {type(error).__name__}: {error}"], Counter(), 0)
    return Outcome(seed, broken, world.counts, world.seconds)
