"""What the package imports is what it declares, and the other way round."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions

from tests.architecture.modules import trees
from tests.checkout import ROOT


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = project["dependencies"]
    return {_canonical(re.split(r"[<>=~!\[; ]", line)[0]) for line in requirements}


def _imported_modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def _providers() -> dict[str, set[str]]:
    """Return the distributions of each foreign module that the package imports."""
    installed = packages_distributions()
    names = {
        name.partition(".")[0]
        for tree in trees().values()
        for name in _imported_modules(tree)
    }
    foreign = names - set(sys.stdlib_module_names) - {"probetui"}
    return {name: set(map(_canonical, installed[name])) for name in foreign}


def test_each_imported_library_is_declared() -> None:
    declared = _declared()

    undeclared = {name for name, dists in _providers().items() if not dists & declared}
    assert undeclared == set()


def test_each_declared_library_is_imported() -> None:
    imported = set().union(*_providers().values())

    assert _declared() - imported == set()
