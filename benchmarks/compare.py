"""Report what has become slower or faster than in another release.

    python benchmarks/compare.py [--tolerance PERCENT]
    python benchmarks/compare.py --save RELEASE

Runs the quick benchmarks and compares figures as multiples of their yardsticks, which
differ little between machines. `releases.json` has the figures of every release; the
last one is compared. A figure never makes it fail.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
RELEASES = HERE / "releases.json"
QUICK = (
    ("engine.py", "--seconds", "10"),
    ("http_probe.py", "--rounds", "15", "--probes", "100"),
    ("exec_probe.py", "--rounds", "10"),
    ("start.py", "--runs", "3"),
    ("screen.py", "--seconds", "8"),
)
ENDING = "_times"
"""The suffix of the names of figures that are multiples of a yardstick."""

Figures = Mapping[str, float]


def run(name: str, *options: str) -> Iterator[tuple[str, float]]:
    """Run a benchmark; yield its figures that are multiples of a yardstick."""
    command = [sys.executable, str(HERE / name), *options, "--json"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    part = name.removesuffix(".py")
    for figure, value in json.loads(output).items():
        if figure.endswith(ENDING):
            yield f"{part} {figure.removesuffix(ENDING)}", value


def words(now: Figures, before: Figures, tolerance: float) -> Iterator[str]:
    """Yield a line for every figure, with its change since the release."""
    for name, figure in now.items():
        figure_before = before.get(name)
        line = f"{name}: {figure:g} times its yardstick"
        if figure_before is None:
            yield f"{line}, not measured before"
            continue
        change = 100 * (figure / figure_before - 1)
        if abs(change) <= tolerance:
            yield f"{line}, {figure_before:g} before"
        else:
            word = "SLOWER" if change > 0 else "faster"
            yield f"{line}, {figure_before:g} before: {abs(change):.0f} % {word}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tolerance", type=float, default=10.0, metavar="PERCENT")
    parser.add_argument("--save", metavar="RELEASE", help="keep what is measured")
    options = parser.parse_args()
    now = {name: value for benchmark in QUICK for name, value in run(*benchmark)}
    releases = json.loads(RELEASES.read_text()) if RELEASES.exists() else {}
    if options.save:
        releases[options.save] = now
        RELEASES.write_text(json.dumps(releases, indent=2) + "\n")
        return
    release, before = next(reversed(releases.items()), ("no release", {}))
    print(f"beside {release}:")
    for line in words(now, before, options.tolerance):
        print(line)


if __name__ == "__main__":
    main()
