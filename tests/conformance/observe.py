#!/usr/bin/env python3
"""Run conformance cases with the installed probetui and write what was seen.

Per case, DIR gets the observation (ID.jsonl), probetui's own record (ID.record.jsonl)
and its standard error (ID.stderr). Exits with 0 if all cases that a real
kubelet passes are passed, or left out for a reason.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":  # run by its path: the package is found from the root
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.conformance.adaptation import why_not
from tests.conformance.cases import DATA, PASSES, Case, load_case
from tests.conformance.evaluator import Verdict, evaluate, passes
from tests.conformance.observation import Observation
from tests.conformance.running import (
    PROCESS,
    NoProgramError,
    Run,
    installed_program,
    run_case,
)
from tests.lateness import WINDOW, Lateness

RUNTIMES = ("docker", PROCESS, "cri")
"""What `--runtime` takes, here and in the program."""


JOBS = 6
"""Cases at a time: what two cores can do without delay, with three runtimes at once."""


@dataclass(frozen=True, slots=True)
class Options:
    """How cases are run and judged: `jobs` at a time, with bounds stretched by `slack`.

    `program` is the probetui that runs them; `lateness` stretches bounds too, if it is
    measured.
    """

    program: Path
    jobs: int = JOBS
    slack: float = 1.0
    lateness: Lateness = field(default_factory=Lateness)

    def slack_since(self, begun_at: float) -> float:
        """Return by what bounds are stretched for a case that began then."""
        return self.slack * (1 + self.lateness.worst(begun_at) / WINDOW)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case on a runtime: why it was left out, or verdicts.

    `stderr` is the standard error of the program.
    """

    case: Case
    runtime: str
    left_out: str = ""
    verdicts: Sequence[Verdict] = ()
    stderr: str = ""

    @property
    def word(self) -> str:
        """The outcome in a word."""
        if self.left_out:
            return "left out"
        return "passed" if passes(self.verdicts) else "failed"

    @property
    def is_as_on_a_kubelet(self) -> bool:
        """Whether it is no worse than on a real kubelet."""
        return self.word != "failed" or self.case["kubelet"] != PASSES

    def __str__(self) -> str:
        note = "" if self.case["kubelet"] == PASSES else " (fails on a kubelet)"
        lines = [f"{self.runtime:8} {self.word:8} {self.case['id']}{note}"]
        if self.left_out:
            lines.append(f"    {self.left_out}")
        lines += [f"    {verdict}" for verdict in self.verdicts if not verdict.holds]
        if self.word == "failed":
            lines += [f"    | {line}" for line in self.stderr.splitlines()]
        return "\n".join(lines)


async def observe(
    cases: Sequence[Case],
    runtime: str,
    options: Options,
    out: Path,
) -> AsyncIterator[Outcome]:
    """Run cases, and yield what came of each as it is over.

    What was seen and recorded goes into the folder `out`.
    """
    free = asyncio.Semaphore(options.jobs)
    starting = asyncio.Semaphore(os.cpu_count() or 1)

    async def outcome(case: Case) -> Outcome:
        reason = why_not(case["pod"]) if runtime == PROCESS else ""
        if reason:
            return Outcome(case, runtime, left_out=reason)
        lateness = options.lateness
        async with free:
            begun_at = lateness.now
            run = await run_case(case, runtime, options.program, starting, lateness)
            slack = options.slack_since(begun_at)
            seen = Observation.of(run.observation)
            seen.late = lateness.lost(begun_at)
        _write(run, out)
        verdicts = evaluate(case, seen, slack)
        if run.problem:
            verdicts.append(Verdict("program", holds=False, detail=run.problem))
        return Outcome(case, runtime, verdicts=verdicts, stderr=run.stderr)

    # The longest first, so that they do not run on alone at the end.
    ordered = sorted(cases, key=lambda case: -case["duration"])
    for future in asyncio.as_completed([outcome(case) for case in ordered]):
        yield await future


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return a table of outcomes, what went wrong last, and their number."""
    ranks = {"passed": 0, "left out": 1, "failed": 2}
    ordered = sorted(
        outcomes, key=lambda outcome: (ranks[outcome.word], outcome.case["id"])
    )
    counts = [
        f"{sum(outcome.word == word for outcome in outcomes)} {word}" for word in ranks
    ]
    return "\n".join([*map(str, ordered), ", ".join(counts)])


def _write(run: Run, out: Path) -> None:
    name = run.case["id"]
    lines = [json.dumps(record) + "\n" for record in run.observation]
    (out / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    (out / f"{name}.record.jsonl").write_bytes(run.written)
    (out / f"{name}.stderr").write_text(run.stderr, encoding="utf-8")


def _cases(paths: Sequence[Path]) -> list[Case]:
    """Return the cases of files and folders."""
    files = [
        file
        for path in paths
        for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])
    ]
    return [load_case(file) for file in files]


async def _run(arguments: argparse.Namespace) -> int:
    arguments.out.mkdir(parents=True, exist_ok=True)
    cases = _cases(arguments.cases or [DATA / "cases"])
    outcomes = []
    program = arguments.program or installed_program()
    options = Options(program, arguments.jobs, arguments.slack)
    with options.lateness:
        async for outcome in observe(cases, arguments.runtime, options, arguments.out):
            outcomes.append(outcome)
            sys.stderr.write(f"{len(outcomes)}/{len(cases)} {outcome}\n")
    sys.stdout.write(f"{summary(outcomes)}\n")
    return 0 if all(outcome.is_as_on_a_kubelet for outcome in outcomes) else 1


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="*", type=Path, help="files or folders")
    parser.add_argument("--runtime", choices=RUNTIMES, default="docker")
    parser.add_argument("--jobs", type=int, default=JOBS, help="cases at a time")
    parser.add_argument("--slack", type=float, default=1, help="stretches upper bounds")
    parser.add_argument("--out", type=Path, required=True, help="where results go")
    parser.add_argument("--program", type=Path, help="which probetui to run")
    try:
        return asyncio.run(_run(parser.parse_args()))
    except NoProgramError as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
