"""The contract's assertions explain themselves, like those of a test module."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "tests.runtimes.bench",
    "tests.runtimes.contract",
    "tests.runtimes.exec_contract",
    "tests.runtimes.capability_contract",
    "tests.runtimes.message_contract",
    "tests.runtimes.volume_contract",
)
