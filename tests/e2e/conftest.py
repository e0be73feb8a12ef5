"""Fixtures: the installed program with private folders."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Return the program; its leftovers are removed at the end."""
    program = Program(tmp_path)
    yield program
    program.run("down", "--all", "--runtime", "process")


@pytest.fixture
def namespace() -> str:
    """Return a namespace for this test only, because tests share engines."""
    return f"e2e-{uuid.uuid4().hex[:8]}"
