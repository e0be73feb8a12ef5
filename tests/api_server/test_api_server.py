"""Compare with what a real kube-apiserver 1.36.2 answered to thousands of pods.

A part of the cases is in `data`; all of them are in the folder in
`PROBETUI_VALIDATION_DIR`, or beside the checkout in `shared/validation-1.36.2`.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.kubelet_rules import rules_of
from tests.api_server.judge import Figure, Json, count
from tests.checkout import ROOT

PART = Path(__file__).parent / "data"
ALL = Path(
    os.environ.get("PROBETUI_VALIDATION_DIR")
    or ROOT.parent / "shared" / "validation-1.36.2"
)
ADMITTED = "cases-service-account"
"""The cases with ServiceAccount admission."""

FILES = ("cases", ADMITTED)
SHOWN = 5

LEAST = {
    Figure.VERDICT: 99.95,
    Figure.FIELDS: 99.95,
    Figure.TEXTS: 99.5,
    Figure.UNKNOWN: 100,
    Figure.TYPES: 99.95,
    Figure.WARNINGS: 99.5,
    Figure.DEFAULTS: 99.5,
    Figure.FORBIDDEN: 100,
}
"""How many percent of the cases have to be alike."""


def _cases(folder: Path, name: str) -> Iterator[Json]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _check(folder: Path, name: str) -> None:
    counted, unlike = count(
        _cases(folder, name), rules_of("1.36"), is_admitted=name == ADMITTED
    )
    too_many = []
    for figure, least in LEAST.items():
        total, wrong = counted[figure], unlike[figure]
        assert total, f"no case of {figure}"
        share = 100 * (total - len(wrong)) / total
        if share < least:
            shown = [f"{id_}\n{text}" for id_, text in list(wrong.items())[:SHOWN]]
            too_many.append(f"{figure}: {share:.2f} %, {len(wrong)} of {total}")
            too_many += shown
    assert not too_many, "\n".join(too_many)


@pytest.mark.parametrize("name", FILES)
def test_a_part_of_the_pods_is_answered_alike(name: str) -> None:
    _check(PART, name)


@pytest.mark.slow
@pytest.mark.skipif(not ALL.is_dir(), reason=f"there is no {ALL}")
@pytest.mark.parametrize("name", FILES)
def test_all_pods_are_answered_alike(name: str) -> None:
    _check(ALL, name)
