"""The detail pane: a container and one of its probes, in five lines or in full."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.container_history import NO_HISTORY, ContainerHistory
from probetui.analysis.reproduce import reproduce_command
from probetui.analysis.timeline import Timeline
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot, ProbeSnapshot
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import TickEntry
from probetui.presentation.container.instances import instance_lines
from probetui.presentation.container.status_lines import (
    container_lines,
    format_backoff_wait,
    format_stopping,
    operation_lines,
)
from probetui.presentation.container.table import probe_of
from probetui.presentation.probe.detail import (
    count_line,
    diagnostic_lines,
    last_output_line,
    latency_line,
    limit_text,
    outlook_lines,
    output_lines,
    run_line,
    settings_lines,
    stamped_tick_reason,
    standing_lines,
    stored_result_span,
    timing_lines,
)
from probetui.presentation.probe.next_failure import (
    format_next_failure,
    next_failure_of,
)
from probetui.presentation.probe.state import (
    format_handler,
    format_timing_briefly,
    override_spans,
    probe_badge,
)
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    labelled,
    line,
    muted,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import PROBE_LETTERS
from probetui.presentation.tick.report import report_tick
from probetui.presentation.tick.strips import short_strip, strip_lines

_STORED_COLUMN = 38
_HOLD_COLUMN = 65
_MOST_OUTPUT_LINES = 4
_MOST_TICKS_BACK = 100
_TALL = 24
"""Lines from which on there is room for more than what matters."""
_WIDE = 70
_SEVERAL, _LIVES = 2, 3


class Subject(Struct, frozen=True):
    """The selected container and probe; `probe` is None for a container without any.

    `timeline` has all ticks of the session, without it those of the snapshot do;
    `cursor` is the number of the selected tick, None for the newest one.
    """

    pod: PodSnapshot
    container: ContainerSnapshot
    probe: ProbeSnapshot | None
    timeline: Timeline | None = None
    cursor: int | None = None
    history: ContainerHistory = NO_HISTORY

    @property
    def ticks(self) -> Timeline:
        """All ticks of the probe that are known."""
        if self.timeline is not None:
            return self.timeline
        return Timeline.of(() if self.probe is None else self.probe.history)

    @property
    def tick(self) -> TickEntry | None:
        """The selected tick: the one at the cursor, else the newest."""
        if self.cursor is not None:
            return self.ticks.tick(self.cursor)
        if self.probe is None:
            return None
        if self.probe.history:
            return self.probe.history[-1]
        # A worker that has left takes its history along.
        indexes = self.ticks.indexes
        return self.ticks.tick(indexes[-1]) if indexes else None


def with_last_run(probe: ProbeSnapshot, timeline: Timeline) -> ProbeSnapshot:
    """Return a probe with its last run, also when its worker has left.

    Only the session's ticks know of it then.
    """
    if probe.worker_alive or probe.last_run is not None:
        return probe
    for index in reversed(timeline.indexes[-_MOST_TICKS_BACK:]):
        tick = timeline.tick(index)
        if tick is not None and tick.attempts:
            return replace(probe, last_run=tick)
    return probe


def choose_probe(
    container: ContainerSnapshot, wanted: ProbeType | None
) -> ProbeSnapshot | None:
    """Return the wanted probe if the container has it, else its first one, or None."""
    if wanted is not None and (probe := probe_of(container, wanted)) is not None:
        return probe
    return container.probes[0] if container.probes else None


def container_title(subject: Subject, view: View) -> str:
    """Return `pod/container`."""
    return view.safe(f"{subject.pod.pod.name}/{subject.container.container.name}")


def probe_tabs(subject: Subject, *, in_letters: bool) -> Line:
    """Return the container's probes, the one that is shown in brackets."""
    spans: list[Span] = []
    for probe in subject.container.probes:
        kind = probe.key.probe_type
        word = PROBE_LETTERS[kind] if in_letters else kind.lower()
        if probe is subject.probe:
            spans.append(Span(f"[{word}]", Role.STRONG))
        else:
            spans.append(muted(f" {word} "))
    return tuple(spans)


def probe_summary(subject: Subject, view: View) -> str:
    """Return handler and timing in short: `exec p5 t1 f3 d5`."""
    if subject.probe is None:
        return ""
    kind = format_handler(subject.probe.probe, view).partition(" ")[0]
    return f"{kind} {format_timing_briefly(subject.probe.probe)}"


def handler_summary(subject: Subject, view: View) -> str:
    """Return what the probe does: `exec cat /tmp/healthy`; empty without a probe."""
    return "" if subject.probe is None else format_handler(subject.probe.probe, view)


def subject_badge(subject: Subject, view: View) -> Span:
    """Return the badge of the probe that is shown; empty if there is none."""
    if subject.probe is None:
        return Span("")
    return probe_badge(subject.probe, subject.container, view)


def subject_badges(subject: Subject, view: View) -> Line:
    """Return the badge, and behind it what people have chosen for the probe."""
    if subject.probe is None:
        return EMPTY
    chosen = override_spans(subject.probe)
    return line(subject_badge(subject, view), *(_spaced(span) for span in chosen))


def _spaced(span: Span) -> Span:
    return span._replace(text=f"  {span.text}")


def why_in_short(subject: Subject) -> str:
    """Return why the last tick did what it did, without its time."""
    if subject.probe is None:
        return "no probe is defined"
    return "no tick yet" if subject.tick is None else report_tick(subject.tick).summary


def short_detail(subject: Subject, view: View, width: int) -> list[Line]:
    """Return the five lines that matter most: strip, run, last, why, next failure."""
    probe = subject.probe
    if probe is None:
        return _without_probe(subject, view)
    return [
        _strip_and_legend(subject, view, width),
        _run_and_stored(probe, view),
        _last(probe, view),
        line(muted("why  "), stamped_tick_reason(subject.tick, view)),
        _what_comes(subject, probe, view),
    ]


def full_detail(
    subject: Subject, view: View, width: int, height: int = _TALL
) -> list[Line]:
    """Return everything there is to say, the whole last output too.

    A long output comes last, so that it hides nothing. Where there is little room
    there are no empty lines; where there is much, every instance has its own strip.
    """
    pod, container, probe = subject.pod, subject.container, subject.probe
    if probe is None:
        return _without_probe(subject, view)
    failure = next_failure_of(pod.pod, container, probe, view)
    output = list(output_lines(probe, view))
    about_it = [
        *container_lines(pod, container, view),
        count_line(probe),
        latency_line(probe),
        *timing_lines(pod.pod, container, probe),
    ]
    taken = sum(1 + len(text_of(row)) // max(width, 1) for row in output)
    is_long = taken > _MOST_OUTPUT_LINES
    lines = [
        *settings_lines(probe, view),
        EMPTY,
        *_ticks(subject, probe, view, width, height),
        EMPTY,
        *operation_lines(pod, container, view),
        *standing_lines(container, probe, view),
        *diagnostic_lines(probe.key, probe.last_run, subject.history, view),
        *(() if is_long else output),
        *outlook_lines(subject.tick, failure, view),
        EMPTY,
        *about_it,
        *((EMPTY, *output) if is_long else ()),
    ]
    return lines if height >= _TALL else [row for row in lines if row]


def _ticks(
    subject: Subject, probe: ProbeSnapshot, view: View, width: int, height: int
) -> Iterator[Line]:
    """Yield all ticks in a row; with room every instance has its own."""
    period = probe.probe.period_seconds
    has_room = width >= _WIDE and height >= _TALL
    if (
        subject.cursor is not None
        or not has_room
        or len(subject.history.instances) < _SEVERAL
    ):
        yield from strip_lines(subject.ticks, subject.cursor, period, view, width)
        return
    yield from instance_lines(subject.ticks, subject.history, view, width, _LIVES)
    yield labelled("", muted(f"one mark = {period}s"))


def _without_probe(subject: Subject, view: View) -> list[Line]:
    what = (subject.pod, subject.container, view)
    return [*operation_lines(*what), *container_lines(*what)]


def _strip_and_legend(subject: Subject, view: View, width: int) -> Line:
    marks = view.marks
    ticks = short_strip(subject.ticks, subject.cursor, view, width)
    legend = (
        f"{marks.success}ok {marks.failure}fail {marks.kill} kill {marks.hold} hold "
        f"{marks.new_container} new {marks.delay} delay"
    )
    gap = width - len(text_of(ticks)) - len(legend)
    return line(*ticks, muted(" " * gap + legend if gap > 1 else ""))


def _run_and_stored(probe: ProbeSnapshot, view: View) -> Line:
    run = line(muted("run  "), *run_line(probe, view), limit_text(probe))
    stored = line(muted("stored result  "), stored_result_span(probe))
    hold = Span("yes", Role.HOLD) if probe.on_hold else Span("no")
    return (
        *_padded(run, _STORED_COLUMN),
        *_padded(stored, _HOLD_COLUMN - _STORED_COLUMN),
        muted("hold  "),
        hold,
    )


def _padded(spans: Line, width: int) -> Line:
    """Fill up to a column with spaces, at least two; only for words of our own."""
    return (*spans, Span(" " * max(width - len(text_of(spans)), 2)))


def _last(probe: ProbeSnapshot, view: View) -> Line:
    return line(muted("last "), *last_output_line(probe, view))


def _what_comes(subject: Subject, probe: ProbeSnapshot, view: View) -> Line:
    """Return the kill or the wait that is under way, else what a failure would do."""
    if words := format_stopping(subject.container, view):
        return line(muted("kill "), Span(words, Role.WARNING))
    if words := format_backoff_wait(subject.container, view):
        return line(muted("wait "), Span(words, Role.ERROR))
    if subject.pod.operation:
        doing = Span(view.safe(subject.pod.operation), Role.ACCENT)
        return line(muted("doing "), doing)
    failure = next_failure_of(subject.pod.pod, subject.container, probe, view)
    return line(muted("next fail: "), format_next_failure(failure))


def subject_command(subject: Subject, view: View) -> str:
    """Return the command for what is chosen, harmless; empty without a probe."""
    container, probe = subject.container, subject.probe
    if probe is None:
        return ""
    status = container.status
    return reproduce_command(
        container.container,
        probe.probe,
        ContainerID(status.container_id if status else ""),
        subject.pod.status.pod_ip,
        mask=view.mask,
        reach=view.reach,
        rules=view.rules,
    )
