"""The pace of a machine that was late: how long probes, starts and stops took on it.

On such a machine, commands ran into their time limits at random, and containers took
seconds to stop, so that no simulation leads to what was recorded. The outcome and the
instant of each probe and the duration of each stop are read from the recording instead.
The decisions of the kubelet are compared as usual.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter

from tests.conformance.observation import Event, Observation, Status
from tests.traces.instances import PROBED
from tests.traces.trace import BUSY, Trace, containers

SLACK = 10.0
"""The additional tolerance for times on such a machine, in seconds."""

LOG_ROUNDING = 0.01
"""The rounding of times in a kubelet's log, in seconds."""

QUICK = 0.6
"""The longest duration of a probe that is not delayed, in seconds."""

SAME_PROBE = 0.1
"""The longest time between the log line of a probe and its event, in seconds."""

EMPTY_FAILURE = "failed without a word"
"""A failure of a command without output, or by its time limit."""

_OF_ENDED_INSTANCE = re.compile(r"container not running|CONTAINER_EXITED state")
"""An error about an instance that has ended, even if the next one runs by then."""

GRACE = "terminationGracePeriodSeconds"
DEFAULT_GRACE = 30

NOTICED_WITHIN = 1.0
"""The longest time from the end of an instance until a relist shows it, in seconds."""

ProbeKey = tuple[str, int, str]
"""Container, number of the instance, probe (`Liveness`)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a machine took; times are in seconds from the start of an instance.

    Attributes:
        results: the results of exec probes, and their times.
        starts: how long it took to start an instance, by container and number.
        stops: how long it took to stop an instance.
        begins_at: when the sandbox existed, in seconds from the start of the recording.
    """

    results: Mapping[ProbeKey, Sequence[tuple[float, str]]] = field(
        default_factory=dict
    )
    starts: Mapping[tuple[str, int], float] = field(default_factory=dict)
    stops: Mapping[tuple[str, int], float] = field(default_factory=dict)
    begins_at: float = 0.0


def is_late_machine(trace: Trace) -> bool:
    """Return whether the recording shows that its machine was late.

    A container took long to start, or longer to stop than its grace period lasts, or a
    worker began a probe later than it was due: two results of a worker that is on time
    are apart by at most a period and the duration of a probe.
    """
    if any(took > _longest_stop(trace) for took in pace_of(trace).stops.values()):
        return True
    if not trace.probed:
        return False
    return trace.lateness > BUSY or any(
        after - before
        > trace.probes[name][probe]
        + min(QUICK, trace.time_limit(name, probe))
        + LOG_ROUNDING
        for (name, _, probe), results in pace_of(trace).results.items()
        for (before, _), (after, _) in pairwise(results)
    )


def _longest_stop(trace: Trace) -> float:
    """Return the longest time from a kill to the next event, in seconds, if not late.

    It is infinite for a pod that is replaced: the next event is of another pod.
    """
    if trace.is_edited:
        return math.inf
    spec = trace.manifest["spec"]
    probes = (
        container.get(key) or {}
        for container in containers(trace.manifest)
        for key in ("livenessProbe", "startupProbe")
    )
    graces = [float(one.get(GRACE, 0)) for one in probes]
    return max(float(spec.get(GRACE, DEFAULT_GRACE)), *graces) + NOTICED_WITHIN + BUSY


def pace_of(trace: Trace) -> Pace:
    """Return how long the machine of a trace took."""
    results: dict[ProbeKey, list[tuple[float, str]]] = {}
    starts: dict[tuple[str, int], float] = {}
    stops: dict[tuple[str, int], float] = {}
    for name in trace.periods:
        number, pulled, started, killed = -1, 0.0, None, None
        for t, record, result in sorted(_steps(trace, name)):
            if record == "Started":
                number, started, killed = number + 1, t, None
                starts[name, number] = t - pulled
            elif record == "Killing":
                killed = t
            elif record in {"Pulled", "BackOff"}:
                pulled = t
                if killed is not None:
                    stops.setdefault((name, number), t - killed)
            elif started is not None:
                key = name, number, record
                results.setdefault(key, []).append((t - started, result))
    begins_at = next((event.t for event in trace.observation.events), 0.0)
    return Pace(results, starts, stops, begins_at)


def _steps(trace: Trace, name: str) -> Iterator[tuple[float, str, str]]:
    """Yield events of a container and results of its probes, without errors.

    Errors do not count; they are of probes that ran while an instance ended.
    """
    events = [event for event in trace.observation.events if event.container == name]
    for event in events:
        if event.reason in {"Pulled", "Started", "Killing", "BackOff"}:
            yield event.t, event.reason, ""
    empty_failures = [event for event in events if trace.is_out_of_time(event.message)]
    for t, container, probe, result in trace.probed:
        if container == name and result != "errored":
            is_empty = any(
                event.message.startswith(probe) and abs(event.t - t) <= SAME_PROBE
                for event in empty_failures
            )
            yield t, probe, EMPTY_FAILURE if is_empty else result


def without_strays(observation: Observation) -> Observation:
    """Drop the events and statuses that are random at the end of an instance.

    These are results of probes from a kill until the next instance starts, and the
    statuses that follow from them while the container still runs.
    """
    ending: set[str] = set()
    events: list[Event] = []
    statuses: list[Status] = []
    both: list[Event | Status] = [*observation.events, *observation.statuses]
    for record in sorted(both, key=attrgetter("t")):
        if isinstance(record, Status):
            views = [view for view in record.containers if view.is_running]
            if not any(view.name in ending for view in views):
                statuses.append(record)
            continue
        if record.reason == "Killing":
            ending.add(record.container or "")
        elif record.reason == "Started":
            ending.discard(record.container or "")
        is_stray = record.container in ending or _OF_ENDED_INSTANCE.search(
            record.message
        )
        if not (record.reason in PROBED and is_stray):
            events.append(record)
    return replace(observation, events=events, statuses=statuses)
