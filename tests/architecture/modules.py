"""The package's modules, parsed once for all tests that look at their code."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

import probetui

PACKAGE = Path(probetui.__file__).parent


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module of the package, by its path."""
    parsed = {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    # A million nodes that stay: no collection has to go through them again.
    gc.freeze()
    return parsed
