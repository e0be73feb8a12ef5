"""What the documents name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "probetui"

DOCUMENTS = (
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "ARCHITECTURE.md",
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
)

PLACES = (PACKAGE, ROOT, ROOT / "benchmarks")

PATH = re.compile(r"`([a-z_0-9./]+(?:\.py|/))`")


def paths_in(document: Path) -> set[str]:
    """Return the modules and folders that a document names."""
    return set(PATH.findall(document.read_text(encoding="utf-8")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_a_document_names_files_that_exist(document: Path) -> None:
    missing = [
        path
        for path in sorted(paths_in(document))
        if not any((place / path).exists() for place in PLACES)
    ]

    assert missing == []


def test_the_architecture_names_every_room() -> None:
    rooms = {
        f"{path.parent.name}/"
        for path in PACKAGE.glob("*/__init__.py")
        if path.parent.name != "__pycache__"
    }

    assert rooms <= paths_in(ROOT / "docs" / "ARCHITECTURE.md")
