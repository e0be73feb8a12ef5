"""The step pane: the queue of next events, and the changes by the last step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from msgspec import Struct

from probetui.durations import format_countdown, format_duration, format_stopwatch
from probetui.engine.snapshot import (
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    Snapshot,
    Upcoming,
    UpcomingKind,
)
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import EventEntry, JournalEntry, TickEntry
from probetui.presentation.container.table import object_name
from probetui.presentation.probe.state import (
    format_handler,
    threshold,
    upcoming_skip_text,
)
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line, muted
from probetui.presentation.text.view import View
from probetui.presentation.tick.report import report_tick, run_count

NOTHING_YET = "No step yet: . runs a tick of the probe, > any, S runs to a change."

_KINDS = {
    UpcomingKind.HELD_RESULT: "paused",
    UpcomingKind.TRIGGER: "trigger",
    UpcomingKind.TICK: "",
    UpcomingKind.DELAY_OVER: "delay over",
    UpcomingKind.BACKOFF_OVER: "back-off over",
    UpcomingKind.GRACE_OVER: "grace over",
    UpcomingKind.RESYNC: "resync",
}
_NAME_CELLS, _MOST_NAME_CELLS = 16, 30
_TYPE_CELLS = 10
_NO_BACKOFF = "none"
_SKIP = "skip: "
_SHORTEST_COUNTDOWN = timedelta(milliseconds=100)

VALUES_AT = 16
"""The column, in cells, of the value after a label."""


def queue_lines(
    snapshot: Snapshot, names: Mapping[str, str], view: View
) -> Iterator[Line]:
    """Yield the next events, in order; the first step is marked.

    `names` has the shown names of pods, by UID.
    """
    first_step = next(
        (upcoming for upcoming in snapshot.upcoming if upcoming.is_step), None
    )
    longest = max(
        (len(_name(upcoming, names, view)) for upcoming in snapshot.upcoming), default=0
    )
    name_cells = min(max(longest + 1, _NAME_CELLS), _MOST_NAME_CELLS)
    for upcoming in snapshot.upcoming:
        is_next = upcoming is first_step
        yield line(
            Span("> " if is_next else "  ", Role.ACCENT),
            f"{_ahead(upcoming, view):>7}  {_clock(upcoming, snapshot, view)}  ",
            _fixed(_name(upcoming, names, view), name_cells),
            _fixed((upcoming.probe_type or "").lower(), _TYPE_CELLS),
            *_action(upcoming, snapshot, view),
        )


def stop_line(snapshot: Snapshot) -> Line:
    """Return the state of the pause; empty if the session is not paused."""
    if snapshot.is_running_to_change:
        return line(Span("running to a change", Role.WARNING))
    if not snapshot.is_paused:
        return EMPTY
    if snapshot.stopped_by is None:
        return line(muted("paused"))
    return line(Span("stopped", Role.WARNING))


class StepChange(Struct, frozen=True):
    """One value before and after a step."""

    name: str
    before: str
    after: str


def step_lines(
    snapshot: Snapshot,
    journal: Sequence[JournalEntry],
    names: Mapping[str, str],
    view: View,
) -> Iterator[Line]:
    """Yield effect, changes and events of the last step or run to a change.

    `journal` has at least the newest entries; those since the step are its effects.
    """
    step = snapshot.last_step
    if step is None:
        yield line(muted(NOTHING_YET))
        return
    keys = (step.key,) if step.key else changed_probes(step.pods, snapshot.pods)
    if not keys:
        yield line(muted("Nothing has changed yet."))
        return
    fresh = [entry for entry in journal if entry.sequence > step.sequence]
    for key in keys:
        if len(keys) > 1:
            yield _subject(key, names, view)
        tick = _decisive_tick(fresh, key)
        if tick is not None:
            yield _effect_line(tick)
        before, after = find_probe(step.pods, key), find_probe(snapshot.pods, key)
        if before is not None and after is not None:
            yield from _change_lines(step_changes(before, after, tick))
    label = "events"
    for text in _events(fresh, set(keys)):
        yield line(muted(label.ljust(VALUES_AT)), view.safe(text))
        label = ""


def step_subject(snapshot: Snapshot, names: Mapping[str, str], view: View) -> Line:
    """Return the name of the last step's probe; empty unless it is exactly one."""
    step = snapshot.last_step
    if step is None:
        return EMPTY
    keys = (step.key,) if step.key else changed_probes(step.pods, snapshot.pods)
    return _subject(keys[0], names, view) if len(keys) == 1 else EMPTY


def _subject(key: ProbeKey, names: Mapping[str, str], view: View) -> Line:
    name = view.safe(object_name(names, key.pod_uid, key.container_name))
    return line(name, f" {key.probe_type.lower()}")


def step_changes(
    before: SteppedProbe, after: SteppedProbe, tick: TickEntry | None = None
) -> Iterator[StepChange]:
    """Yield the values of a probe and its container before and after a tick."""
    reset = f"{_counted(tick)}, reset to 0" if tick and tick.result else ""
    is_reset = reset and not after.probe.result_run
    yield StepChange(
        "result run", _run(before.probe), reset if is_reset else _run(after.probe)
    )
    yield StepChange("stored result", _stored(before.probe), _stored(after.probe))
    yield StepChange("on hold", _yes(before.probe.on_hold), _yes(after.probe.on_hold))
    yield StepChange(
        "ready / started", _flags(before.container), _flags(after.container)
    )
    yield StepChange(
        "restart count", _restarts(before.container), _restarts(after.container)
    )
    backoff = StepChange(
        "back-off", _backoff(before.container), _backoff(after.container)
    )
    if {backoff.before, backoff.after} != {_NO_BACKOFF}:
        yield backoff


class SteppedProbe(Struct, frozen=True):
    """A container and one of its probes, at one instant."""

    container: ContainerSnapshot
    probe: ProbeSnapshot


def find_probe(pods: Iterable[PodSnapshot], key: ProbeKey) -> SteppedProbe | None:
    """Return the probe with a key and its container, or None."""
    for pod in pods:
        if pod.pod.uid == key.pod_uid:
            for container in pod.containers:
                for probe in container.probes:
                    if probe.key == key:
                        return SteppedProbe(container, probe)
    return None


def changed_probes(
    before: Iterable[PodSnapshot], after: Iterable[PodSnapshot]
) -> tuple[ProbeKey, ...]:
    """Return the probes of which more than the result run has changed."""
    known = {snapshot.pod.uid: snapshot for snapshot in before}
    changed = []
    for pod in after:
        earlier = known.get(pod.pod.uid)
        if earlier is None or earlier is pod:
            continue
        for container in pod.containers:
            for probe in container.probes:
                old = find_probe((earlier,), probe.key)
                new = SteppedProbe(container, probe)
                if old is not None and _differ(old, new):
                    changed.append(probe.key)
    return tuple(changed)


def _differ(before: SteppedProbe, after: SteppedProbe) -> bool:
    return any(
        change.before != change.after
        for change in step_changes(before, after)
        if change.name != "result run"
    )


def _decisive_tick(entries: Sequence[JournalEntry], key: ProbeKey) -> TickEntry | None:
    """Return the probe's last tick that had an effect, or else its last tick."""
    ticks = [
        entry for entry in entries if isinstance(entry, TickEntry) and entry.key == key
    ]
    acted = [tick for tick in ticks if report_tick(tick).has_effect]
    return next(iter([*acted[-1:], *ticks[-1:]]), None)


def _effect_line(tick: TickEntry) -> Line:
    report = report_tick(tick)
    if not report.has_effect:
        return line(muted("tick".ljust(VALUES_AT)), report.summary)
    label = muted("effect".ljust(VALUES_AT))
    counted = muted(f"  {report.counted}" if report.counted else "")
    return line(label, Span(report.effect.text, report.effect.role), counted)


def _change_lines(changes: Iterable[StepChange]) -> Iterator[Line]:
    """Yield a line for each change, and one for all unchanged values."""
    same = []
    for change in changes:
        if change.before == change.after:
            same.append(f"{change.name} {change.after}")
        else:
            yield line(
                muted(change.name.ljust(VALUES_AT)),
                change.before,
                muted(" -> "),
                Span(change.after, Role.ACCENT),
            )
    if same:
        yield line(muted(f"{'unchanged':<{VALUES_AT}}{', '.join(same)}"))


def _events(entries: Iterable[JournalEntry], keys: set[ProbeKey]) -> Iterator[str]:
    containers = {key[:2] for key in keys}
    for entry in entries:
        if not isinstance(entry, EventEntry):
            continue
        event = entry.event
        if (event.pod_uid, event.container_name) in containers:
            yield f"{event.type} {event.reason}  {event.message}"


def _ahead(upcoming: Upcoming, view: View) -> str:
    left = upcoming.at - view.now
    # Countdowns are cut to tenths: below one, "+0.0s" would be another word for now.
    return "now" if left < _SHORTEST_COUNTDOWN else f"+{format_countdown(left)}"


def _clock(upcoming: Upcoming, snapshot: Snapshot, view: View) -> str:
    """Format the time of an event on the clock that the header shows."""
    if snapshot.playback is not None:
        return format_stopwatch(upcoming.at - snapshot.started_at)
    return view.times.clock(upcoming.at)


def _name(upcoming: Upcoming, names: Mapping[str, str], view: View) -> str:
    return view.safe(object_name(names, upcoming.pod_uid, upcoming.container_name))


def _action(upcoming: Upcoming, snapshot: Snapshot, view: View) -> Line:
    """Describe an upcoming event: its kind, and what a tick will do."""
    kind, effect = _KINDS[upcoming.what], _describe_tick(upcoming, snapshot, view)
    gap = "  " if kind and effect else ""
    role = Role.MUTED if effect.startswith(_SKIP) else Role.PLAIN
    return line(Span(kind, _role(upcoming)), gap, Span(effect, role))


def _role(upcoming: Upcoming) -> Role:
    if upcoming.what is UpcomingKind.HELD_RESULT:
        return Role.KILL
    return Role.PLAIN if upcoming.is_step else Role.MUTED


def _describe_tick(upcoming: Upcoming, snapshot: Snapshot, view: View) -> str:
    """Describe what a tick will do: run its handler, or skip for a reason."""
    if upcoming.probe_type is None or not upcoming.is_step:
        return ""
    key = ProbeKey(upcoming.pod_uid, upcoming.container_name, upcoming.probe_type)
    stepped = find_probe(snapshot.pods, key)
    if stepped is None:
        return ""
    probe = stepped.probe
    if upcoming.what is UpcomingKind.HELD_RESULT:
        return "would kill"
    if reason := upcoming_skip_text(probe):
        return f"{_SKIP}{reason}"
    if probe.injections:
        return f"injected: {probe.injections[0]}"
    late = f", answered {format_duration(probe.delay)} late" if probe.delay else ""
    return f"{format_handler(probe.probe, view)}{late}"


def _fixed(text: str, cells: int) -> str:
    return f"{text[: cells - 1]:<{cells}}"


def _counted(tick: TickEntry) -> str:
    word = "" if tick.result is None else f"{tick.result.name.lower()} "
    return f"{word}{run_count(tick)} of {tick.run.threshold}"


def _run(probe: ProbeSnapshot) -> str:
    if not probe.result_run:
        return "0"
    run, limit = probe.result_run, threshold(probe, probe.last_result)
    counted = f"{run} of {limit}" if run <= limit else f"{run}"
    return f"{probe.last_result.name.lower()} {counted}"


def _stored(probe: ProbeSnapshot) -> str:
    return "none" if probe.stored_result is None else str(probe.stored_result)


def _yes(flag: bool) -> str:  # noqa: FBT001  # the flag is what is formatted
    return "yes" if flag else "no"


def _flags(container: ContainerSnapshot) -> str:
    status = container.status
    if status is None:
        return "no / no"
    return f"{_yes(status.ready)} / {_yes(status.has_started)}"


def _restarts(container: ContainerSnapshot) -> str:
    return "-" if container.status is None else str(container.status.restart_count)


def _backoff(container: ContainerSnapshot) -> str:
    backoff = container.backoff
    waits = backoff is not None and backoff.until is not None
    return "waits" if waits else _NO_BACKOFF
