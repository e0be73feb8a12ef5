"""The rules about names that a test can check."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.architecture.modules import trees

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")


def test_a_class_name_exists_once() -> None:
    modules = defaultdict(list)
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path)

    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_a_term_of_the_glossary_has_one_definition() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.MULTILINE)

    assert len(terms) > 20
    assert sorted(terms) == sorted(set(terms))
