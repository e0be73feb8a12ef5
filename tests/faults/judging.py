"""Worlds judged by their seeds, in other processes, too."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.faults.coverage import covered
from tests.faults.machine import broken_by_machine_leases
from tests.faults.node import run_node_world
from tests.faults.rules import broken_rules
from tests.faults.session import World, run_world
from tests.faults.sharing import broken_by_sharing
from tests.faults.watch import run_watch_world

SHARES_EACH = 3
"""Of so many worlds one has an engine that two homes share beside it."""

NODES_EACH = 20
"""Of so many worlds one has a node and its API server beside it."""

WATCHES_EACH, WATCHES_AT = 100, 2
"""Of so many worlds one has a cluster that is watched beside it."""


class Outcome(NamedTuple):
    """What became of one world, which lasted `seconds` of virtual time.

    `pod_seconds` has the time of each pod that was in it.
    """

    seed: int
    broken: list[str]
    counts: Counter[str]
    seconds: float
    pod_seconds: float


def judged(seed: int, *, reports: bool = False) -> Outcome:
    """Run a world and judge it; what it raises breaks a rule, too.

    Args:
        seed: that of the world.
        reports: count states, transitions and causes, too.
    """
    with TemporaryDirectory() as folder:
        world = run_world(seed, Path(folder))
        broken = broken_in(world)
        pod_seconds = world.seconds * len(world.pods)
        if seed % SHARES_EACH == 0:
            homes = Path(folder) / "homes"
            homes.mkdir()
            broken += broken_by_sharing(seed, homes, world.counts)
            broken += broken_by_machine_leases(seed, world.counts)
        if seed % NODES_EACH == 1:
            node = run_node_world(seed)
            broken += [f"node: {rule}" for rule in broken_in(node)]
            world.counts += node.counts
            pod_seconds += node.pod_seconds
        if seed % WATCHES_EACH == WATCHES_AT:
            watched = run_watch_world(seed, Path(folder))
            broken += [f"watch: {rule}" for rule in broken_in(watched)]
            world.counts += watched.counts
            pod_seconds += watched.pod_seconds
    if reports:
        world.counts += covered(world)
    return Outcome(seed, broken, world.counts, world.seconds, pod_seconds)


def judged_at_each_place(seed: int, *, of_node: bool = False) -> Outcome:
    """Run a short world again and again, and let us end at each place in turn."""
    broken: list[str] = []
    counts: Counter[str] = Counter()
    seconds = pod_seconds = 0.0
    for place in itertools.count():
        with TemporaryDirectory() as folder:
            if of_node:
                world = run_node_world(seed, ends_at=place)
            else:
                world = run_world(seed, Path(folder), ends_at=place)
                world.pod_seconds = world.seconds * len(world.pods)
            rules = broken_in(world)
        seconds += world.seconds
        pod_seconds += world.pod_seconds
        counts += world.counts
        # With the last one it ends nowhere.
        name = world.places[place] if place < len(world.places) else "no place"
        counts[f"we end {name}"] += 1
        broken += [f"ended at {place}, {name}: {rule}" for rule in rules]
        if place >= len(world.places):
            return Outcome(seed, broken, counts, seconds, pod_seconds)
    raise AssertionError


def broken_in(world: World) -> list[str]:
    """Return the rules that are broken in a world; one that raises is a broken one."""
    try:
        return broken_rules(world)
    except Exception as error:  # noqa: BLE001  # a bug, with the seed that shows it
        return [*world.broken, f"raised {type(error).__name__}: {error}"]


def kinds_of(broken: list[str]) -> set[str]:
    """Return which rules these are, without the places and the times."""
    return {
        " ".join(word for word in text.split("\n")[0].split() if word.isalpha())
        for text in broken
    }
