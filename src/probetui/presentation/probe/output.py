"""What a probe printed: of one tick in full, or of the last ticks one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probetui.analysis.timeline import Timeline
from probetui.engine.snapshot import ProbeSnapshot
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Attempt, HTTPAnswer
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES
from probetui.presentation.container.detail import Subject
from probetui.presentation.probe.detail import last_run_line, output_text
from probetui.presentation.text.cells import all_lines, format_bytes
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line, muted
from probetui.presentation.text.view import View
from probetui.presentation.tick.trace import format_attempt_line


def shown_tick(subject: Subject) -> TickEntry | None:
    """Return the tick at the cursor, else the last one that probed."""
    if subject.cursor is not None:
        return subject.tick
    return None if subject.probe is None else subject.probe.last_run


def output_lines(tick: TickEntry | None, view: View) -> list[Line]:
    """Return all that a tick's attempts said, at most the 10 KiB that are kept."""
    if tick is None:
        return [line(muted("not probed yet"))]
    if not tick.attempts:
        return [line(muted("the probe did not run in this tick: no output"))]
    return [
        row
        for number, attempt in enumerate(tick.attempts, start=1)
        for row in _attempt(number, attempt, view)
    ]


def _attempt(number: int, attempt: Attempt, view: View) -> Iterator[Line]:
    which = f"attempt {number}/{MAX_PROBE_RETRIES}  "
    yield line(Span(which, Role.STRONG), *format_attempt_line(attempt, view))
    text = all_lines(view.mask.text(output_text(attempt)))
    if attempt.error is not None and text == [view.safe(attempt.error)]:
        # The line above has all of it.
        text = []
    elif not text:
        text = ["(no output)"]
    for row in text:
        yield line(f"  {row}")
    if attempt.http is not None:
        yield from _answer(attempt.http, view)
    yield EMPTY


def _answer(answer: HTTPAnswer, view: View) -> Iterator[Line]:
    """Yield the whole HTTP answer; a cluster's event has only a part of it."""
    for redirect in answer.redirects:
        yield line(muted("followed  "), view.safe(redirect))
    yield line(muted("status    "), str(answer.status))
    for header in answer.headers:
        value = view.mask.value(header.name, header.value)
        yield line(muted("header    "), view.safe(f"{header.name}: {value}"))
    if answer.cut_bytes:
        yield line(
            muted("cut: "), f"{format_bytes(answer.cut_bytes)} of headers and redirects"
        )
    for index, all_line in enumerate(all_lines(view.mask.text(answer.body))):
        yield line(muted("body      " if index == 0 else " " * 10), all_line)


_MARGIN = "  "


def earlier_lines(subject: Subject, tick: TickEntry, view: View) -> Iterator[Line]:
    """Yield the runs of a probe before a tick that are in sight, the newest first."""
    history = () if subject.probe is None else subject.probe.history
    earlier = [other for other in history if other.attempts and other.n < tick.n]
    if earlier:
        yield line(muted("before it, newest first"))
    for other in reversed(earlier):
        yield from output_block(other, view)


_MOST_TICKS_BACK = 50


def output_blocks(
    probe: ProbeSnapshot, view: View, timeline: Timeline | None = None
) -> Iterator[Line]:
    """Yield every run of a probe that is in sight, the newest first.

    The snapshot of a probe without a worker has none; its timeline has.
    """
    ticks: Iterable[TickEntry | None] = reversed(probe.history)
    if not probe.history and timeline is not None:
        newest = timeline.indexes[-_MOST_TICKS_BACK:]
        ticks = (timeline.tick(index) for index in reversed(newest))
    for tick in ticks:
        if tick is not None and tick.attempts:
            yield from output_block(tick, view)


def output_block(tick: TickEntry, view: View) -> Iterator[Line]:
    """Yield when a probe ran, how it ended, and everything it printed."""
    stamp = view.times.stamp(tick.timing.started_at)
    text = all_lines(view.mask.text(output_text(tick.attempts[-1])))
    nothing = () if text else (muted("  no output"),)
    heading = muted(f"probe #{tick.n}  {stamp}  ")
    yield line(heading, *last_run_line(tick, view), *nothing)
    for all_line in text:
        yield line(Span(f"{_MARGIN}{all_line}"))
