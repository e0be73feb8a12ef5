"""The parameters that docstrings describe are those that signatures have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.modules import trees

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_SECTION = re.compile(r"^(Args|Attributes):\n((?:[ \t]+.*\n?|\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\*{0,2}\w+)(?: \([^)]*\))?:", re.MULTILINE)


def _described(node: Definition, section: str) -> set[str]:
    text = ast.get_docstring(node) or ""
    return {
        name.lstrip("*")
        for kind, entries in _SECTION.findall(text)
        if kind == section
        for name in _ENTRY.findall(entries)
    }


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    args = node.args
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    rest = [extra for extra in (args.vararg, args.kwarg) if extra]
    return {parameter.arg for parameter in (*named, *rest)}


def _fields(node: ast.ClassDef) -> set[str]:
    return {
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
    }


def _constructor(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next(
        (
            statement
            for statement in node.body
            if isinstance(statement, ast.FunctionDef) and statement.name == "__init__"
        ),
        None,
    )


def _definitions() -> Iterator[tuple[str, Definition]]:
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield f"{path}:{node.lineno} {node.name}", node


def test_each_described_parameter_is_in_the_signature() -> None:
    wrong = []
    for place, node in _definitions():
        if isinstance(node, ast.ClassDef):
            constructor = _constructor(node)
            known = _parameters(constructor) if constructor else _fields(node)
        else:
            known = _parameters(node)
        wrong += [f"{place}: {name}" for name in _described(node, "Args") - known]

    assert wrong == []


def _attributes(node: ast.ClassDef) -> set[str]:
    names = _fields(node)
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef):
            names |= {inner.name} | (
                _parameters(inner) if inner.name == "__init__" else set()
            )
        elif isinstance(inner, ast.Assign):
            names |= {
                target.id for target in inner.targets if isinstance(target, ast.Name)
            }
        elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            names.add(inner.attr)
    return names


def test_each_described_attribute_is_in_the_class() -> None:
    wrong = [
        f"{place}: {name}"
        for place, node in _definitions()
        if isinstance(node, ast.ClassDef)
        for name in _described(node, "Attributes") - _attributes(node)
    ]

    assert wrong == []
