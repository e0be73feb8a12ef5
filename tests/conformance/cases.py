"""Cases and recorded observations, from the project's own folder or another one."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

OWN_DATA = Path(__file__).parent / "data"
DATA = Path(os.environ.get("PROBETUI_CONFORMANCE_DIR") or OWN_DATA)
"""A folder with `cases` (YAML) and `observed` (JSON lines, which may be gzipped)."""

Case = Mapping[str, Any]

PASSES = "passes"
"""The value of `kubelet` in a case that a real kubelet passes."""


@cache
def load_cases(folder: Path = DATA) -> tuple[Case, ...]:
    """Return all cases of a folder, by id."""
    return tuple(map(load_case, sorted((folder / "cases").glob("*.yaml"))))


def load_case(path: Path) -> Case:
    """Return one case."""
    # By libyaml: all cases are read whenever tests are collected.
    case: Case = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    return case


def observed(case: Case, folder: Path = DATA) -> list[dict[str, Any]]:
    """Return the recorded observation of a case on a real kubelet.

    Raises:
        FileNotFoundError: there is none.
    """
    plain = folder / "observed" / f"{case['id']}.jsonl"
    packed = plain.with_suffix(".jsonl.gz")
    text = (
        gzip.decompress(packed.read_bytes()).decode()
        if packed.exists()
        else plain.read_text(encoding="utf-8")
    )
    return list(parse(text))


def parse(text: str) -> Iterator[dict[str, Any]]:
    """Yield the records of an observation."""
    return (json.loads(line) for line in text.splitlines() if line)
