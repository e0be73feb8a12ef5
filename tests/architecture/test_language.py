"""The rules of the project's language that a test can check."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from probetui.tui.actions.table import ACTIONS
from tests.architecture.modules import trees

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")

RETIRED = (  # noqa: SIM905  # a list is one word a line
    "Answers AnswerSieve AskingDriver Await BelievedStatus Brake Breaker "
    "BreakScreen Course CoveredScreen Dealing Deed Disposer Disrupted Disruption "
    "Doing Ink InkLine Interventions Latch Ledger Lifetimes Lives Looks Manner "
    "Onlooker Outside Painted Play PlayedSession PodCalls Restraint Roster Sight "
    "Sightings SimulatedCourse Spell Stage StagedApp Tape Together Tries TryEntry "
    "TryUnderWay Wanted hold_off inks length_of let_go moments NOWHERE onlooker "
    "roster shortcomings sight surroundings tape "
).split()
"""Retired names of this project; the glossary has their replacements."""

VERBS = (  # noqa: SIM905  # a list is one word a line
    "Add Cancel Choose Clear Close Complete Confirm Copy Decrease Delay Delete "
    "Describe Double Edit Explain Filter Find Follow Go Halve Increase Inject Keep "
    "Kill Move Open Pause Probe Quit Recall Reload Resume Reverse Run Save Search "
    "Seek Select Set Show Sort Start Suspend Switch Toggle Use Wrap Write Zoom "
).split()
"""The verbs with which the description of an action may start."""

UNSPECIFIC = (  # noqa: SIM905  # a list is one word a line
    "answered asked give hear know look said say take tell told"
).split()
"""Verbs that do not describe what a function does."""


EMPTY = ("each", "said", "tell", "told")
"""What does not say what a variable holds."""

_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def names_in(tree: ast.Module) -> set[str]:
    """Return every name that a module defines or uses."""
    return {
        name
        for node in ast.walk(tree)
        for attribute in ("id", "attr", "arg", "name")
        if isinstance(name := getattr(node, attribute, None), str)
    }


@cache
def names_of() -> dict[str, set[str]]:
    """Return every name that a module defines or uses, by the module's path."""
    return {path: names_in(tree) for path, tree in trees().items()}


def test_a_class_name_exists_once() -> None:
    modules = defaultdict(list)
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path)

    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_no_variable_is_called_each() -> None:
    assert [path for path, names in names_of().items() if "each" in names] == []


@pytest.mark.slow
def test_no_variable_of_a_test_has_an_empty_name() -> None:
    used = {
        str(path.relative_to(ROOT)): names_in(ast.parse(path.read_text("utf-8")))
        for folder in ("tests", "tools", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }

    assert [path for path, names in used.items() if names & {*EMPTY}] == []


def test_no_retired_word_names_anything() -> None:
    used = {path: sorted(names & {*RETIRED}) for path, names in names_of().items()}

    assert {path: words for path, words in used.items() if words} == {}


def test_no_docstring_starts_with_tell() -> None:
    """Functions return, report, record or print, and there is a word for each."""
    telling = [
        f"{path}: {getattr(node, 'name', 'module')}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, _DOCUMENTED)
        if (ast.get_docstring(node) or "").startswith(("Tell ", "Tells "))
    ]

    assert telling == []


def test_a_function_has_a_specific_verb() -> None:
    functions = [
        f"{path}: {node.name}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.strip("_") in UNSPECIFIC
    ]

    assert functions == []


def test_the_description_of_an_action_starts_with_a_verb() -> None:
    starts = {action.id: action.tooltip.split()[0].rstrip(",:;") for action in ACTIONS}

    assert {id_: word for id_, word in starts.items() if word not in VERBS} == {}


def test_a_term_of_the_glossary_has_one_definition() -> None:
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY, re.MULTILINE)

    assert len(terms) > 20
    assert sorted(terms) == sorted(set(terms))
