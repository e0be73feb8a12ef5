"""A store that is in the package: a night of a few simulated pods, for a lesson.

It answers the queries that we ask, and no others: a selector, with a range or not, and
a condition around it that candidates have to meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import msgspec
from msgspec import Struct

from probetui.cluster.prometheus.client import StoreAccess

DEMO = "demo"
SAMPLES = Path(__file__).with_name("packaged.json")
WORKLOADS = Path(__file__).with_name("packaged.yaml")

_LOOKBACK = 300.0
_SELECTOR = re.compile(
    r'(?P<name>[a-z_]*)\{(?P<wanted>(?:[^{}"]|"(?:[^"\\]|\\.)*")*)\}'
    r"(?:\[(?P<range>[0-9]+)ms\])?"
)
_MATCHER = re.compile(r'(\w+)(=~|=)("(?:[^"\\]|\\.)*")')
_GROUPED = re.compile(r"group by \(([^)]*)\)")
_HIGHEST = re.compile(r"max by \(([^)]*)\)")


class _NightSeries(Struct):
    """A series: its first sample, then how often which difference follows."""

    metric: dict[str, str]
    first: tuple[float, float]
    runs: list[tuple[int, float]]


class _Night(Struct):
    step: float
    seconds: float
    series: list[_NightSeries]


_Samples = list[tuple[float, float]]
_Labels = tuple[tuple[str, str], ...]


class PackagedStore(httpx2.AsyncBaseTransport):
    """Answers queries from samples, as a Prometheus would.

    Args:
        midnight: the instant at which they begin, in Unix seconds.

    Attributes:
        series: the labels of each, its name among them, and its samples.
    """

    def __init__(self, midnight: float) -> None:
        night = _read_night()
        self.series = [
            (series.metric, [*_samples(series, night.step, midnight)])
            for series in night.series
        ]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a query."""
        fields = dict(parse_qsl((await request.aread()).decode()))
        fields |= dict(request.url.params)
        result = [*self._result(fields["query"], float(fields["time"]))]
        is_matrix = bool(result) and "values" in result[0]
        data = {"resultType": "matrix" if is_matrix else "vector", "result": result}
        answer = {"status": "success", "data": data}
        stream = httpx2.ByteStream(msgspec.json.encode(answer))
        return httpx2.Response(200, stream=stream)

    def _result(self, promql: str, at: float) -> Iterator[dict[str, Any]]:
        match = _SELECTOR.search(promql)
        if match is None:
            return
        seconds = float(match["range"] or 1000 * _LOOKBACK) / 1000
        found = [
            (metric, within)
            for metric, samples in self.series
            if _matches(metric, match["name"], match["wanted"])
            and (within := [pair for pair in samples if at - seconds < pair[0] <= at])
        ]
        if grouped := _GROUPED.match(promql):
            is_met = _condition(promql)
            groups = {
                _labels_of(metric, grouped[1])
                for metric, samples in found
                if is_met(samples)
            }
            yield from ({"metric": dict(group), "value": [at, "1"]} for group in groups)
        elif grouped := _HIGHEST.match(promql):
            highest: dict[_Labels, float] = {}
            for metric, samples in found:
                group = _labels_of(metric, grouped[1])
                value = _value(promql, samples)
                highest[group] = max(value, highest.get(group, value))
            for group, value in highest.items():
                yield {"metric": dict(group), "value": [at, str(value)]}
        elif promql.startswith("count("):
            count = len({(metric["pod"], metric["container"]) for metric, _ in found})
            yield {"metric": {}, "value": [at, str(count)]}
        elif promql == match[0] and match["range"]:
            for metric, samples in found:
                values = [[when, str(value)] for when, value in samples]
                yield {"metric": metric, "values": values}
        else:
            for metric, samples in found:
                yield {"metric": metric, "value": [at, str(samples[-1][1])]}


def packaged_access(midnight: float) -> StoreAccess:
    """Return how the store of the package is asked."""
    return StoreAccess("http://demo/", transport=lambda: PackagedStore(midnight))


def seconds_of_night() -> float:
    """Return how long after midnight the samples end."""
    return _read_night().seconds


def packaged_workloads() -> bytes:
    """Return the manifests of the pods."""
    return WORKLOADS.read_bytes()


def _read_night() -> _Night:
    return msgspec.json.decode(SAMPLES.read_bytes(), type=_Night)


def _samples(
    series: _NightSeries, step: float, midnight: float
) -> Iterator[tuple[float, float]]:
    at, value = series.first
    # These values are instants, too.
    name = series.metric["__name__"]
    shift = midnight if name.endswith(("_timestamp", "_created")) else 0.0
    yield midnight + at, shift + value
    for count, difference in series.runs:
        for _ in range(count):
            at, value = at + step, value + difference
            yield midnight + at, shift + value


def _matches(metric: Mapping[str, str], name: str, wanted: str) -> bool:
    if name and metric["__name__"] != name:
        return False
    for label, operator, literal in _MATCHER.findall(wanted):
        value, pattern = metric.get(label, ""), msgspec.json.decode(literal, type=str)
        if operator == "=" and value != pattern:
            return False
        if operator == "=~" and not re.fullmatch(pattern, value):
            return False
    return True


def _labels_of(metric: Mapping[str, str], names: str) -> _Labels:
    """Return those labels of a series that are named."""
    return tuple((name, metric[name]) for name in names.split(", ") if name in metric)


def _value(promql: str, samples: _Samples) -> float:
    """Return what is asked of samples: their rise, the highest, or the last."""
    values = [value for _, value in samples]
    if "min_over_time(" in promql:
        return max(values) - min(values)
    return max(values) if "max_over_time(" in promql else values[-1]


def _condition(promql: str) -> Callable[[_Samples], bool]:
    """Return what the samples of a candidate have to meet."""
    if "> 0 unless" in promql:
        return lambda samples: _changes(samples) > 0
    if "changes(" in promql:
        return lambda samples: _changes(samples) > 1
    if "max_over_time(" in promql:
        return lambda samples: max(value for _, value in samples) == 0
    return bool


def _changes(samples: _Samples) -> int:
    return sum(before[1] != after[1] for before, after in pairwise(samples))
