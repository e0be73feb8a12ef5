"""Rewrite the asserts of the judges, so that failures show the difference."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.parity.judges")
