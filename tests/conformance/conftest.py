"""Print a table of all cases at the end of a test run."""

from __future__ import annotations

import pytest

from tests.conformance.background import BackgroundRun
from tests.conformance.observe import summary
from tests.conftest import summary_sections

RUN = pytest.StashKey[BackgroundRun]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Print the outcomes of all cases."""
    run = session.config.stash.get(RUN, None)
    if run is not None:
        summary_sections(session.config)["conformance"] = summary(run.outcomes())
