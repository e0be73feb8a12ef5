"""Measure how much time a busy machine takes from programs while a test runs.

No test may depend on the speed of a machine. A test that runs against the clock allows
for the seconds by which a small program, run again and again beside it, was late.
"""

from __future__ import annotations

import subprocess
import time
from threading import Event, Thread
from types import TracebackType
from typing import NamedTuple, Self

COMMAND = ("/bin/sh", "-c", ":")
PAUSE = 0.25
"""Seconds between two runs of the command; it takes a hundredth of a processor."""

NOISE = 4.0
"""How many times its shortest duration a run may take and still be on time."""

WINDOW = 10.0
"""Seconds over which the worst lateness is computed."""


class Sample(NamedTuple):
    """When the command was run, and how long it took, in seconds."""

    at: float
    took: float


def lost(samples: list[Sample], since: float, until: float) -> float:
    """Return how many seconds of processor time programs lost between two instants.

    A run that takes four times as long as on an idle machine got a quarter of its time.
    """
    if not samples:
        return 0.0
    quiet = min(sample.took for sample in samples)
    total = 0.0
    begins = samples[0].at
    for at, took in samples:
        ends = at + took
        seconds = min(ends, until) - max(begins, since)
        begins = ends
        if seconds > 0 and took > NOISE * quiet:
            total += seconds * (1 - quiet / took)
    return total


class Lateness:
    """A context manager that measures lateness while its block runs."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._is_over = Event()
        self._thread = Thread(target=self._work, name="lateness", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self._is_over.set()
        self._thread.join()

    @property
    def now(self) -> float:
        """Return the time, by the clock of the samples."""
        return time.monotonic()  # noqa: TID251  # real time is measured

    def lost(self, since: float) -> float:
        """Return how many seconds of processor time programs lost since an instant."""
        return lost(list(self.samples), since, self.now)

    def worst(self, since: float = 0.0) -> float:
        """Return how many seconds were lost in the worst ten in a row."""
        samples = list(self.samples)
        starts = (sample.at for sample in samples if sample.at >= since)
        return max((lost(samples, at, at + WINDOW) for at in starts), default=0.0)

    def _work(self) -> None:
        while not self._is_over.wait(PAUSE):
            at = self.now
            subprocess.run(COMMAND, check=True)
            self.samples.append(Sample(at, self.now - at))
