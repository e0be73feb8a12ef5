"""Time to write and read a record's lines, beside msgspec's own `to_builtins`.

    python benchmarks/record.py [--rounds N] [--json]

The input is the outcome of an HTTP probe with three headers. All is measured
alternately in the same run, each figure the fastest of the rounds, in the processor
time of one call. A line that repeats is one whose probe found what it found before.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
from limits import Limit, Yardstick, report_limits, times

from probetui.k8s.pod import Pod
from probetui.k8s.probe import HTTPHeader, ProbeKey, ProbeType
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeOutcome, ProbeResult
from probetui.record.format import RecordContext
from probetui.record.inputs import InputDecoder
from probetui.record.masking import Mask
from probetui.record.routine_lines import MOST_TEMPLATES, RoutineLines
from probetui.record.values import encode_value

CALLS = 200
MOST_TIMES = 3.0
START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ProbeKey("uid", "app", ProbeType.LIVENESS)
DISTINCT = 2 * MOST_TEMPLATES
"""Outcomes of which each is forgotten when it comes again."""


def an_outcome(date: str) -> ProbeFinished:
    headers = (
        HTTPHeader("content-type", "text/plain"),
        HTTPHeader("date", date),
        HTTPHeader("content-length", "2"),
    )
    attempt = Attempt(
        ProbeResult.SUCCESS,
        "ok",
        duration=timedelta(microseconds=1234),
        detail="HTTP 200",
        http=HTTPAnswer(200, headers),
    )
    length = timedelta(microseconds=1500)
    return ProbeFinished(17, ProbeOutcome((attempt,), START, length))


def seconds_of(call: Callable[[], object]) -> float:
    began = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - began) / CALLS


def measure(rounds: int) -> dict[str, float]:
    outcome = an_outcome("Sat, 28 Nov 2026 17:08:35 GMT")
    dated = itertools.cycle([an_outcome(f"{number}") for number in range(DISTINCT)])
    mask = Mask()
    context = RecordContext(START, {KEY.pod_uid: Pod(KEY.pod_uid, "web")}, mask)
    lines, decoder = RoutineLines(mask), InputDecoder()
    written = lines.outcome(outcome, 1, START, 1, context)
    item = json.loads(written)["input"]
    calls: dict[str, Callable[[], object]] = {
        "yardstick": lambda: msgspec.to_builtins(outcome),
        "encode": lambda: encode_value(outcome),
        "repeated_line": lambda: lines.outcome(outcome, 1, START, 1, context),
        "new_line": lambda: lines.outcome(next(dated), 1, START, 1, context),
        "decode": lambda: decoder.decode(item),
    }
    fastest = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            fastest[name] = min(fastest[name], seconds_of(call))
    return fastest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    fastest = measure(options.rounds)
    yardstick = fastest.pop("yardstick")
    if options.json:
        figures = {f"{name}_times": times(fastest[name], yardstick) for name in fastest}
        print(json.dumps(figures))
        return
    for name, seconds in fastest.items():
        print(
            f"{name.replace('_', ' ')}: {seconds * 1e6:.2f} µs, "
            f"{seconds / yardstick:.1f} times msgspec.to_builtins"
        )
    report_limits(
        Limit(
            "encode",
            round(fastest["encode"] * 1e6, 2),
            round(MOST_TIMES * yardstick * 1e6, 2),
            "µs",
            Yardstick("msgspec.to_builtins", round(yardstick * 1e6, 2)),
        )
    )


if __name__ == "__main__":
    main()
