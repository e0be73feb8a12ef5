"""Recorded verdicts of another judge on mutated observations.

Run as `python -m tests.conformance.verdicts FOLDER`, where FOLDER has `cases`,
`observed` and the judge, `evaluate.py`; writes `data/verdicts.json.gz`.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.cases import OWN_DATA, Case, load_cases, observed
from tests.conformance.mutations import Record, mutations

Judge = Callable[[Case, Sequence[Record], float], list[bool]]
"""Returns which expectations of a case hold, given the records and the slack."""

FILE = OWN_DATA / "verdicts.json.gz"


def other_judge(folder: Path) -> Judge | None:
    """Return the judge of a folder of cases, if it has one."""
    path = folder / "evaluate.py"
    spec = importlib.util.spec_from_file_location("evaluate", path)
    if not path.exists() or spec is None or spec.loader is None:
        return None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def judge(case: Case, records: Sequence[Record], slack: float) -> list[bool]:
        findings = module.evaluate(case, module.Observation(records), slack)
        return [finding["ok"] for finding in findings]

    return judge


def written(verdicts: Sequence[bool]) -> str:
    """Return verdicts as one digit each."""
    return "".join("1" if verdict else "0" for verdict in verdicts)


def recorded() -> dict[str, dict[str, str]]:
    """Return the recorded verdicts: by case, then by mutation."""
    found: dict[str, dict[str, str]] = json.loads(gzip.decompress(FILE.read_bytes()))
    return found


def main() -> None:
    """Write the verdicts of a folder's judge."""
    folder = Path(sys.argv[1])
    judge = other_judge(folder)
    if judge is None:
        sys.exit(f"no evaluate.py in {folder}")
    verdicts = {
        case["id"]: {
            name: written(judge(case, records, 1.0))
            for name, records in mutations(observed(case, folder))
        }
        for case in load_cases(folder)
    }
    text = json.dumps(verdicts, separators=(",", ":"))
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
