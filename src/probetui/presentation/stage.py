"""One probe for an audience: countdown, meter, plot, steps of a kill, a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import repeat

from msgspec import Struct

from probetui.analysis.causes.cause import WhyAnswer
from probetui.analysis.lanes import LaneCell
from probetui.analysis.next_failure import FailureEffect
from probetui.durations import format_countdown
from probetui.kubelet.outcome import Result
from probetui.presentation.cause.answer import answer_clause
from probetui.presentation.container.detail import Subject
from probetui.presentation.lanes import LaneMarks, plot_lines
from probetui.presentation.outlook import next_failure_of
from probetui.presentation.probe.verdict import own_verdict, verdict_of
from probetui.presentation.text.meters import wide_segments
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line, muted
from probetui.presentation.text.view import View

_CELL = 2
"""The characters of a cell of the plot, which is seen from the last row of seats."""

_KILLS = {FailureEffect.KILL, FailureEffect.WOULD_KILL}


class StageCountdown(Struct, frozen=True):
    """What comes, and the digits of the time until then; `--` while it is unknown."""

    caption: str
    digits: str
    role: Role


def stage_countdown(subject: Subject, view: View) -> StageCountdown:
    """Return what comes next of a probe and its container, and when."""
    container, probe = subject.container, subject.probe
    stopping, backoff = container.stopping, container.backoff
    if stopping is not None:
        grace = timedelta(seconds=stopping.grace_period_seconds)
        left = stopping.since + grace - view.now
        return StageCountdown("SIGKILL, unless it exits, in", _digits(left), Role.ERROR)
    if backoff is not None and backoff.until is not None:
        left = backoff.until - view.now
        return StageCountdown("RESTART, at the earliest, in", _digits(left), Role.ERROR)
    if probe is None or probe.next_tick_at is None or view.is_paused:
        caption = "PROBES PAUSED" if view.is_paused else "nothing is due"
        return StageCountdown(caption, "--", Role.MUTED)
    left = probe.next_tick_at - view.now
    failure = next_failure_of(subject.pod.pod, container, probe, view)
    is_failing = probe.last_result is Result.FAILURE and failure.run > 1
    if failure.at_threshold not in _KILLS or not is_failing:
        return StageCountdown("next probe in", _digits(left), Role.SUCCESS)
    more = failure.threshold - failure.run
    left += more * timedelta(seconds=probe.probe.period_seconds)
    goes_on = "next probe fails" if not more else f"next {more + 1} probes fail"
    return StageCountdown(f"KILL, if the {goes_on}, in", _digits(left), Role.ERROR)


def _digits(left: timedelta) -> str:
    return format_countdown(left).removesuffix("s")


def stage_meter(subject: Subject, view: View, width: int) -> Line:
    """Return the run of failures against its threshold, over the full width."""
    probe = subject.probe
    if probe is None:
        return EMPTY
    limit = max(probe.probe.failure_threshold, 1)
    run = min(probe.result_run, limit) if probe.last_result is Result.FAILURE else 0
    if probe.on_hold and subject.container.stopping is not None:
        # The run that led to the kill, which counts from 0 again.
        run = limit
    return wide_segments(run, limit, Role.ERROR, view.marks, width)


def stage_state(subject: Subject, view: View) -> Line:
    """Return the state of the probe, as a word and as a count."""
    if subject.probe is None:
        return line(muted("no probe"))
    pod, container, probe = subject.pod, subject.container, subject.probe
    verdict = verdict_of(pod, container, probe, view, 0)
    badge = verdict.badge
    count = own_verdict(pod, container, probe, view, 0).meter
    return line(badge, "  ", *count)


def stage_steps(subject: Subject, view: View) -> Line:
    """Return the steps of a kill, the present one in the light; empty without one."""
    container, probe = subject.container, subject.probe
    stopping, backoff = container.stopping, container.backoff
    present, seconds = -1, None
    if stopping is not None:
        seconds = stopping.grace_period_seconds
        is_over = view.now - stopping.since >= timedelta(seconds=seconds)
        is_begun = view.now - stopping.since >= timedelta(milliseconds=500)
        present = 2 if is_over else int(is_begun)
    elif backoff is not None and backoff.until is not None:
        present = 3
    if seconds is None and probe is not None:
        failure = next_failure_of(subject.pod.pod, container, probe, view)
        if failure.at_threshold in _KILLS:
            seconds = subject.pod.pod.termination_grace_period_seconds
        if failure.grace is not None:
            seconds = failure.grace.seconds
    if seconds is None and present < 0:
        return EMPTY
    grace = "grace" if seconds is None else f"{seconds} s"
    words = ("SIGTERM", grace, "SIGKILL", "restart")
    dots = " ... " if view.marks.is_ascii else " … "
    return line(*_joined(words, dots, present))


def _joined(words: Sequence[str], dots: str, present: int) -> Iterator[Span]:
    for place, word in enumerate(words):
        if place:
            yield muted(dots)
        is_present = place == present
        yield (
            Span(f" {word} ", Role.ERROR, is_reversed=True)
            if is_present
            else Span(word, Role.STRONG)
        )


def stage_sentence(subject: Subject, answer: WhyAnswer, view: View) -> Line:
    """Return why the container is as it is, in one sentence."""
    return line(f"{subject.container.container.name} {answer_clause(answer, view)}.")


def stage_plot(
    cells: Sequence[LaneCell], marks: LaneMarks, rows: int, label: str
) -> list[Line]:
    """Return the plot of a probe with wide cells; `label` is at its top."""
    plot = plot_lines(
        [cell for cell in cells for _ in repeat(None, _CELL)], marks, rows
    )
    return [
        line(muted(label if number == 0 else " " * len(label)), *row)
        for number, row in enumerate(plot)
    ]


def stage_cells(width: int, label: str) -> int:
    """Return how many cells a plot has room for in a width of so many characters."""
    return max((width - len(label)) // _CELL, 1)
