"""The results of probes, from the counters of a kubelet's /metrics/probes.

`prober_probe_total` counts successes and failures of each worker; errors are not
counted. Between two polls, one tick or several with the same result are known exactly;
of several with different results, the order is unknown.

Source: prober.go, worker.go, v1.36.2, ProberResults (a series begins with the first
tick, is deleted when its worker ends, and outlives its container).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from probetui.k8s.probe import ProbeKey, ProbeType

_SERIES = re.compile(rb"^prober_probe_total\{([^\n]*)\} ([0-9.e+]+)", re.MULTILINE)
_BUCKETS = re.compile(
    rb"^prober_probe_duration_seconds_bucket\{([^\n]*)\} ([0-9.e+]+)", re.MULTILINE
)
_PROCESS_START = re.compile(rb"^process_start_time_seconds ([0-9.e+]+)$", re.MULTILINE)
_LABEL = re.compile(rb'(\w+)="((?:[^"\\\n]|\\.)*)"')
_TYPES = {kind.value.encode(): kind for kind in ProbeType}
_RESULTS = {b"successful": 0, b"failed": 1}
_MOST_SERIES = 100_000
"""A kubelet has about ten series a pod, and at most some hundred pods."""


class ProbeCounts(NamedTuple):
    """The successes and failures of a worker's probe."""

    successes: int = 0
    failures: int = 0

    @property
    def total(self) -> int:
        """The number of counted results."""
        return self.successes + self.failures


class SeriesReader:
    """Parses the responses of one kubelet; known labels are not parsed again."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[ProbeKey, int] | None] = {}

    def read(self, text: bytes) -> dict[ProbeKey, ProbeCounts]:
        """Parse the counters of a response; skip other lines."""
        counters: dict[ProbeKey, ProbeCounts] = {}
        seen: dict[bytes, tuple[ProbeKey, int] | None] = {}
        for match in _SERIES.finditer(text):
            labels = match[1]
            series = self._known[labels] if labels in self._known else _parse(labels)
            seen[labels] = series
            count = _count(match[2])
            if series is not None and count is not None:
                key, place = series
                counts = counters.get(key, _NONE)
                counters[key] = (
                    counts._replace(failures=count)
                    if place
                    else counts._replace(successes=count)
                )
            if len(seen) >= _MOST_SERIES:
                break
        self._known = seen
        return counters


_NONE = ProbeCounts()


def _parse(labels: bytes) -> tuple[ProbeKey, int] | None:
    values = {match[1]: match[2] for match in _LABEL.finditer(labels)}
    kind = _TYPES.get(values.get(b"probe_type", b""))
    place = _RESULTS.get(values.get(b"result", b""))
    if kind is None or place is None:
        return None
    try:
        uid, name = values[b"pod_uid"].decode(), values[b"container"].decode()
    except (KeyError, UnicodeDecodeError):
        return None
    return ProbeKey(uid, name, kind), place


def _count(text: bytes) -> int | None:
    value = _number(text)
    return None if value is None else int(value)


def _number(text: bytes) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


Durations = Mapping[tuple[str, str, str, ProbeType], Mapping[float, float]]
"""How many successes took at most so many seconds, by namespace, pod, container, type.

Durations have no uid.
"""


def read_durations(text: bytes) -> Durations:
    """Parse the histograms of a response; skip other lines."""
    found: dict[tuple[str, str, str, ProbeType], dict[float, float]] = {}
    for match in itertools.islice(_BUCKETS.finditer(text), _MOST_SERIES):
        labels = {label[1]: label[2] for label in _LABEL.finditer(match[1])}
        kind, count = _TYPES.get(labels.get(b"probe_type", b"")), _number(match[2])
        try:
            bound = float(labels.get(b"le", b""))
            namespace, pod, container = (
                labels[name].decode() for name in (b"namespace", b"pod", b"container")
            )
        except (KeyError, ValueError):
            continue
        if kind is not None and count is not None and bound > 0:
            found.setdefault((namespace, pod, container, kind), {})[bound] = count
    return found


def read_process_start(text: bytes) -> float | None:
    """Return when the process of a response began, in Unix seconds, if it says so."""
    match = _PROCESS_START.search(text)
    return None if match is None else _number(match[1])


class CountedTicks(Struct, frozen=True):
    """The ticks of one worker between two polls.

    The ticks ended between `earliest` and `latest`. `is_new_worker`: the worker started
    in between, so the counts of an earlier kubelet are over. `may_lack`: earlier ticks
    are missing. `is_baseline`: it is the first poll, and the counts before it are
    unknown.
    """

    key: ProbeKey
    counts: ProbeCounts
    earliest: datetime
    latest: datetime
    is_new_worker: bool = False
    may_lack: bool = False
    is_baseline: bool = False


class NodeCounters:
    """Compares the polls of one kubelet.

    A restarted kubelet counts from zero: a count is less than before, or its series is
    gone for a time. After failed polls it may have caught up; unless a count is too
    high for that, it is begun anew, as with a first poll.
    """

    def __init__(self) -> None:
        self._counts: Mapping[ProbeKey, ProbeCounts] | None = None
        self._asked_at: datetime | None = None
        self._has_failed = False
        self.counted_since: datetime | None = None
        """From when on no result is missing, None before the first poll."""

    @property
    def counted_until(self) -> datetime | None:
        """When the last successful poll was sent."""
        return self._asked_at

    def fail(self) -> None:
        """Record a failed poll: the kubelet may be restarting."""
        self._has_failed = True

    def observe(
        self,
        counts: Mapping[ProbeKey, ProbeCounts],
        asked_at: datetime,
        answered_at: datetime,
        periods: Mapping[ProbeKey, int],
    ) -> Iterator[CountedTicks]:
        """Yield the ticks since the last poll of each worker that has any.

        Args:
            counts: the counters now.
            asked_at: when the request was sent.
            answered_at: when its response had arrived.
            periods: the periods of the observed probes in seconds.
        """
        before, earliest = self._counts, self._asked_at
        has_failed, self._has_failed = self._has_failed, False
        self._counts, self._asked_at = counts, asked_at
        if before is None or earliest is None:
            self.counted_since = asked_at
            for key, now in counts.items():
                yield CountedTicks(key, now, asked_at, answered_at, is_baseline=True)
            return
        is_restarted = any(
            now.successes < before[key].successes or now.failures < before[key].failures
            for key, now in counts.items()
            if key in before
        )
        gap = answered_at - earliest
        may_be_restarted = (
            has_failed
            and not is_restarted
            and not any(
                key in counts and was.total > _most_ticks(gap, periods.get(key))
                for key, was in before.items()
            )
        )
        if is_restarted or may_be_restarted:
            self.counted_since = answered_at
        for key, now in counts.items():
            was = before.get(key)
            if was is not None and may_be_restarted:
                # Either way these are all results of the worker that is there now.
                yield CountedTicks(
                    key, now, earliest, answered_at, may_lack=True, is_baseline=True
                )
            elif was is None or is_restarted:
                yield CountedTicks(
                    key,
                    now,
                    earliest,
                    answered_at,
                    is_new_worker=True,
                    may_lack=is_restarted,
                )
            elif now != was:
                news = ProbeCounts(
                    now.successes - was.successes, now.failures - was.failures
                )
                yield CountedTicks(key, news, earliest, answered_at)


def _most_ticks(gap: timedelta, period: int | None) -> float:
    """Return the largest possible number of ticks, infinite for an unknown probe."""
    return math.inf if not period else gap // timedelta(seconds=period) + 2
