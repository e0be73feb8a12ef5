"""Programs with folders of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import Program


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Return the program; what it leaves behind is removed in the end."""
    program = Program(tmp_path)
    yield program
    program.run("down", "--all", "--runtime", "process")


@pytest.fixture
def namespace() -> str:
    """Return a namespace of this test's alone, as engines are shared by others."""
    return f"e2e-{uuid.uuid4().hex[:8]}"
