"""Measure how many small changes of the code its tests notice.

    python -m tools.mutation [ROOM ...] [--sample N] [--seed S] [--only TEXT]

mutmut makes the changes, in the bodies of functions, and runs for each the quick tests
that call its function. A change that no test notices has survived: a test is missing,
or the line is, or the change is equivalent and has an entry with its reason in
`tools/equivalent_mutants.toml`, which takes it out of the score.

Without `--sample` all are tried, which takes hours; what was interrupted goes on where
it was. What survived is tried again each time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
EQUIVALENT = ROOT / "tools/equivalent_mutants.toml"
WORK = ROOT / "build/mutation"

CORE_TESTS = ("kubelet", "engine", "debugger", "drive", "golden", "parity", "cases")


SEAL = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
while read -r _ _ _ _ place _; do
    place=$(printf %b "$place")
    [ "$place" = "$1" ] || mount -o remount,bind,ro "$place" 2>/dev/null || :
done < /proc/self/mountinfo
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
# So far it is the directory below the new mount.
cd "$(pwd -P)"
shift
exec "$@"
"""
"""Runs a command where only a folder and an empty /tmp can be written to.

A change of what removes and replaces files may remove any.
"""


@dataclass(frozen=True)
class Room:
    """A part of the program and the tests that are to notice its changes.

    Attributes:
        sources: its files, below the package.
        tests: what is run, below `tests`.
        in_processes: tests that try what survived the others, each time in a process
            of their own: they start processes with the code, it runs when it is
            imported, or a cache remembers what it did before.
    """

    sources: str
    tests: tuple[str, ...]
    in_processes: tuple[str, ...] = ()


ROOMS = {
    "kubelet": Room("kubelet/*", CORE_TESTS, ("kubelet",)),
    "engine": Room(
        "engine/*", (*CORE_TESTS, "presentation/test_header.py"), ("engine",)
    ),
    "analysis": Room(
        "analysis/*",
        (
            *("analysis", "cases", "golden", "presentation", "drive/what_if"),
            "cli/commands/test_fit_report.py",
            "cluster/observe/test_probe_past.py",
        ),
        ("analysis", "cases/test_cases.py", "presentation/test_lanes.py"),
    ),
    "record": Room("record/*", ("record",), ("record", "golden")),
    "untrusted": Room(
        "untrusted_*.py",
        ("hostile/test_untrusted_files.py", "test_output_files.py"),
        ("hostile/test_untrusted_files.py", "hostile/test_sub_paths.py"),
    ),
}

KILLED = {"killed", "segfault"}
"""What mutmut calls a change that a test noticed, or that a test did not survive.

Its time-outs are tried again in processes: it measures tests without their fixtures,
and one that reads a record takes longer than that many times over.
"""

SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = ["src/probetui/{sources}"]
also_copy = {also_copy}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-p", "no:cacheprovider", "-m", "{quick}"]
# Their arguments are for the type checker.
do_not_mutate_patterns = ["assert_never\\\\(", "\\\\bcast\\\\("]
on_dependency_change = "ignore"
# A change that never ends holds up the rest; a busy machine takes its time.
timeout_multiplier = 3.0
timeout_constant = 20.0
# It is for runs of what changed since; the slowest test takes twenty times as long.
track_dependencies = false
use_git_change_detection = false
"""

QUICK = " and ".join(
    f"not {marker}" for marker in ("slow", "sweep", "e2e", "docker", "cri", "live")
)


@dataclass(frozen=True)
class Change:
    """One change of a function, in words that outlast a change of other lines.

    `after` is the line before it, which an entry of the list has where its text stands
    in the function twice.
    """

    function: str
    was: str
    becomes: str
    after: str = ""

    def __str__(self) -> str:
        return f"{self.function}\n    - {self.was}\n    + {self.becomes}"


@dataclass(frozen=True)
class Score:
    """How many of the changes that matter were noticed."""

    killed: int
    tried: int

    def __str__(self) -> str:
        low, high = self.range()
        share = self.killed / self.tried if self.tried else 1.0
        return (
            f"{self.killed} of {self.tried} killed, {share:.1%}"
            f" (95 % range {low:.1%} to {high:.1%})"
        )

    def range(self) -> tuple[float, float]:
        """Return Wilson's range, in which the score of all is with 95 %."""
        if not self.tried:
            return 0.0, 1.0
        z, n = 1.96, self.tried
        share = self.killed / n
        middle = share + z * z / (2 * n)
        width = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return (middle - width) / (1 + z * z / n), (middle + width) / (1 + z * z / n)


def read_equivalent(path: Path = EQUIVALENT) -> frozenset[Change]:
    """Return the changes that are listed as changing nothing."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return frozenset(
        Change(entry["function"], entry["was"], becomes, entry.get("after", ""))
        for entry in listed["mutant"]
        for becomes in entry["becomes"]
    )


def function_of(mutant: str) -> str:
    """Return `package.module:Class.function` of a mutant's name."""
    module, _, name = mutant.partition("__mutmut_")[0].rpartition(".")
    # A function is `x_name`, a method `xǁClassǁname`.
    return f"{module.removeprefix('probetui.')}:{name[2:].replace('ǁ', '.')}"


def parse_change(mutant: str, diff: str) -> Change:
    """Return the change that a diff of mutmut shows."""
    lines = [
        line for line in diff.splitlines() if not line.startswith(("---", "+++", "#"))
    ]
    was, becomes = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign))
        for sign in "-+"
    )
    first = next((at for at, line in enumerate(lines) if line[:1] in {"-", "+"}), 0)
    after = lines[first - 1].strip() if first else ""
    return Change(function_of(mutant), was, becomes, after)


def is_listed(change: Change, listed: Collection[Change]) -> bool:
    """Return whether a change is one of those listed."""
    return change in listed or replace(change, after="") in listed


def prepare(room: str) -> Path:
    """Make a folder with links to the checkout, and mutmut's settings for a room."""
    folder = WORK / room
    folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(
        ("git", "ls-files"), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    names = sorted({name.partition("/")[0] for name in listed.splitlines()})
    for name in names:
        if name != "pyproject.toml" and not (folder / name).is_symlink():
            (folder / name).symlink_to(ROOT / name)
    settings = SETTINGS.format(
        sources=ROOMS[room].sources,
        also_copy=json.dumps([name for name in names if name != "src"]),
        tests=json.dumps([f"tests/{part}" for part in ROOMS[room].tests]),
        quick=QUICK,
    )
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(text + settings, encoding="utf-8")
    return folder


def list_mutants(room: str, only: Sequence[str]) -> Iterator[str]:
    """Yield the names of all mutants of a room, or of the files named."""
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    for path in sorted((ROOT / "src/probetui").rglob("*.py")):
        name = path.relative_to(ROOT)
        if not fnmatch(name.as_posix(), f"src/probetui/{ROOMS[room].sources}"):
            continue
        if only and not any(part in name.as_posix() for part in only):
            continue
        mutated = mutate_file_contents(str(name), path.read_text(encoding="utf-8"))
        for mutant in mutated.mutant_names:
            yield get_mutant_name(name, mutant)


def sampled(mutants: Sequence[str], number: int, seed: int) -> list[str]:
    """Return that many mutants: mostly the same where some of them changed."""

    def place(mutant: str) -> bytes:
        return hashlib.sha256(f"{seed} {mutant}".encode()).digest()

    return sorted(sorted(mutants, key=place)[:number])


def read_results(folder: Path) -> dict[str, str]:
    """Return what came of each mutant that was tried, by its name."""
    from mutmut.stats import status_by_exit_code

    return {
        mutant: status_by_exit_code[code]
        for path in sorted((folder / "mutants").rglob("*.meta"))
        for mutant, code in json.loads(path.read_text())["exit_code_by_key"].items()
        if code is not None
    }


def forget_survivors(folder: Path) -> None:
    """Have mutmut try again what no test noticed: there may be a new test."""
    from mutmut.stats import status_by_exit_code

    for path in sorted((folder / "mutants").rglob("*.meta")):
        data = json.loads(path.read_text())
        codes = data["exit_code_by_key"]
        for mutant, code in codes.items():
            if status_by_exit_code[code] not in KILLED:
                codes[mutant] = None
        path.write_text(json.dumps(data, indent=4))


def run_sealed(
    folder: Path, *command: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that can write to a room's folder alone, and end only its own."""
    unshare = shutil.which("unshare")
    if unshare is None:
        raise SystemExit("this takes unshare(1) of Linux: a change may remove files")
    # Whom mutmut ends late may have left its number to somebody else's process.
    options = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        options.append("--map-root-user")
    return subprocess.run(
        (unshare, *options, "sh", "-c", SEAL, "sh", str(folder), *command),
        cwd=folder,
        env=None if env is None else {**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def mutmut(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run mutmut in a room's folder."""
    command = Path(sys.executable).with_name("mutmut")
    return run_sealed(folder, str(command), *arguments)


def survivors_in_processes(
    folder: Path, room: Room, mutants: Sequence[str]
) -> Iterator[str]:
    """Yield the mutants with which no test fails, in any process."""
    tree = folder / "mutants"
    pytest = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
    tests = [f"tests/{part}" for part in room.in_processes]
    for mutant in ("", *mutants):
        env = {
            "MUTANT_UNDER_TEST": mutant,
            "PYTHONPATH": f"{tree / 'src'}:{tree}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = run_sealed(tree, *pytest, "--timeout=60", *tests, env=env)
        if done.returncode and not mutant:
            raise SystemExit(f"pytest fails as it is\n{done.stdout}{done.stderr}")
        if mutant and not done.returncode:
            yield mutant


def measure(room: str, options: argparse.Namespace) -> Score:
    """Try a room's mutants, print those that survive, and return the score."""
    folder = prepare(room)
    mutants = list(list_mutants(room, options.only))
    total = len(mutants)
    if options.sample:
        mutants = sampled(mutants, options.sample, options.seed)
    forget_survivors(folder)
    results = read_results(folder)
    is_whole = not options.sample and not options.only
    # mutmut forgets what came of functions that changed since: those come second.
    for _ in range(2):
        todo = [mutant for mutant in mutants if mutant not in results]
        names = () if is_whole else todo or mutants[:1]
        run = mutmut(folder, "run", f"--max-children={options.jobs}", *names)
        if run.returncode != 0:
            raise SystemExit(f"{room}: mutmut failed\n{run.stdout[-4000:]}{run.stderr}")
        results = read_results(folder)
        if all(mutant in results for mutant in mutants):
            break
    tried = {mutant: results[mutant] for mutant in mutants if mutant in results}
    survived = [mutant for mutant, status in tried.items() if status not in KILLED]
    if survived and ROOMS[room].in_processes:
        survived = list(survivors_in_processes(folder, ROOMS[room], survived))
    equivalent = read_equivalent()
    count = 0
    for mutant in survived:
        change = parse_change(mutant, mutmut(folder, "show", mutant).stdout)
        if is_listed(change, equivalent):
            count += 1
        else:
            print(f"{tried[mutant]}: {change}")
    score = Score(len(tried) - len(survived), len(tried) - count)
    print(f"{room}: {score}; {total} mutants, {count} of those tried equivalent")
    return score


def main(arguments: Sequence[str]) -> int:
    """Measure the rooms named, or all."""
    parser = argparse.ArgumentParser(prog="tools.mutation", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=", ".join(ROOMS))
    parser.add_argument("--sample", type=int, metavar="N", help="only N of each room")
    parser.add_argument("--seed", type=int, default=0, help="which N these are")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="TEXT", help="files with TEXT in it"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    options = parser.parse_args(arguments)
    for room in options.rooms or ROOMS:
        measure(room, options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
