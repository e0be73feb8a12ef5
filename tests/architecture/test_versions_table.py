"""docs/VERSIONS.md names the test that shows each rule."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from probetui.kubelet_rules import ROWS
from tests.traces.test_rules import RULES_SHOWN_BY_RECORDINGS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "VERSIONS.md").read_text(encoding="utf-8")


def rows() -> list[tuple[str, ...]]:
    """Return the cells of the table of tests, without its head."""
    table = PAGE.partition("\n| field | test |")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    return [
        tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))
        for line in lines
    ]


TESTS = rows()


def test_each_rule_has_one_row() -> None:
    assert [row[0] for row in TESTS] == list(ROWS)


@pytest.mark.parametrize("row", TESTS, ids=[row[0] for row in TESTS])
def test_a_row_names_a_test_and_a_recording_that_exist(
    row: tuple[str, ...],
) -> None:
    field, test, recording = row
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
