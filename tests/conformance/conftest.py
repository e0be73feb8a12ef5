"""A table of all cases that were run, at the end of a test run."""

from __future__ import annotations

import pytest

from tests.conformance.background import BackgroundRun
from tests.conformance.observe import summary

RUN = pytest.StashKey[BackgroundRun]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what came of each case."""
    run = config.stash.get(RUN, None)
    if run is not None:
        terminalreporter.section("conformance")
        terminalreporter.write_line(summary(run.outcomes()))
