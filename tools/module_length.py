"""List modules that are so long that they may contain two ideas.

    python tools/module_length.py [FOLDER]

Advice, never a failure: one idea may be long.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

LINES = 400
DEFAULT_FOLDER = Path(__file__).parent.parent / "src"


def long_modules(folder: Path) -> Iterator[tuple[int, Path]]:
    """Yield length and path of modules beyond the limit, the longest first."""
    lengths = (
        (len(path.read_text(encoding="utf-8").splitlines()), path)
        for path in folder.rglob("*.py")
    )
    yield from sorted((length for length in lengths if length[0] > LINES), reverse=True)


def main() -> None:
    """Print the modules, as annotations if a CI service supports them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
    annotates = "GITHUB_ACTIONS" in os.environ
    found = 0
    for length, path in long_modules(folder):
        found += 1
        relative = path.relative_to(folder.parent)
        text = f"{length} lines; does it hold two ideas?"
        where = f"::notice file={relative}::" if annotates else f"{relative}: "
        print(f"{where}{text}")
    print(f"{found} modules over {LINES} lines")


if __name__ == "__main__":
    main()
