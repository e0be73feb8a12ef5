"""A recorded session as trace events, which Perfetto and Chrome's viewers open.

A pod is a process. Its tracks are the container (lives, grace periods, back-off,
kills), the hooks of the container, and each probe (equal ticks in a row as one slice).
Counters have the run of failures and the latency of each probe. A flow leads from the
tick that reached the threshold to the kill.

Events are made in one pass over the journal. A slice is emitted once it has ended, so
only what is open is kept.

Source: "Trace Event Format", Google, 2016: JSON Object Format; the phases X, i, C, s, f
and M. Perfetto reads the same: https://perfetto.dev/docs/faq
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, field

from probetui.analysis.timeline import classify_tick
from probetui.k8s.probe import ProbeKey
from probetui.k8s.status import PodStatus, Running
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    HookEntry,
    JournalEntry,
    LifecycleStep,
    PodGoneEntry,
    StateEntry,
    StateField,
    StatusEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.safe_text import safe_line

Event = dict[str, Any]
"""One trace event, as JSON has it."""

MOST_SAMPLES = 2_000
"""The samples of one latency counter: the longest of equal parts of the session."""

LONGEST_TEXT = 300
"""Characters of what containers and servers say."""

BEGINNING = '{"otherData":{"generator":"probetui export --perfetto"'
"""How every file of ours begins."""

_ENDS = {LifecycleStep.EXITED, LifecycleStep.GONE}
_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_STATE_NAMES = {
    (StateField.READY, "true"): "ready",
    (StateField.READY, "false"): "not ready",
    (StateField.STARTED, "true"): "started",
}


class TracedSession(Struct, frozen=True):
    """What of a record is traced; `pods` has namespace and name of each pod by UID."""

    started_at: datetime
    ended_at: datetime
    entries: Iterable[JournalEntry]
    pods: Mapping[str, tuple[str, str]]


def trace_text(session: TracedSession) -> Iterator[str]:
    """Yield the parts of the trace's JSON, each some events long at most."""
    start = session.started_at.isoformat()
    yield f'{BEGINNING},"started":{json.dumps(start)}}},"displayTimeUnit":"ms",'
    yield '"traceEvents":[\n'
    comma = ""
    for event in trace_events(session):
        yield comma + json.dumps(event, separators=(",", ":"))
        comma = ",\n"
    yield "\n]}\n"


def trace_events(session: TracedSession) -> Iterator[Event]:
    """Yield the events of a session; those of a track do not overlap, but nest."""
    yield from _Trace(session).events()


class _Track(Struct, frozen=True):
    """Where an event is drawn."""

    pid: int
    tid: int

    def event(self, phase: str, name: str, at: int, **more: Any) -> Event:
        """Return an event; `at` is in µs since the beginning of the session."""
        return {
            "ph": phase, "name": safe_line(name), "pid": self.pid, "tid": self.tid,
            "ts": at, **more,
        }  # fmt: skip

    def slice(self, name: str, first: int, last: int, args: Event) -> Event:
        """Return a slice; one without a length would not be seen."""
        length = max(last - first, 1)
        return self.event("X", name, first, dur=length, args=args)


class _ContainerTrace(Struct):
    """The open slices of a container, in µs."""

    track: _Track
    hooks: _Track
    name: str
    life_since: int | None = None
    number: int = 0
    stopping: tuple[int, ContainerEntry] | None = None
    waits: tuple[int, int, BackoffEntry] | None = None
    until: int = 0
    """The end of the last slice: the next one must not begin before it."""

    hooked_until: int = 0


class _ProbeTrace(Struct):
    """The open slice of a probe: equal ticks in a row, in µs."""

    track: _Track
    name: str
    likeness: tuple[object, ...] = ()
    first: int = 0
    last: int = 0
    last_start: int = 0
    count: int = 0
    longest: timedelta = timedelta()
    latest: TickEntry | None = None
    run: int = 0
    bucket: int = -1
    bucket_at: int = 0
    bucket_longest: timedelta | None = None


class _Trace(Struct):
    """One pass over a journal."""

    session: TracedSession
    _pods: dict[str, int] = field(default_factory=dict)
    _containers: dict[tuple[str, str], _ContainerTrace] = field(default_factory=dict)
    _probes: dict[ProbeKey, _ProbeTrace] = field(default_factory=dict)
    _number: int = 0
    _flows: int = 0

    def events(self) -> Iterator[Event]:
        for entry in self.session.entries:
            yield from self._events_of(entry)
        end = self._at(self.session.ended_at)
        for probe in self._probes.values():
            yield from self._close(probe)
            yield from self._sample(probe)
        for container in self._containers.values():
            yield from self._end(container, end, {"open": True})

    def _events_of(self, entry: JournalEntry) -> Iterator[Event]:
        match entry:
            case TickEntry():
                return self._tick(entry)
            case ContainerEntry():
                return self._step(entry)
            case HookEntry(ended_at=datetime()):
                return self._hook(entry)
            case BackoffEntry(waits=True):
                return self._back_off(entry)
            case StateEntry():
                return self._state(entry)
            case StatusEntry():
                return self._status(entry.pod_uid, entry.status)
            case PodGoneEntry():
                return self._pod_gone(entry)
            case _:
                return iter(())

    # -- ticks

    def _tick(self, tick: TickEntry) -> Iterator[Event]:
        yield from self._container_tracks(tick.key.pod_uid, tick.key.container_name)
        probe = self._probes.get(tick.key)
        if probe is None:
            name = f"{tick.key.container_name} {tick.key.probe_type.lower()}"
            track = _Track(self._pods[tick.key.pod_uid], self._next())
            probe = self._probes[tick.key] = _ProbeTrace(track, name)
            yield from _named(track, name)
        mark = classify_tick(tick)
        likeness = (mark.code, mark.is_injected, tick.container_id)
        if likeness != probe.likeness:
            yield from self._close(probe)
            probe.likeness = likeness
            # A slice must not begin before the one before it has ended.
            probe.first = max(self._at(tick.timing.started_at), probe.last)
            probe.count, probe.longest = 0, timedelta()
        probe.last_start = max(self._at(tick.timing.started_at), probe.first)
        probe.last = max(probe.last_start, self._at(tick.at), probe.first + 1)
        probe.count += 1
        probe.latest = tick
        if tick.attempts:
            probe.longest = max(probe.longest, tick.timing.duration)
        yield from self._count(probe, tick)

    def _count(self, probe: _ProbeTrace, tick: TickEntry) -> Iterator[Event]:
        """Yield counters: the run where it changed, the latency of a past part."""
        if tick.result is not None:
            failures = tick.run.count if tick.result is Result.FAILURE else 0
            if failures != probe.run:
                probe.run = failures
                yield _counter(
                    probe, "failures in a row", "failures", probe.last, failures
                )
        if not tick.attempts or not all(one.is_timed for one in tick.attempts):
            return
        length = self._at(self.session.ended_at) + 1
        bucket = min(probe.last_start, length - 1) * MOST_SAMPLES // length
        if bucket != probe.bucket:
            yield from self._sample(probe)
            probe.bucket, probe.bucket_at = bucket, probe.last_start
        longest = probe.bucket_longest or timedelta()
        probe.bucket_longest = max(longest, tick.timing.duration)

    def _sample(self, probe: _ProbeTrace) -> Iterator[Event]:
        if probe.bucket_longest is not None:
            milliseconds = round(probe.bucket_longest / _MILLISECOND, 3)
            yield _counter(probe, "latency", "ms", probe.bucket_at, milliseconds)
            probe.bucket_longest = None

    def _close(self, probe: _ProbeTrace) -> Iterator[Event]:
        tick = probe.latest
        if tick is None:
            return
        code = str(probe.likeness[0]).replace("_", " ")
        name = code if probe.count == 1 else f"{code} x{probe.count}"
        args: Event = {"ticks": probe.count}
        if tick.result is not None:
            args["run"] = f"{tick.run.count}/{tick.run.threshold}"
            args["longest_ms"] = round(probe.longest / _MILLISECOND, 3)
        if tick.attempts:
            attempt = tick.attempts[-1]
            said = attempt.error or attempt.output or attempt.detail
            args["last"] = _text(said)
        yield probe.track.slice(name, probe.first, probe.last, args)
        probe.latest = None

    # -- containers

    def _step(self, entry: ContainerEntry) -> Iterator[Event]:
        yield from self._container_tracks(entry.pod_uid, entry.container_name)
        container = self._containers[entry.pod_uid, entry.container_name]
        at = self._at(entry.at)
        if entry.what is LifecycleStep.STARTED:
            yield from self._end(container, at, {})
            container.life_since = max(at, container.until)
            container.number = entry.restart_count + 1
        elif entry.what is LifecycleStep.STOPPING:
            if container.life_since is None:
                container.life_since = container.until
                container.number = entry.restart_count + 1
            at = max(at, container.life_since)
            container.stopping = at, entry
            yield from self._kill(container, at, entry)
        elif entry.what in _ENDS:
            args: Event = {"exit_code": entry.exit_code, "reason": _text(entry.reason)}
            if entry.by is not None:
                args["by"] = entry.by.value
            if entry.oom_killed:
                args["oom_killed"] = True
            yield from self._end(container, at, args)

    def _kill(
        self, container: _ContainerTrace, at: int, entry: ContainerEntry
    ) -> Iterator[Event]:
        """Yield a kill, and the flow from the probe that asked for it."""
        by = "" if entry.by is None else f": {entry.by.value}"
        args = {
            "reason": _text(entry.reason),
            "grace_seconds": entry.grace_period_seconds,
        }
        yield container.track.event("i", f"kill{by}", at, s="t", args=args)
        probe_type = None if entry.by is None else PROBE_CAUSES.get(entry.by)
        if probe_type is None:
            return
        probe = self._probes.get(
            ProbeKey(entry.pod_uid, entry.container_name, probe_type)
        )
        if probe is None or not probe.count:
            return
        self._flows += 1
        common = {"id": self._flows, "cat": "kill"}
        name = f"killed by {probe_type.lower()}"
        # Viewers bind a flow to the slice around it, whose end is not part of it.
        begin = min(probe.last_start, probe.last - 1, at)
        yield probe.track.event("s", name, begin, **common)
        yield container.track.event("f", name, at, bp="e", **common)

    def _end(self, container: _ContainerTrace, at: int, args: Event) -> Iterator[Event]:
        """Yield the life, the grace period and the wait that end at an instant."""
        yield from self._end_wait(container, at)
        since, stopping = container.life_since, container.stopping
        if stopping and stopping[1].or_newer and stopping[1].by != args.get("by"):
            stopping = None  # it was of a newer instance
        container.life_since = container.stopping = None
        if since is not None:
            # Until the end of what is in it, so that slices nest.
            last = max(at, since + 1, stopping[0] + 1 if stopping else 0)
            container.until = last
            name = f"instance {container.number}"
            yield container.track.slice(name, since, last, args)
            if stopping is not None:
                first, entry = stopping
                seconds = entry.grace_period_seconds
                name = "stopping" if seconds is None else f"grace {seconds}s"
                source = {"source": _text(entry.grace_source)}
                yield container.track.slice(name, first, last, source)

    def _back_off(self, entry: BackoffEntry) -> Iterator[Event]:
        yield from self._container_tracks(entry.pod_uid, entry.container_name)
        container = self._containers[entry.pod_uid, entry.container_name]
        if container.life_since is not None:
            return
        since = max(self._at(entry.since or entry.at), container.until)
        if container.waits is not None:
            since = container.waits[0]
        until = self._at(entry.until or entry.at)
        container.waits = since, max(until, since), entry

    def _end_wait(self, container: _ContainerTrace, at: int) -> Iterator[Event]:
        if container.waits is None:
            return
        since, until, entry = container.waits
        container.waits = None
        args = {"window_seconds": entry.window.total_seconds()}
        name = f"back-off {entry.window.total_seconds():g}s"
        container.until = max(min(until, at), since + 1)
        yield container.track.slice(name, since, container.until, args)

    def _hook(self, entry: HookEntry) -> Iterator[Event]:
        yield from self._container_tracks(entry.pod_uid, entry.container_name)
        container = self._containers[entry.pod_uid, entry.container_name]
        args = {"error": _text(entry.error or ""), "output": _text(entry.output)}
        first = max(self._at(entry.started_at), container.hooked_until)
        last = container.hooked_until = max(
            self._at(entry.ended_at or entry.at), first + 1
        )
        yield container.hooks.slice(entry.hook.value, first, last, args)

    def _state(self, entry: StateEntry) -> Iterator[Event]:
        name = _STATE_NAMES.get((entry.what, entry.after.lower()))
        if name is not None and entry.container_name:
            yield from self._container_tracks(entry.pod_uid, entry.container_name)
            track = self._containers[entry.pod_uid, entry.container_name].track
            yield track.event("i", name, self._at(entry.at), s="t")

    def _status(self, pod_uid: str, status: PodStatus) -> Iterator[Event]:
        """Open the lives of containers that ran before the session began."""
        of_init, others = status.init_container_statuses, status.container_statuses
        for shown in (*(of_init or ()), *(others or ())):
            if isinstance(shown.state, Running):
                yield from self._container_tracks(pod_uid, shown.name)
                container = self._containers[pod_uid, shown.name]
                if container.life_since is None and not container.number:
                    started = shown.state.started_at or self.session.started_at
                    container.life_since = self._at(started)
                    container.number = shown.restart_count + 1

    def _pod_gone(self, entry: PodGoneEntry) -> Iterator[Event]:
        for (uid, _), container in self._containers.items():
            if uid == entry.pod_uid:
                yield from self._end(container, self._at(entry.at), {})

    # -- tracks

    def _container_tracks(self, pod_uid: str, name: str) -> Iterator[Event]:
        """Yield the names of a pod's and a container's tracks, when they are new."""
        if (pod_uid, name) in self._containers:
            return
        if pod_uid not in self._pods:
            pid = self._pods[pod_uid] = self._next()
            named = "/".join(self.session.pods.get(pod_uid, (pod_uid,)))
            yield from _named(_Track(pid, pid), named, "process_name")
        pid = self._pods[pod_uid]
        tracks = _Track(pid, self._next()), _Track(pid, self._next())
        self._containers[pod_uid, name] = _ContainerTrace(*tracks, name)
        yield from _named(tracks[0], name)
        yield from _named(tracks[1], f"{name} hooks")

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _at(self, instant: datetime) -> int:
        """Return µs since the beginning; what was before it is at the beginning."""
        return max((instant - self.session.started_at) // _MICROSECOND, 0)


def _named(track: _Track, name: str, kind: str = "thread_name") -> Iterator[Event]:
    """Yield the name of a track, and its place among the others: in their order."""
    place = f"{kind.partition('_')[0]}_sort_index"
    yield track.event("M", kind, 0, args={"name": safe_line(name)})
    yield track.event("M", place, 0, args={"sort_index": track.tid})


def _counter(probe: _ProbeTrace, what: str, unit: str, at: int, value: float) -> Event:
    return probe.track.event("C", f"{probe.name} {what}", at, args={unit: value})


def _text(text: str) -> str:
    return safe_line(text, limit=LONGEST_TEXT)
