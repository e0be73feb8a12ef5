"""Sweeps over long lists, of which quick runs see a few values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

_STEP = 7

_SWEEP = pytest.mark.sweep


def sampled(values: Sequence[Any]) -> list[ParameterSet]:
    """Return all values as parameters; quick are the first, each seventh and the last.

    Args:
        values: in an order in which neighbours mostly behave alike, as versions do.
    """
    last = len(values) - 1
    return [
        pytest.param(
            value, marks=() if index in {0, last} or index % _STEP == 0 else _SWEEP
        )
        for index, value in enumerate(values)
    ]
