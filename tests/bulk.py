"""Many small cases in one test: all of them run, and the failure lists those that fail.

A test for each of thousands of cases costs more than the cases. `--case` selects those
whose name contains a text: `pytest tests/parity -k worker_run --case worker_run-07`.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping

import pytest

SHOWN = 20
"""How many failures to show with their last lines; the others are only named."""

_LINES = 12


def select_cases(names: Iterable[str], config: pytest.Config) -> list[str]:
    """Return the names of the cases to run: all, or those that `--case` selects."""
    text = config.getoption("case")
    found = [name for name in names if text in name]
    if not found:
        pytest.skip(f"no case has {text!r} in its name")
    return found


def fail_with(problems: Mapping[str, BaseException]) -> None:
    """Fail if there are problems, given by the name of the case; report all of them."""
    if not problems:
        return
    reports = [
        f"{name}\n{_last_lines(problem)}"
        for name, problem in list(problems.items())[:SHOWN]
    ]
    names = "\n".join(problems)
    details = "\n\n".join(reports)
    pytest.fail(f"{len(problems)} cases:\n{names}\n\n{details}", pytrace=False)


def _last_lines(problem: BaseException) -> str:
    text = "".join(traceback.format_exception(problem))
    return "\n".join(f"    {line}" for line in text.splitlines()[-_LINES:])
