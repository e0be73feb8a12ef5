"""Requirements of a test on the machine: without them it is skipped, in CI it fails."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def skip_unless_ci(reason: str) -> NoReturn:
    """Skip the test, or fail it in CI, where nobody would notice that it is skipped."""
    if "CI" in os.environ:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def require_root() -> None:
    """Skip the test without root, or fail it in CI."""
    if os.geteuid() != 0:
        skip_unless_ci("only root can do this")
