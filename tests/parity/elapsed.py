"""Compare a duration with that of the kubelet."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

EARLIEST = 0.1
LATEST = 2.0
"""Tolerances in seconds. Timers fire late on a busy machine, but never early."""


@contextlib.contextmanager
def took_as_long(elapsed_milliseconds: int) -> Iterator[None]:
    """Check that the block takes about as long as the kubelet took."""
    clock = asyncio.get_running_loop().time
    started_at = clock()
    yield
    seconds = clock() - started_at
    expected = elapsed_milliseconds / 1000
    assert expected - EARLIEST <= seconds <= expected + LATEST
