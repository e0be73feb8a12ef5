"""Late imports: what a command does is imported when the command is run.

`--help`, `version` and the completion of options need only click: a shell waits for
them. A test in `tests/architecture` finds a target that does not exist.
"""

from __future__ import annotations

from collections.abc import Coroutine
from importlib import import_module
from typing import Any


def load_late(target: str) -> Any:
    """Import a module and return what a name means in it.

    Args:
        target: `package.module:name`, without the leading `probetui.`.
    """
    module, _, name = target.partition(":")
    return getattr(import_module(f"probetui.{module}"), name)


def run_late(target: str, *arguments: Any, **options: Any) -> int:
    """Import a function, run it to its end if it is async, and return its status."""
    result = load_late(target)(*arguments, **options)
    if isinstance(result, Coroutine):
        result = import_module("asyncio").run(result)
    return int(result)
