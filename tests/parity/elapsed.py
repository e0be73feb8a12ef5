"""How long something may take beside what the kubelet took."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

TOO_EARLY = 0.1
TOO_LATE = 2.0
"""Seconds. Timers fire late on a busy machine, but never early."""


@contextlib.contextmanager
def took_as_long(elapsed_milliseconds: int) -> Iterator[None]:
    """Check that the block takes about as long."""
    clock = asyncio.get_running_loop().time
    started_at = clock()
    yield
    seconds = clock() - started_at
    expected = elapsed_milliseconds / 1000
    assert expected - TOO_EARLY <= seconds <= expected + TOO_LATE
