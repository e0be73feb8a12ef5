"""Hold the bounds of many simulated pods to what was, and count the exact ones."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from random import Random
from typing import Any

from tests.cluster.observe.sampled_pods import (
    ALL_FAULTS,
    INTERVALS,
    Faults,
    a_life_that_hangs,
    a_pod_that_hangs,
    bounds_that_hold,
    simulate,
)

_HANGS = (a_pod_that_hangs, a_life_that_hangs)
_WORLDS: dict[str, tuple[Faults, Any]] = {
    "pods that hang": (Faults(), _HANGS),
    "pods that hang, all faults": (ALL_FAULTS, _HANGS),
    "any pods": (Faults(), ()),
    "any pods, all faults": (ALL_FAULTS, ()),
}


_EXACT = ("kills", "near misses", "all")


def main() -> int:
    """Run it; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.observe")
    parser.add_argument("--pods", type=int, default=1000, help="how many of each world")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=1200.0, help="of each pod")
    args = parser.parse_args()
    counts: Counter[tuple[str, float, str]] = Counter()
    seeds = range(args.first, args.first + args.pods)
    with ProcessPoolExecutor() as pool:
        for told in pool.map(partial(_told, args.seconds), seeds, chunksize=8):
            counts += told
    broken = 0
    for world in _WORLDS:
        for interval in INTERVALS:
            key = [world, interval]
            own = Counter(
                {what: count for (*of, what), count in counts.items() if of == key}
            )
            shares = (f"{what} {own[what] / args.pods:.1%}" for what in _EXACT)
            print(
                f"{world}, each {interval:.0f} s: exact are {', '.join(shares)}; "
                f"kills are {own['apart'] / args.pods:.2f} apart"
            )
            broken += own["broken"]
    print(f"{broken} broke a bound")
    return min(broken, 1)


def _told(seconds: float, seed: int) -> Counter[tuple[str, float, str]]:
    """Return what was exact of one pod, by world and interval."""
    counts: Counter[tuple[str, float, str]] = Counter()
    for world, (faults, kind) in _WORLDS.items():
        random = Random(seed)
        story = simulate(random, seconds, faults, *kind)
        for interval in INTERVALS:
            try:
                bounds = bounds_that_hold(story, interval, seconds, faults, random)
            except AssertionError as error:
                print(f"seed {seed}, {world}, each {interval:.0f} s: {error}")
                counts[world, interval, "broken"] += 1
                continue
            misses = bounds.near_misses
            counts[world, interval, "kills"] += bounds.probe_kills.is_exact
            counts[world, interval, "near misses"] += bool(misses and misses.is_exact)
            counts[world, interval, "all"] += bounds.is_exact
            kills = bounds.probe_kills
            counts[world, interval, "apart"] += kills.most - kills.least
    return counts


if __name__ == "__main__":
    sys.exit(main())
