"""Ported modules name their source in the kubelet, and their differences."""

from __future__ import annotations

import re
from pathlib import Path

import probetui

PACKAGE = Path(probetui.__file__).parent
DIFFERENCES = PACKAGE.parents[1] / "docs" / "DIFFERENCES.md"

SOURCE = re.compile(r"Source: \S")
VERSION = re.compile(r"\b(?:v|Go )\d+\.\d+")
DIFFERENCE = re.compile(r"\bDifference: ")
LISTED = re.compile(r"\(`([a-z0-9_/]+\.py)`\)$", re.MULTILINE)

OURS_ALONE = {
    "effects.py", "facts.py", "journal.py", "kuberuntime/container_lifecycle.py",
    "prober/gates.py", "prober/hooks.py", "prober/tick_journal.py",
    "runtime/routines.py", "runtime/timers.py", "runtime/turn.py",
}  # fmt: skip
"""What may be seen of the kubelet, and what turns waiting Go code into values: nothing
in the kubelet corresponds to them."""

KUBELET = {
    str(path.relative_to(PACKAGE / "kubelet")): path
    for path in sorted((PACKAGE / "kubelet").rglob("*.py"))
    if path.name != "__init__.py"
}


def says_what_it_ports(text: str) -> bool:
    """Return whether a module has `Source: file.go, vX.Y.Z[, Function]`."""
    has_version = VERSION.search(text) is not None or ".go" not in text
    return SOURCE.search(text) is not None and has_version


def test_a_module_that_ports_something_names_file_and_version() -> None:
    ports = {name: path for name, path in KUBELET.items() if name not in OURS_ALONE}
    texts = {name: path.read_text(encoding="utf-8") for name, path in ports.items()}

    assert len(texts) > 30
    assert [name for name, text in texts.items() if not says_what_it_ports(text)] == []


def test_a_module_that_is_ours_alone_names_none() -> None:
    texts = {name: KUBELET[name].read_text(encoding="utf-8") for name in OURS_ALONE}

    assert [name for name, text in texts.items() if SOURCE.search(text)] == []


def test_every_difference_from_the_kubelet_is_listed() -> None:
    in_code = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        for _ in DIFFERENCE.findall(path.read_text(encoding="utf-8"))
    ]

    listed = LISTED.findall(DIFFERENCES.read_text(encoding="utf-8"))
    assert sorted(listed) == in_code
