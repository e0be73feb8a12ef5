"""`docs/SAFETY.md` lists all that removes, kills or makes paths of foreign names."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import NamedTuple

from tests.architecture.destructive import destructive_functions, function_names
from tests.architecture.modules import PACKAGE

ROOT = PACKAGE.parents[1]
TABLE = (ROOT / "docs/SAFETY.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (.+) \| `(\S+)` \| (.+) \| `(\S+)::(\S+)` \|$", re.MULTILINE)


class Row(NamedTuple):
    what: str
    where: str
    guard: str
    file: str
    test: str


ROWS = [Row(*found) for found in ROW.findall(TABLE)]


def test_every_line_of_the_table_is_read() -> None:
    lines = [line for line in TABLE.splitlines() if line.startswith("| ")]
    headings = [line for line in lines if line == "| what | where | guard | test |"]

    assert len(ROWS) == len(lines) - len(headings)


def test_every_function_that_destroys_or_makes_a_path_has_a_row() -> None:
    listed = {row.where for row in ROWS}
    missing = {
        name: sorted(calls)
        for name, calls in destructive_functions().items()
        if name not in listed
    }

    assert not missing, "add a row to docs/SAFETY.md for each, with guard and test"


def test_no_row_is_there_twice() -> None:
    assert len({row.where for row in ROWS}) == len(ROWS)


@cache
def functions_of(file: str) -> set[str]:
    """Return the names of the functions and methods of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_row_names_a_function_a_guard_and_a_test_that_exist() -> None:
    wrong = [
        row
        for row in ROWS
        if row.where not in function_names()
        or row.test not in functions_of(row.file)
        or not row.guard
    ]

    assert wrong == []
