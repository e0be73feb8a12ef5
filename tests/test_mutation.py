"""The tool that measures how many changes of the code its tests notice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tools.mutation import (
    ROOT,
    Change,
    Score,
    function_of,
    is_listed,
    parse_change,
    read_equivalent,
    sampled,
)


def test_a_change_is_named_by_its_function_and_text_not_by_its_line() -> None:
    diff = (
        "# probetui.kubelet.clock.xǁClockǁread__mutmut_2: survived\n"
        "--- src/probetui/kubelet/clock.py\n"
        "+++ src/probetui/kubelet/clock.py\n"
        "@@ -7,3 +7,3 @@\n"
        "     def read(self):\n"
        "-        self.reads += 1\n"
        "+        self.reads += 2\n"
        "         return self.now"
    )
    change = Change("kubelet.clock:Clock.read", "self.reads += 1", "self.reads += 2")
    parsed = parse_change("probetui.kubelet.clock.xǁClockǁread__mutmut_2", diff)

    assert parsed == replace(change, after="def read(self):")
    assert is_listed(parsed, {change})
    assert not is_listed(parsed, {replace(change, after="if self.is_new:")})


@pytest.mark.parametrize(
    ("mutant", "function"),
    [
        ("probetui.engine.upcoming.x_next__mutmut_1", "engine.upcoming:next"),
        ("probetui.engine.upcoming.x__x__mutmut_12", "engine.upcoming:_x"),
        (
            "probetui.kubelet.status.phase.xǁ_Tallyǁ_count__mutmut_3",
            "kubelet.status.phase:_Tally._count",
        ),
        ("probetui.a.xǁBoxǁ__init____mutmut_3", "a:Box.__init__"),
    ],
    ids=["a function", "a private one", "a method", "a constructor"],
)
def test_a_mutants_name_says_which_function_it_changes(
    mutant: str, function: str
) -> None:
    assert function_of(mutant) == function


def test_a_score_has_the_range_that_the_size_of_the_sample_allows() -> None:
    low, high = Score(95, 100).range()
    assert (round(low, 3), round(high, 3)) == (0.888, 0.978)
    assert Score(0, 0).range() == (0.0, 1.0)


def test_a_sample_stays_mostly_the_same_where_mutants_come_and_go() -> None:
    before = [f"mutant {number}" for number in range(1000)]
    first, again = (sampled(names, 100, 7) for names in (before, before[5:]))

    assert len(first) == len(set(first)) == 100
    assert len(set(first) & set(again)) > 90
    assert sampled(before, 100, 8) != first
    assert sampled(before, 2000, 7) == sorted(before)


def _functions(
    node: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child


def test_each_equivalent_change_is_of_a_text_that_its_function_still_has() -> None:
    stale = []
    for change in read_equivalent():
        module, _, name = change.function.partition(":")
        path = ROOT / f"src/probetui/{module.replace('.', '/')}.py"
        source = path.read_text(encoding="utf-8")
        function = dict(_functions(ast.parse(source)))[name]
        lines = source.splitlines()[function.lineno - 1 : function.end_lineno]
        text = " ".join(line.strip() for line in lines)
        if f"{change.after} {change.was}".strip() not in text:
            stale.append(str(change))
    assert not stale
