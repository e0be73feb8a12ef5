"""Decide whether the tests that failed may be tried again, and list those that are.

    python -m tools.failed_tests CACHE_FOLDER

A test that sees a clock, an engine or another process may fail because a machine is
busy. CI tries such a test again, alone, and lists it at its end. What fails in
`STEADY_ROOMS` depends on the code alone and fails CI at once: a second try would hide a
result that changes by chance.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

STEADY_ROOMS = (
    "analysis", "api_server", "architecture", "debugger", "engine", "headless", "k8s",
    "kubelet", "manifest", "presentation",
)  # fmt: skip
"""Folders of tests that start no engine or server, and whose time is virtual."""

TRIED_AGAIN = Path("build/tried-again.txt")


def read_failed(cache: Path) -> list[str]:
    """Return the tests that failed in pytest's last run with this cache folder."""
    try:
        text = (cache / "v/cache/lastfailed").read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return list(json.loads(text))


def is_steady(test: str) -> bool:
    """Return whether a test depends on the code alone."""
    return test.startswith(tuple(f"tests/{room}/" for room in STEADY_ROOMS))


def main(arguments: Sequence[str], tried_again: Path = TRIED_AGAIN) -> int:
    """Return 0 and list the tests if they may be tried again, else 1."""
    failed = read_failed(Path(arguments[0]))
    steady = [test for test in failed if is_steady(test)]
    for test in steady:
        print(f"{test}: not tried again, it depends on the code alone")
    if not failed:
        print("nothing to try again: the run failed without a failed test")
    if steady or not failed:
        return 1
    tried_again.parent.mkdir(exist_ok=True)
    with tried_again.open("a", encoding="utf-8") as file:
        file.writelines(f"{test}\n" for test in failed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
