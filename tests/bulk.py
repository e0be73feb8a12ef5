"""Many small cases in one test: all of them run, and a failure names each that failed.

A test for each of thousands of cases costs more than the cases. `--case` takes those
whose name has some text: `pytest tests/parity -k worker_run --case worker_run-07`.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping

import pytest

SHOWN = 20
"""So many failures are told with their last lines, the others by name."""

_LINES = 12


def chosen(names: Iterable[str], config: pytest.Config) -> list[str]:
    """Return the names of the cases to run: all, or those that `--case` asks for."""
    text = config.getoption("case")
    found = [name for name in names if text in name]
    if not found:
        pytest.skip(f"no case has {text!r} in its name")
    return found


def fail_with(problems: Mapping[str, BaseException]) -> None:
    """Fail if there are problems, by the name of the case; say what each is."""
    if not problems:
        return
    told = [
        f"{name}\n{_last_lines(problem)}"
        for name, problem in list(problems.items())[:SHOWN]
    ]
    names = "\n".join(problems)
    details = "\n\n".join(told)
    pytest.fail(f"{len(problems)} cases:\n{names}\n\n{details}", pytrace=False)


def _last_lines(problem: BaseException) -> str:
    text = "".join(traceback.format_exception(problem))
    return "\n".join(f"    {line}" for line in text.splitlines()[-_LINES:])
