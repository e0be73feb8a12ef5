"""Run worlds by their seeds, and report what does not hold and what was covered."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from probetui.analysis.causes.kinds import CauseKind
from probetui.drive.clocks import SystemClock
from probetui.durations import format_duration
from tests.faults.coverage import call_table, never_given, other_counts
from tests.faults.judging import (
    Outcome,
    broken_in,
    judged,
    judged_at_each_place,
    kinds_of,
)
from tests.faults.node import run_node_world
from tests.faults.session import World, run_world
from tests.faults.shrink import RunWorld, shrink, write_record
from tests.faults.watch import run_watch_world

_WRITTEN_EACH = timedelta(seconds=30)
Judge: TypeAlias = Callable[[int], Outcome]

_AHEAD = 4
"""So many worlds for each process: one of hours takes minutes."""


def main() -> int:
    """Run it; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--seeds", type=int, default=1000, help="how many worlds")
    parser.add_argument("--minutes", type=float, help="for so long, not so many worlds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="one world, with its journal")
    parser.add_argument("--node", action="store_true", help="that of a node")
    parser.add_argument(
        "--watch", action="store_true", help="that of a cluster that is watched"
    )
    parser.add_argument(
        "--everywhere",
        action="store_true",
        help="short worlds, each once for every place at which we may be killed",
    )
    parser.add_argument("--ends-at", type=int, help="of one world: the place of that")
    parser.add_argument(
        "--shrink", action="store_true", help="leave out the faults that it needs not"
    )
    parser.add_argument(
        "--report", action="store_true", help="count states, transitions and causes"
    )
    parser.add_argument("--out", type=Path, help="a file for the report so far")
    args = parser.parse_args()
    if args.seed is not None:
        run_one: RunWorld = run_watch_world if args.watch else run_world
        if args.node:
            run_one = _run_node
        if args.ends_at is not None:
            run_one = partial(run_one, ends_at=args.ends_at)
        return (_shrink if args.shrink else _tell)(args.seed, run_one)
    lasts = timedelta(days=1000)
    seeds = range(args.first, args.first + args.seeds)
    if args.minutes is not None:
        lasts, seeds = timedelta(minutes=args.minutes), range(args.first, sys.maxsize)
    judge: Judge = partial(judged, reports=args.report)
    if args.everywhere:
        judge = partial(judged_at_each_place, of_node=args.node)
    run = Run(args.first, reports=args.report and not args.everywhere)
    # As for ^C: the report is printed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        run.run(judge, seeds, args.jobs, lasts, args.out)
    print(run.report())
    return min(run.broken, 1)


class Run:
    """Many worlds, and what they came to.

    Args:
        first: the seed of the first.
        reports: count states, transitions and causes, too.
    """

    def __init__(self, first: int, *, reports: bool) -> None:
        self._clock = SystemClock()
        self._began = self._clock.now()
        self._reports = reports
        self._next = first
        self._counts: Counter[str] = Counter()
        self._worlds = 0
        self._seconds = self._pod_seconds = 0.0
        self.broken = 0

    def run(
        self,
        judge: Judge,
        seeds: range,
        jobs: int,
        lasts: timedelta,
        out: Path | None,
    ) -> None:
        """Run worlds in so many processes, for so long, and keep `out` up to date."""
        written = self._began
        with _outcomes(judge, seeds, jobs) as outcomes:
            for outcome in outcomes:
                self._add(outcome)
                now = self._clock.now()
                if now - written > _WRITTEN_EACH:
                    written = now
                    print(self._sum(), flush=True)
                    if out is not None:
                        out.write_text(f"{self.report()}\n", encoding="utf-8")
                if now - self._began > lasts:
                    return

    def _add(self, outcome: Outcome) -> None:
        self._next = outcome.seed + 1
        self._worlds += 1
        self._counts += outcome.counts
        self._seconds += outcome.seconds
        self._pod_seconds += outcome.pod_seconds
        self.broken += bool(outcome.broken)
        for rule in outcome.broken:
            print(f"seed {outcome.seed}, {_commit()}: {rule}", flush=True)

    def report(self) -> str:
        """Return what was covered, and how long it took."""
        lines = [*call_table(self._counts), "", *other_counts(self._counts)]
        if self._reports:
            never = never_given(self._counts)
            lines.append(f"{len(CauseKind) - len(never)} of {len(CauseKind)} causes")
            lines.append(f"never: {', '.join(never)}")
        return "\n".join([*lines, self._sum()])

    def _sum(self) -> str:
        return (
            f"{self._worlds:,} worlds, {self._seconds / 60:,.0f} simulated minutes, "
            f"{self._pod_seconds / 60:,.0f} of pods, "
            f"in {format_duration(self._clock.now() - self._began)}; "
            f"{self.broken} broke a rule; next: --first {self._next}"
        )


@contextmanager
def _outcomes(judge: Judge, seeds: range, jobs: int) -> Iterator[Iterable[Outcome]]:
    """Judge worlds in order, a few ahead; one process alone is this one."""
    if jobs == 1:
        yield map(judge, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        try:
            yield _in_order(pool, judge, seeds, jobs)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _in_order(
    pool: Executor, judge: Judge, seeds: range, jobs: int
) -> Iterator[Outcome]:
    ahead: deque[Future[Outcome]] = deque()
    for seed in seeds:
        ahead.append(pool.submit(judge, seed))
        if len(ahead) > jobs * _AHEAD:
            yield ahead.popleft().result()
    while ahead:
        yield ahead.popleft().result()


def _run_node(
    seed: int,
    _: Path,
    kept: Collection[int] | None = None,
    ends_at: int | None = None,
) -> World:
    return run_node_world(seed, kept, ends_at)


def _tell(seed: int, run_one: RunWorld) -> int:
    with TemporaryDirectory() as folder:
        world = run_one(seed, Path(folder))
        broken = judged(seed).broken if run_one is run_world else broken_in(world)
    for number, life in enumerate(world.lives, 1):
        for entry in life.journal:
            print(f"{number} {entry}")
    for rule in broken:
        print(f"seed {seed}, {_commit()}: {rule}")
    return min(len(broken), 1)


def _shrink(seed: int, run_one: RunWorld) -> int:
    with TemporaryDirectory() as folder:
        kinds = kinds_of(broken_in(run_one(seed, Path(folder))))
    if not kinds:
        print(f"seed {seed} breaks no rule of a session")
        return 0

    def broken_by(world: World) -> list[str]:
        return [rule for rule in broken_in(world) if kinds_of([rule]) & kinds]

    shrunk = shrink(seed, broken_by, run_one)
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
