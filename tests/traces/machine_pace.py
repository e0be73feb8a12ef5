"""Recordings of a machine that was too busy to be followed in time.

Commands of a second ran into their time limits there by chance, and containers took
seconds to stop, so that no script leads to what was recorded. How long the machine took
is taken from the recording instead: what each probe came to and when, and how long each
stop took. What the kubelet made of that is compared as ever.
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
"""Seconds more by which times may differ on such a machine."""

NOISE = 0.01
"""Seconds by which times in a kubelet's log are not exact."""

QUICK = 0.6
"""Seconds that a probe takes at most that nothing delays, if it may take so long."""

SAME_PROBE = 0.1
"""Seconds at most between the line of a probe and its event in a kubelet's log."""

MUTE = "failed without a word"
"""A failure of a command that says nothing, or ran into its time limit."""

_OF_ONE_THAT_ENDED = re.compile(r"container not running|CONTAINER_EXITED state")
"""What an error says of an instance that has ended, whichever runs by now."""

GRACE = "terminationGracePeriodSeconds"
DEFAULT_GRACE = 30

NOTICED = 1.0
"""Seconds at most from the end of an instance until a relist shows it."""

ProbeKey = tuple[str, int, str]
"""Container, number of the instance, probe (`Liveness`)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a machine took; times are in seconds from the start of an instance.

    Attributes:
        results: what commands of probes came to, and when.
        starts: how long it took to start an instance, by container and number.
        stops: the same of stopping it.
        begins: when the sandbox was there, in seconds from the start of the recording.
    """

    results: Mapping[ProbeKey, Sequence[tuple[float, str]]] = field(
        default_factory=dict
    )
    starts: Mapping[tuple[str, int], float] = field(default_factory=dict)
    stops: Mapping[tuple[str, int], float] = field(default_factory=dict)
    begins: float = 0.0


def is_late(trace: Trace) -> bool:
    """Return whether the machine was late by what the recording itself shows.

    A container took long to start, or longer to stop than its grace period lasts, or a
    worker began a probe later than it was due: two results of one that is on time are a
    period and what a probe takes apart at most.
    """
    if any(took > _stops_within(trace) for took in pace_of(trace).stops.values()):
        return True
    if not trace.probed:
        return False
    return trace.lateness > BUSY or any(
        after - before
        > trace.probes[name][probe] + min(QUICK, trace.time_limit(name, probe)) + NOISE
        for (name, _, probe), results in pace_of(trace).results.items()
        for (before, _), (after, _) in pairwise(results)
    )


def _stops_within(trace: Trace) -> float:
    """Return the seconds from a kill to what follows it, at most, on one at rest.

    Of a pod that is replaced, that is what becomes of another pod.
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
    return max(float(spec.get(GRACE, DEFAULT_GRACE)), *graces) + NOTICED + BUSY


def pace_of(trace: Trace) -> Pace:
    """Return how long the machine of a trace took."""
    results: dict[ProbeKey, list[tuple[float, str]]] = {}
    starts: dict[tuple[str, int], float] = {}
    stops: dict[tuple[str, int], float] = {}
    for name in trace.periods:
        number, pulled, started, killed = -1, 0.0, None, None
        for t, what, result in sorted(_steps(trace, name)):
            if what == "Started":
                number, started, killed = number + 1, t, None
                starts[name, number] = t - pulled
            elif what == "Killing":
                killed = t
            elif what in {"Pulled", "BackOff"}:
                pulled = t
                if killed is not None:
                    stops.setdefault((name, number), t - killed)
            elif started is not None:
                key = name, number, what
                results.setdefault(key, []).append((t - started, result))
    begins = next((event.t for event in trace.seen.events), 0.0)
    return Pace(results, starts, stops, begins)


def _steps(trace: Trace, name: str) -> Iterator[tuple[float, str, str]]:
    """Yield events of a container and results of its probes, but for errors.

    Errors count for nothing; there they are of probes that met the end of an instance.
    """
    events = [event for event in trace.seen.events if event.container == name]
    for event in events:
        if event.reason in {"Pulled", "Started", "Killing", "BackOff"}:
            yield event.t, event.reason, ""
    mute = [event for event in events if trace.is_out_of_time(event.message)]
    for t, container, probe, result in trace.probed:
        if container == name and result != "errored":
            is_mute = any(
                event.message.startswith(probe) and abs(event.t - t) <= SAME_PROBE
                for event in mute
            )
            yield t, probe, MUTE if is_mute else result


def without_strays(seen: Observation) -> Observation:
    """Leave out what the end of an instance meets by chance on a slow machine.

    That is what readiness probes find from a kill until the next instance is known, and
    the statuses that come of it while the container still runs.
    """
    ending: set[str] = set()
    events: list[Event] = []
    statuses: list[Status] = []
    both: list[Event | Status] = [*seen.events, *seen.statuses]
    for what in sorted(both, key=attrgetter("t")):
        if isinstance(what, Status):
            views = [view for view in what.containers if view.is_running]
            if not any(view.name in ending for view in views):
                statuses.append(what)
            continue
        if what.reason == "Killing":
            ending.add(what.container or "")
        elif what.reason == "Started":
            ending.discard(what.container or "")
        is_stray = what.container in ending or _OF_ONE_THAT_ENDED.search(what.message)
        if not (what.reason in PROBED and is_stray):
            events.append(what)
    return replace(seen, events=events, statuses=statuses)
