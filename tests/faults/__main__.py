"""Run worlds by their seeds, and report what does not hold and what was covered."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from probetui.analysis.causes.kinds import CauseKind
from probetui.drive.clocks import SystemClock
from probetui.durations import format_duration
from tests.faults.coverage import never_given
from tests.faults.judging import broken_in, judged, kinds_of
from tests.faults.session import World, run_world
from tests.faults.shrink import shrink, write_record


def main() -> int:
    """Run it; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--seeds", type=int, default=1000, help="how many worlds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one world, with its journal")
    parser.add_argument(
        "--shrink", action="store_true", help="leave out the faults that it needs not"
    )
    parser.add_argument(
        "--report", action="store_true", help="count states, transitions and causes"
    )
    args = parser.parse_args()
    if args.seed is not None:
        return _shrink(args.seed) if args.shrink else _tell(args.seed)
    return _run(range(args.first, args.first + args.seeds), reports=args.report)


def _run(seeds: range, *, reports: bool) -> int:
    clock = SystemClock()
    began = clock.now()
    counts: Counter[str] = Counter()
    seconds, broken = 0.0, 0
    with ProcessPoolExecutor() as pool:
        for outcome in pool.map(partial(judged, reports=reports), seeds, chunksize=8):
            counts += outcome.counts
            seconds += outcome.seconds
            broken += bool(outcome.broken)
            for rule in outcome.broken:
                print(f"seed {outcome.seed}, {_commit()}: {rule}")
    took = format_duration(clock.now() - began)
    for what, count in sorted(counts.items()):
        print(f"{count:9,} {what}")
    if reports:
        never = never_given(counts)
        print(f"{len(CauseKind) - len(never)} of {len(CauseKind)} kinds of causes")
        print(f"never: {', '.join(never)}")
    print(
        f"{len(seeds):,} worlds, {seconds / 60:,.0f} simulated minutes in {took}; "
        f"{broken} broke a rule"
    )
    return min(broken, 1)


def _tell(seed: int) -> int:
    with TemporaryDirectory() as folder:
        world = run_world(seed, Path(folder))
    for number, life in enumerate(world.lives, 1):
        for entry in life.journal:
            print(f"{number} {entry}")
    broken = judged(seed).broken
    for rule in broken:
        print(f"seed {seed}, {_commit()}: {rule}")
    return min(len(broken), 1)


def _shrink(seed: int) -> int:
    with TemporaryDirectory() as folder:
        kinds = kinds_of(broken_in(run_world(seed, Path(folder))))
    if not kinds:
        print(f"seed {seed} breaks no rule of a session")
        return 0

    def broken_by(world: World) -> list[str]:
        return [rule for rule in broken_in(world) if kinds_of([rule]) & kinds]

    shrunk = shrink(seed, broken_by)
    print(f"seed {seed}, {_commit()}: {len(shrunk.faults)} faults break it:")
    for fault in shrunk.faults:
        print(f"  {fault}")
    print(shrunk.broken[0])
    number = next(
        (int(rule.split()[1][:-1]) for rule in shrunk.broken if "life " in rule[:5]),
        len(shrunk.world.lives),
    )
    path = Path(f"faults-{seed}.jsonl")
    write_record(shrunk.world.lives[number - 1], shrunk.world, path)
    print(f"life {number} is in {path}, for probetui why and probetui replay")
    return 1


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
