"""One container and one of its probes: the five lines that matter, or all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.snapshot import ContainerSnapshot, PodSnapshot, ProbeSnapshot
from probetui.presentation.container_detail import (
    container_lines,
    labelled,
    stopping_words,
    under_way,
    waiting_words,
)
from probetui.presentation.containers import probe_of
from probetui.presentation.generations import generation_lines
from probetui.presentation.latency import latency_line, timing_lines
from probetui.presentation.lives import NO_PAST, ContainerPast
from probetui.presentation.marks import PROBE_LETTERS
from probetui.presentation.probe_detail import (
    believed,
    count_line,
    last_words,
    limit_words,
    outlook_lines,
    output_lines,
    output_text,
    run_words,
    settings_lines,
    standing_lines,
    why_words,
)
from probetui.presentation.probes import (
    badge,
    choices,
    handler_words,
    timing_letters,
)
from probetui.presentation.sentences import next_failure, why
from probetui.presentation.sightings import sighting_lines
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, text_of
from probetui.presentation.strips import short_strip, strip_lines
from probetui.presentation.timeline import Timeline
from probetui.presentation.view import View

_STORED_COLUMN = 38
_HOLD_COLUMN = 65
_MOST_OUTPUT_LINES = 4
_MOST_TICKS_BACK = 100
_TALL = 24
"""Lines from which on there is room for more than what matters."""
_WIDE = 70
_SEVERAL, _LIVES = 2, 3


@dataclass(frozen=True, slots=True)
class Subject:
    """What the detail is about; `probe` is None for a container without any.

    `timeline` has all ticks of the session, without it those of the snapshot do;
    `cursor` is the number of the one that is looked at, None for the newest one.
    """

    pod: PodSnapshot
    container: ContainerSnapshot
    probe: ProbeSnapshot | None
    timeline: Timeline | None = None
    cursor: int | None = None
    past: ContainerPast = NO_PAST

    @property
    def ticks(self) -> Timeline:
        """All ticks of the probe that are known."""
        if self.timeline is not None:
            return self.timeline
        return Timeline.of(() if self.probe is None else self.probe.history)

    @property
    def tick(self) -> TickEntry | None:
        """The tick that is looked at: the one at the cursor, else the newest."""
        if self.cursor is not None:
            return self.ticks.tick(self.cursor)
        if self.probe is None:
            return None
        if self.probe.history:
            return self.probe.history[-1]
        # A worker that has left takes its history along.
        indexes = self.ticks.indexes
        return self.ticks.tick(indexes[-1]) if indexes else None


def remembered(probe: ProbeSnapshot, timeline: Timeline) -> ProbeSnapshot:
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


def title(subject: Subject, view: View) -> str:
    """Return `pod/container`."""
    return view.safe(f"{subject.pod.pod.name}/{subject.container.container.name}")


def tabs(subject: Subject, *, in_letters: bool) -> Line:
    """Return the container's probes, the one that is shown in brackets."""
    spans: list[Span] = []
    for each in subject.container.probes:
        kind = each.key.probe_type
        word = PROBE_LETTERS[kind] if in_letters else kind.lower()
        if each is subject.probe:
            spans.append(Span(f"[{word}]", Role.STRONG))
        else:
            spans.append(muted(f" {word} "))
    return tuple(spans)


def summary(subject: Subject, view: View) -> str:
    """Return handler and timing in short: `exec p5 t1 f3 d5`."""
    if subject.probe is None:
        return ""
    kind = handler_words(subject.probe.probe, view).partition(" ")[0]
    return f"{kind} {timing_letters(subject.probe.probe)}"


def handler(subject: Subject, view: View) -> str:
    """Return what the probe does: `exec cat /tmp/healthy`; empty without a probe."""
    return "" if subject.probe is None else handler_words(subject.probe.probe, view)


def badge_of(subject: Subject, view: View) -> Span:
    """Return the badge of the probe that is shown; empty if there is none."""
    if subject.probe is None:
        return Span("")
    return badge(subject.probe, subject.container, view)


def badges_of(subject: Subject, view: View) -> Line:
    """Return the badge, and behind it what people have chosen for the probe."""
    if subject.probe is None:
        return EMPTY
    chosen = choices(subject.probe)
    return line(badge_of(subject, view), *(_spaced(each) for each in chosen))


def _spaced(span: Span) -> Span:
    return span._replace(text=f"  {span.text}")


def why_in_short(subject: Subject) -> str:
    """Return why the last tick did what it did, without its time."""
    if subject.probe is None:
        return "no probe is defined"
    return "no tick yet" if subject.tick is None else why(subject.tick)


def short_detail(subject: Subject, view: View, width: int) -> list[Line]:
    """Return the five lines that matter most: strip, run, last, why, next failure."""
    probe = subject.probe
    if probe is None:
        return _without_probe(subject, view)
    return [
        _strip_and_legend(subject, view, width),
        _run_and_stored(probe, view),
        _last(probe, view),
        line(muted("why  "), why_words(subject.tick, view)),
        _what_comes(subject, probe, view),
    ]


def full_detail(
    subject: Subject, view: View, width: int, height: int = _TALL
) -> list[Line]:
    """Return everything there is to say, the whole last output too.

    A long output comes last, so that it hides nothing. Where there is little room
    there are no empty lines; where there is much, each life has its own strip.
    """
    pod, container, probe = subject.pod, subject.container, subject.probe
    if probe is None:
        return _without_probe(subject, view)
    failure = next_failure(pod.pod, container, probe, view)
    output = list(output_lines(probe, view))
    about_it = [
        *container_lines(pod, container, view),
        count_line(probe),
        latency_line(probe),
        *timing_lines(pod.pod, container, probe),
    ]
    taken = sum(1 + len(text_of(each)) // max(width, 1) for each in output)
    is_long = taken > _MOST_OUTPUT_LINES
    lines = [
        *settings_lines(probe, view),
        EMPTY,
        *_ticks(subject, probe, view, width, height),
        EMPTY,
        *under_way(pod, container, view),
        *standing_lines(container, probe, view),
        *sighting_lines(probe.key, probe.last_run, subject.past, view),
        *(() if is_long else output),
        *outlook_lines(subject.tick, failure, view),
        EMPTY,
        *about_it,
        *((EMPTY, *output) if is_long else ()),
    ]
    return lines if height >= _TALL else [each for each in lines if each]


def _ticks(
    subject: Subject, probe: ProbeSnapshot, view: View, width: int, height: int
) -> Iterator[Line]:
    """Yield all ticks in a row; with room each life of the container has its own."""
    period = probe.probe.period_seconds
    has_room = width >= _WIDE and height >= _TALL
    if subject.cursor is not None or not has_room or len(subject.past.lives) < _SEVERAL:
        yield from strip_lines(subject.ticks, subject.cursor, period, view, width)
        return
    yield from generation_lines(subject.ticks, subject.past, view, width, _LIVES)
    yield labelled("", muted(f"one mark = {period}s"))


def _without_probe(subject: Subject, view: View) -> list[Line]:
    what = (subject.pod, subject.container, view)
    return [*under_way(*what), *container_lines(*what)]


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
    run = line(muted("run  "), *run_words(probe, view), limit_words(probe))
    stored = line(muted("stored result  "), believed(probe))
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
    tick = probe.last_run
    if tick is None or not tick.attempts:
        return line(muted("last "), "not probed yet")
    output = view.safe(output_text(tick.attempts[-1]))
    return line(
        muted("last "), *last_words(tick, view), "  ", Span(output, Role.STRONG)
    )


def _what_comes(subject: Subject, probe: ProbeSnapshot, view: View) -> Line:
    """Return the kill or the wait that is under way, else what a failure would do."""
    if words := stopping_words(subject.container, view):
        return line(muted("kill "), Span(words, Role.WARNING))
    if words := waiting_words(subject.container, view):
        return line(muted("wait "), Span(words, Role.ERROR))
    if subject.pod.operation:
        doing = Span(view.safe(subject.pod.operation), Role.ACCENT)
        return line(muted("doing "), doing)
    failure = next_failure(subject.pod.pod, subject.container, probe, view)
    return line(muted("next fail: "), failure.sentence)
