"""docs/VERSIONS.md names each rule with the test that shows it."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

import pytest

from probetui.kubelet_rules import VERSIONS, KubeletRules, gates_of_fields, rules_of
from tests.traces.test_rules import RULES_SHOWN_BY_RECORDINGS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "VERSIONS.md").read_text(encoding="utf-8")
FIELDS = [
    field
    for field in KubeletRules.__struct_fields__
    if field not in {"version", "feature_gates"}
]


def rows() -> list[tuple[str, ...]]:
    """Return the cells of the first table, without its head."""
    table = PAGE.partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    return [
        tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))
        for line in lines
    ]


ROWS = rows()


def test_each_rule_has_one_row() -> None:
    assert [row[0] for row in ROWS] == FIELDS


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_has_the_versions_and_the_gate_of_its_rule(
    row: tuple[str, ...],
) -> None:
    field, changes, gate, *_ = row
    changed = [
        later
        for earlier, later in pairwise(VERSIONS)
        if getattr(rules_of(earlier), field) != getattr(rules_of(later), field)
    ]

    assert changes == (", ".join(changed) or "-")
    assert gate == gates_of_fields().get(field, "")


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_names_a_test_and_a_recording_that_exist(
    row: tuple[str, ...],
) -> None:
    field, _, _, test, recording = row
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))

    names = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    shown = {
        (shown_field, trace) for shown_field, _, trace in RULES_SHOWN_BY_RECORDINGS
    }
    if name == "SHOWN":
        assert (field, recording) in shown
    else:
        assert name in names
    if recording:
        file = ROOT / "tests" / "traces" / "data" / f"{recording}.json.gz"
        assert file.exists()
