"""Draw one line for each instance of a container: ticks, times, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import zip_longest

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.container_history import (
    ContainerHistory,
    ContainerInstance,
    InstanceRun,
)
from probetui.analysis.timeline import InstanceTicks, Timeline
from probetui.durations import format_age
from probetui.k8s.runtime import NO_CONTAINER
from probetui.kubelet.journal import ExitCause
from probetui.presentation.container.exits import (
    NEVER_STARTED,
    is_after_grace,
    may_be_stopped_by_others,
    never_started,
    signal_name,
)
from probetui.presentation.text.spans import (
    EMPTY,
    LABEL,
    Line,
    Role,
    Span,
    line,
    muted,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.strips import NOW, TickStrip, fold_ticks

_KILLED = {
    ExitCause.LIVENESS: "killed by liveness",
    ExitCause.STARTUP: "killed by startup",
    ExitCause.USER: "stopped by you",
    ExitCause.DELETE: "pod deleted",
    ExitCause.DEFINITION: "spec changed",
    ExitCause.POD: "pod stopped",
    ExitCause.POST_START_HOOK: "postStart hook failed",
    ExitCause.RESTART_ALL: "all restarted",
    ExitCause.UNSEEN: "ended before it was watched",
    ExitCause.UNKNOWN: "ended, not by its probe",
    ExitCause.UNCERTAIN: "may have been killed by its probe",
}
_LEAST_STRIP = 12
_LEAST_WORDS = 34
_GAP = "  "
_WIDE = 90
"""The least width, in cells, at which labels say `instance` instead of `inst`."""

_LONG, _SHORT = LABEL, 9
_NAMES = {_LONG: "instance", _SHORT: "inst"}

_EVEN = 5
"""Starts are evenly apart if the times between them differ by a fifth at most."""
_LATEST = 3
_MINUTE = timedelta(minutes=1)

_Rows = Sequence[tuple[ContainerInstance | None, InstanceTicks | None]]


def format_instance(
    instance: ContainerInstance, view: View, following: ContainerInstance | None = None
) -> str:
    """Format times and end: `08:19:10-08:20:25  exited by itself, exit 1`.

    An exit is seen late, so the creation of the following instance limits its time.
    """
    started_at = instance.started_at or instance.created_at
    start = "before" if started_at is None else view.times.clock(started_at)
    exited = instance.exited
    if exited is None:
        later = ", or a newer one" if instance.or_newer else ""
        ended = "" if instance.stopping is None else f"{_GAP}being stopped{later}"
        return f"{start}-now{ended}"
    signal = signal_name(exited.exit_code or 0, exited.signal)
    itself = "exited" if may_be_stopped_by_others(signal) else "exited by itself"
    if never_started(exited):
        itself = NEVER_STARTED
    by = _KILLED.get(exited.by or ExitCause.ITSELF, itself)
    known = "" if exited.exit_code is None else f", exit {exited.exit_code}"
    memory = ", out of memory" if exited.oom_killed else ""
    ended_at = exited.at
    if following is not None and following.created_at is not None:
        ended_at = min(ended_at, following.created_at)
    return f"{start}-{view.times.clock(ended_at)}{_GAP}{by}{known}{memory}"


def format_run(run: InstanceRun, view: View) -> str:
    """Format a line about instances that ended alike, or about one.

    `1-18  08:19:10-09:40:25  every ~5m, each exited by itself, exit 1`
    """
    last = format_instance(run.last, view)
    if not run.is_folded:
        return f"{run.last.number}{_GAP}{last}"
    started, _, _ = format_instance(run.first, view).partition("-")
    times, _, ended = last.partition(_GAP)
    _, _, ended_at = times.partition("-")
    return (
        f"{run.first.number}-{run.last.number}{_GAP}{started}-{ended_at}{_GAP}"
        f"{format_intervals(run.intervals)}each {ended}"
    )


def format_intervals(intervals: Sequence[timedelta]) -> str:
    """Format how far starts are apart, empty if that is unknown.

    Back-off grows to a limit: then only the last ones are evenly apart.
    """
    if not intervals:
        return ""
    if _are_even(intervals):
        return f"every ~{_typical(intervals)}, "
    if len(intervals) > _LATEST and _are_even(intervals[-_LATEST:]):
        return f"lately every ~{_typical(intervals[-_LATEST:])}, "
    return f"{format_age(min(intervals))} to {format_age(max(intervals))} apart, "


def _are_even(intervals: Sequence[timedelta]) -> bool:
    return max(intervals) - min(intervals) <= max(intervals) / _EVEN


def _typical(intervals: Sequence[timedelta]) -> str:
    """Format the median, of minutes without seconds: `5m`, not `5m02s`."""
    middle = sorted(intervals)[len(intervals) // 2]
    minutes = round(middle / _MINUTE)
    return f"{minutes}m" if middle >= 2 * _MINUTE else format_age(middle)


class InstanceRow(Struct, frozen=True):
    """A line about one instance; `strip` begins at `column` of it."""

    spans: Line
    strip: TickStrip = TickStrip(EMPTY)
    column: int = 0

    def tick_at(self, column: int) -> int | None:
        """Return the tick at a column of the line, None if there is none."""
        return self.strip.tick_at(column - self.column)


def instance_rows(
    timeline: Timeline,
    history: ContainerHistory,
    view: View,
    width: int,
    most: int,
    *,
    cursor: int | None = None,
    period_seconds: int | None = 1,
) -> list[InstanceRow]:
    """Return a row for each of the last `most` instances, newest last.

    Args:
        timeline: the ticks of the probe.
        history: the instances of the container.
        view: how they are shown.
        width: of a row, in cells.
        most: the most rows of instances.
        cursor: the selected tick, whose instance is then the last row.
        period_seconds: the probe's period; None without a probe.
    """
    rows: _Rows = _rows(timeline.generations(), history)
    if cursor is not None:
        rows = _rows_up_to(rows, cursor)
    elif any(map(_is_an_instance, rows)):
        rows = [row for row in rows if _is_an_instance(row)]
    shown = rows[-most:]
    result = [] if len(shown) == len(rows) else _count_of_earlier(rows[:-most])
    label = _LONG if width >= _WIDE else _SHORT
    room = max(width - label - len(_GAP) - _LEAST_WORDS, _LEAST_STRIP)
    strips = [
        _no_ticks(instance, period_seconds)
        if generation is None or period_seconds is None
        else _strip(timeline, generation, view, room, cursor, period_seconds)
        for instance, generation in shown
    ]
    longest = max((_strip_width(strip) for strip in strips), default=0)
    room = width - label - longest - len(_GAP)
    followers = [instance for instance, _ in shown[1:]]
    for (instance, generation), following, strip in zip_longest(
        shown, followers, strips
    ):
        description = _describe(instance, generation, view, following, room)
        dropped = _dropped_ticks(strip)
        number = "-" if instance is None else str(instance.number)
        name = f"{_NAMES[label]} {number}".ljust(label)
        padding = " " * (longest - _strip_width(strip)) + _GAP
        spans = line(muted(name), muted(dropped), *strip.spans, padding, *description)
        result.append(InstanceRow(spans, strip, label + len(dropped)))
    return result


def _rows_up_to(rows: _Rows, cursor: int) -> _Rows:
    """Return the rows up to the one with the selected tick."""
    for index, (_, generation) in enumerate(rows):
        if generation is not None and cursor in generation.ticks:
            return rows[: index + 1]
    return rows


def _count_of_earlier(rows: _Rows) -> list[InstanceRow]:
    count = sum(_is_an_instance(row) for row in rows)
    if not count:
        return []
    return [
        InstanceRow(line(muted(f"{count} earlier instance{'' if count == 1 else 's'}")))
    ]


def _dropped_ticks(strip: TickStrip) -> str:
    return f"+{strip.dropped} " if strip.dropped else ""


def _strip_width(strip: TickStrip) -> int:
    return len(_dropped_ticks(strip)) + len(text_of(strip.spans))


def _rows(
    generations: Sequence[InstanceTicks], history: ContainerHistory
) -> list[tuple[ContainerInstance | None, InstanceTicks | None]]:
    """Pair instances with the ticks that saw them; either may be missing."""
    rest = {generation.container_id: generation for generation in generations}
    rows: list[tuple[ContainerInstance | None, InstanceTicks | None]] = []
    if NO_CONTAINER in rest:
        rows.append((None, rest.pop(NO_CONTAINER)))
    known = {instance.container_id for instance in history.instances}
    rows += [(None, generation) for key, generation in rest.items() if key not in known]
    rows += [
        (instance, rest.get(instance.container_id)) for instance in history.instances
    ]
    return rows


def _is_an_instance(row: tuple[ContainerInstance | None, InstanceTicks | None]) -> bool:
    """Return whether a row has a container, not only the ticks before the first one."""
    instance, generation = row
    return instance is not None or (
        generation is not None and generation.container_id != NO_CONTAINER
    )


def _no_ticks(
    instance: ContainerInstance | None, period_seconds: int | None
) -> TickStrip:
    """Return the text in place of ticks; a running instance may still get some."""
    if period_seconds is None:
        return TickStrip(line(muted("no probe")))
    is_over = instance is None or instance.exited is not None
    return TickStrip(line(muted("no tick saw it" if is_over else "no tick yet")))


def _strip(
    timeline: Timeline,
    generation: InstanceTicks,
    view: View,
    width: int,
    cursor: int | None,
    period_seconds: int,
) -> TickStrip:
    def folded(room: int) -> TickStrip:
        return fold_ticks(
            timeline,
            generation.ticks,
            view,
            max(room, 1),
            cursor=cursor,
            period_seconds=period_seconds,
        )

    is_newest = generation.ticks.stop == timeline.indexes.stop
    now = NOW if is_newest else ""
    strip = folded(width - len(now))
    if strip.dropped:
        strip = folded(width - len(now) - len(f"+{strip.dropped} "))
    if is_newest and not strip.newer:
        return replace(strip, spans=(*strip.spans, muted(NOW)))
    return strip


def _describe(
    instance: ContainerInstance | None,
    generation: InstanceTicks | None,
    view: View,
    following: ContainerInstance | None,
    width: int,
) -> Line:
    """Format times and end of an instance; parts that do not fit are left out."""
    if instance is None:
        known = NO_CONTAINER if generation is None else generation.container_id
        return line(muted("started earlier" if known else "no container yet"))
    role = Role.PLAIN if instance.exited is None else Role.MUTED
    description = ""
    for part in _description_parts(instance, view, following):
        if description and len(description) + len(part) > width:
            break
        description += part
    return line(Span(description, role))


def _description_parts(
    instance: ContainerInstance, view: View, following: ContainerInstance | None
) -> Iterator[str]:
    """Yield times, who ended it, exit code, grace period and back-off."""
    times, gap, ended = format_instance(instance, view, following).partition(_GAP)
    by, _, code = ended.partition(", ")
    yield times
    yield f"{gap}{by}"
    exited = instance.exited
    if exited is None:
        return
    yield f", {code}"
    if is_after_grace(exited):
        yield f" after {exited.grace_period_seconds}s grace"
    if following is not None and following.waited is not None:
        yield f", {format_age(following.waited.window)} back-off"
    elif following is not None:
        yield ", no back-off"
