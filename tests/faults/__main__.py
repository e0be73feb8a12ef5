"""Run worlds by their seeds, and report what does not hold and what was covered."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from probetui.drive.clocks import SystemClock
from probetui.durations import format_duration
from tests.faults.judging import judged
from tests.faults.session import run_world


def main() -> int:
    """Run it; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--seeds", type=int, default=1000, help="how many worlds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one world, with its journal")
    args = parser.parse_args()
    if args.seed is not None:
        return _tell(args.seed)
    clock = SystemClock()
    began = clock.now()
    counts: Counter[str] = Counter()
    seconds, broken = 0.0, 0
    with ProcessPoolExecutor() as pool:
        seeds = range(args.first, args.first + args.seeds)
        for outcome in pool.map(judged, seeds, chunksize=8):
            counts += outcome.counts
            seconds += outcome.seconds
            broken += bool(outcome.broken)
            for rule in outcome.broken:
                print(f"seed {outcome.seed}, {_commit()}: {rule}")
    took = format_duration(clock.now() - began)
    for what, count in sorted(counts.items()):
        print(f"{count:9,} {what}")
    print(
        f"{args.seeds:,} worlds, {seconds / 60:,.0f} simulated minutes in {took}; "
        f"{broken} broke a rule"
    )
    return min(broken, 1)


def _tell(seed: int) -> int:
    with TemporaryDirectory() as folder:
        world = run_world(seed, Path(folder))
    broken = judged(seed).broken
    for number, life in enumerate(world.lives, 1):
        for entry in life.journal:
            print(f"{number} {entry}")
    for rule in broken:
        print(f"seed {seed}, {_commit()}: {rule}")
    return min(len(broken), 1)


def _commit() -> str:
    shown = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        check=False,
        text=True,
    )
    return shown.stdout.strip() or "no commit"


if __name__ == "__main__":
    sys.exit(main())
