"""The headline above the lanes: state and countdown, meter, output, command, hint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.durations import format_duration
from probetui.engine.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import TickAction, TickEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.container.card import fact_rows, unprobed_facts
from probetui.presentation.container.detail import Subject, container_title, probe_tabs
from probetui.presentation.container.exits import format_exit_cell
from probetui.presentation.container.status_lines import image_line
from probetui.presentation.outlook import next_failure_of
from probetui.presentation.probe.detail import diagnostic_lines, output_text
from probetui.presentation.probe.state import (
    format_handler,
    is_running_towards_change,
    override_spans,
    threshold,
)
from probetui.presentation.probe.verdict import (
    ROLES,
    ProbeVerdict,
    Tone,
    unprobed_verdict,
    verdict_of,
)
from probetui.presentation.text.cells import all_lines
from probetui.presentation.text.meters import bar, waited, wide_segments
from probetui.presentation.text.spans import (
    EMPTY,
    HINT,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import mark_span
from probetui.presentation.tick.report import TickVerdict, report_tick

_SECOND = timedelta(seconds=1)
_GAP = 2
_SPARKS = 12
"""The newest probes whose latencies are drawn."""

_LEAST_NAME = 12
_LEAST_OUTPUT = 24
_HEIGHTS = "▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS = "._-=#"
_FOR_HINT, _FOR_COMMAND = 4, 5
"""The rows from which on a hint and the command have a row each."""

_LOUD = ("not ready in",)
_CLAUSE = re.compile(r"(?= if | unless |; |, if |: )")
_WORDS_OF_RESULTS = {
    (ProbeType.LIVENESS, Result.SUCCESS): "HEALTHY",
    (ProbeType.READINESS, Result.SUCCESS): "READY",
    (ProbeType.STARTUP, Result.SUCCESS): "STARTED",
    (ProbeType.READINESS, Result.FAILURE): "NOT READY",
}


class Headline(Struct, frozen=True):
    """What a probe or container is, and what comes next.

    `count` is the run, or what is over of a wait, as text, `meter` a function of a
    width that draws it; None where there is neither. `announced` is what comes.
    """

    word: str
    tone: Tone
    announced: str
    count: str = ""
    filled: float = 0.0
    """The part of the meter that is filled, or the failures of the run."""

    total: int = 0
    """The failures that the run needs, 0 for a wait."""

    has_meter: bool = False
    meter_role: Role = Role.PLAIN

    @property
    def badge(self) -> Span:
        """The state and the run, in reverse colours if that is no good state."""
        words = f"{self.word} {self.count}".rstrip()
        is_calm = self.tone in {Tone.CALM, Tone.WAITING}
        return Span(f" {words} ", ROLES[self.tone], is_reversed=not is_calm)

    def meter(self, view: View, width: int) -> Line:
        """Draw the meter over the whole width."""
        if not self.total:
            return bar(self.filled, self.meter_role, view.marks, width)
        run = int(self.filled)
        return wide_segments(run, self.total, self.meter_role, view.marks, width)

    def announcement(self, room: int) -> Line:
        """Return what comes, in short if the room is small; empty if that is too long.

        What kills, stops or restarts is in capitals.
        """
        first, *others = _CLAUSE.split(self.announced, maxsplit=1)
        role = Role.STRONG
        if self.tone is Tone.KILL or first.startswith(_LOUD):
            first = " ".join(map(_in_capitals, first.split()))
            role = Role.KILL if self.tone is Tone.KILL else Role.RESTART
        rest = Role.MUTED if self.tone is Tone.CALM else ROLES[self.tone]
        short = line(Span(first, role))
        long = line(*short, Span("".join(others), rest))
        return next((each for each in (long, short) if _width(each) <= room), EMPTY)


def headline_of(subject: Subject, view: View) -> Headline:
    """Return the headline of now, or of the tick at the cursor."""
    pod, container, probe = subject.pod, subject.container, subject.probe
    if subject.cursor is not None and subject.tick is not None and probe is not None:
        return _of_a_tick(subject.tick, probe)
    if probe is None:
        return _with_wait(unprobed_verdict(pod, container, view, 0), container, view)
    verdict = verdict_of(pod, container, probe, view, 0)
    if _is_waiting(container):
        return _with_wait(verdict, container, view)
    headline = Headline(verdict.word, verdict.tone, verdict.sentence)
    if probe.last_run is None or not probe.worker_alive:
        return headline
    is_towards = is_running_towards_change(probe)
    # The last result may be that of the instance before.
    result = probe.last_result if is_towards else probe.stored_result
    is_failing = result is Result.FAILURE
    limit = threshold(probe, probe.last_result if is_towards else Result.FAILURE)
    run = probe.result_run if is_towards else limit if is_failing else 0
    role = (
        ROLES[verdict.tone] if is_failing or verdict.tone is Tone.HOLD else Role.PLAIN
    )
    if is_towards and not is_failing:
        role = Role.SUCCESS
    return replace(
        headline,
        count=_count(verdict, is_failing=is_failing) if is_towards else "",
        filled=min(run, limit),
        total=limit,
        has_meter=True,
        meter_role=Role.ERROR if role is Role.HOLD else role,
    )


def _count(verdict: ProbeVerdict, *, is_failing: bool) -> str:
    count = text_of(verdict.meter)
    # Of failures the word itself says that it counts them.
    return count if is_failing else f"{count} successes"


def headline_title(
    subject: Subject, headline: Headline, view: View, width: int
) -> tuple[Line, Line]:
    """Return the state and the name, and the names of the probes behind them."""
    name = container_title(subject, view)
    before = line(headline.badge, "  ", strong(name), "  ")
    for in_letters in (False, True):
        tabs = probe_tabs(subject, in_letters=in_letters)
        room = width - _width((*before, *tabs)) - _GAP
        if headline.announcement(room) or (room >= 0 and not headline.has_meter):
            return before, tabs
    tabs = probe_tabs(subject, in_letters=True)
    room = width - _width((headline.badge, *tabs)) - 2 * _GAP
    if len(name) > room:
        cut = max(room, _LEAST_NAME) - len(view.marks.ellipsis)
        name = name[:cut] + view.marks.ellipsis
    return line(headline.badge, "  ", strong(name), "  "), tabs


def headline_rows(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the rows below the title: `height` of them, or fewer.

    The meter and the last output come first; then a hint or, if there is none, the
    command; then both.
    """
    headline = headline_of(subject, view)
    probe = subject.probe
    second = (
        headline.meter(view, width)
        if headline.has_meter
        else line(Span(headline.announced, ROLES[headline.tone]))
    )
    if probe is None:
        facts = unprobed_facts(subject, view, width)
        return [second, *facts, *_what_runs(subject, view, width)][:height]
    hint = list(_hint(subject, probe, view))
    rows = [second, _output_row(subject, probe, view, width)]
    command = _command_row(subject, probe, view, width)
    if height < _FOR_HINT - 1:
        return rows[:height]
    if height < _FOR_COMMAND - 1:
        return [*rows, *(hint or [command])][:height]
    # In a back-off its own row has the exit, and the result is over with the instance.
    over = ("result", "exit") if _shows_exit(subject) else ()
    facts = _tick_facts(subject) or fact_rows(subject, view, width, without=over)
    return [*rows, command, *(hint or facts), *(facts if hint else ())][:height]


def _is_waiting(container: ContainerSnapshot) -> bool:
    has_back_off = container.backoff is not None and container.backoff.until is not None
    return container.stopping is not None or has_back_off


def _with_wait(
    verdict: ProbeVerdict, container: ContainerSnapshot, view: View
) -> Headline:
    """Return the headline of a container that is stopped or restarted, or waits."""
    headline = Headline(
        verdict.word, verdict.tone, verdict.sentence, text_of(verdict.meter)
    )
    stopping, backoff = container.stopping, container.backoff
    if stopping is not None:
        whole = stopping.grace_period_seconds * _SECOND
        left = stopping.since + whole - view.now
    elif backoff is not None and backoff.until is not None:
        whole, left = backoff.window, backoff.until - view.now
    else:
        return replace(headline, count="")
    return replace(
        headline, filled=waited(left, whole), has_meter=True, meter_role=Role.ERROR
    )


def _of_a_tick(tick: TickEntry, probe: ProbeSnapshot) -> Headline:
    """Return what an earlier tick found, and what it did."""
    report = report_tick(tick)
    run, limit = tick.run.count, max(tick.run.threshold, 1)
    if report.verdict is TickVerdict.NOT_PROBED:
        return Headline("NOT PROBED", Tone.WAITING, report.summary)
    if tick.result is None:
        return Headline("ERROR", Tone.COUNTING, report.effect.text)
    kills = tick.action in {TickAction.KILL, TickAction.WOULD_KILL}
    is_failure = tick.result is Result.FAILURE
    tone = Tone.COUNTING if is_failure else Tone.CALM
    role = Role.WARNING if is_failure else Role.SUCCESS
    if kills:
        tone, role = Tone.KILL, Role.ERROR
    word = _WORDS_OF_RESULTS.get((tick.key.probe_type, tick.result), "FAILING")
    if run < limit:
        word = "FAILING" if is_failure else "NOT READY"
    announced = "no action" if report.effect.text == "none" else report.effect.text
    count = f"{run} of {limit}" if run <= limit else ""
    if not is_failure and run >= limit:
        # As of now: how near failures are to what they lead to.
        run, limit, count = 0, probe.probe.failure_threshold, ""
    return Headline(
        word,
        tone,
        announced,
        count,
        filled=min(run, limit),
        total=limit,
        has_meter=True,
        meter_role=role,
    )


def _output_row(subject: Subject, probe: ProbeSnapshot, view: View, width: int) -> Line:
    """Return the outcome and output, and at the right how long the probe took."""
    last_exit = subject.container.last_exit
    if last_exit is not None and _shows_exit(subject):
        # What the instance before answered is over with it.
        return line(muted("exit "), Span(format_exit_cell(last_exit), Role.STRONG))
    tick = _shown_tick(subject, probe)
    if tick is None:
        return line(muted("not probed yet"))
    if not tick.attempts:
        return line(muted(report_tick(tick).summary))
    attempt = tick.attempts[-1]
    ended = "errored" if attempt.error is not None else view.safe(attempt.detail)
    role = mark_span(tick, view.marks).role
    is_well = role is Role.SUCCESS
    outcome = Span(ended or str(attempt.result), role)
    said = all_lines(view.mask.text(output_text(attempt)))
    text = next((row.strip() for row in said if row.strip()), "")
    left = line(
        mark_span(tick, view.marks),
        " ",
        outcome,
        "  ",
        Span(text, Role.PLAIN if is_well else Role.STRONG),
    )
    right = _latency(subject, probe, tick, view)
    room = width - _width(right) - _GAP
    if room < _LEAST_OUTPUT or not right:
        return left
    return line(*_cut(left, room, view), " " * _GAP, *right)


def _shows_exit(subject: Subject) -> bool:
    """Return whether the container waits for its restart, and how it ended is known."""
    backoff, container = subject.container.backoff, subject.container
    is_now = subject.cursor is None and container.stopping is None
    is_waiting = backoff is not None and backoff.until is not None
    return is_now and is_waiting and container.last_exit is not None


def _latency(
    subject: Subject, probe: ProbeSnapshot, tick: TickEntry, view: View
) -> Line:
    """Return the latency beside the time-out, and a sparkline of the newest ones."""
    attempt = tick.attempts[-1]
    if not attempt.is_timed:
        return EMPTY
    limit = probe.probe.timeout_seconds
    heights = _ASCII_HEIGHTS if view.marks.is_ascii else _HEIGHTS
    spans = []
    for seconds in _newest_latencies(subject, probe):
        part = seconds / limit
        step = min(int(part * len(heights)), len(heights) - 1)
        spans.append(Span(heights[step], Role.ERROR if part >= 1 else Role.MUTED))
    took = format_duration(attempt.duration)
    is_over = attempt.duration >= limit * _SECOND
    return line(
        Span(took, Role.ERROR if is_over else Role.PLAIN),
        muted(f" of {limit}s "),
        *spans,
    )


def _newest_latencies(subject: Subject, probe: ProbeSnapshot) -> Iterator[float]:
    """Yield the seconds that the newest probes took up to the tick at the cursor."""
    if subject.cursor is None and subject.past is not None:
        # Ticks are packed: each would cost as much as the rest of the screen.
        for latency in subject.past.lanes.latencies(probe.key, _SPARKS):
            yield latency.seconds
        return
    ticks = subject.ticks
    last = ticks.indexes.stop if subject.cursor is None else subject.cursor + 1
    for index in range(max(ticks.indexes.start, last - _SPARKS), last):
        shown = ticks.tick(index)
        if shown is not None and shown.attempts and shown.attempts[-1].is_timed:
            yield shown.attempts[-1].duration.total_seconds()


def _command_row(
    subject: Subject, probe: ProbeSnapshot, view: View, width: int
) -> Line:
    """Return what is probed, how often, and what failures lead to."""
    spec = probe.probe
    most, kind = spec.failure_threshold, probe.key.probe_type
    effect = "make it not ready" if kind is ProbeType.READINESS else "kill"
    if most == 1:
        effect = effect.replace("make", "makes").replace("kill", "kills")
    failures = "1 failure" if most == 1 else f"{most} failures"
    timing = f"  every {spec.period_seconds}s, {failures} {effect}"
    failure = next_failure_of(subject.pod.pod, subject.container, probe, view)
    if failure.grace is not None:
        timing += f", grace {failure.grace.seconds}s of the {failure.grace.source}"
    command = format_handler(spec, view)
    room = max(width - len(timing), _LEAST_NAME)
    if len(command) > room:
        ellipsis = view.marks.ellipsis
        command = command[: room - len(ellipsis)] + ellipsis
    return line(command, muted(timing))


def _what_runs(subject: Subject, view: View, width: int) -> Iterator[Line]:
    """Yield image and command of a container, each cut to the width."""
    container = subject.container.container
    label, *image = image_line(subject.container, view, width)
    yield line(muted(f"{label.text.strip()}  "), *image)
    if words := (*container.command, *container.args):
        command = view.safe(view.mask.text(" ".join(words)))
        yield _cut(line(muted("command  "), command), width, view)


def _tick_facts(subject: Subject) -> list[Line]:
    """Return what the tick at the cursor counted, nothing without a cursor."""
    tick = subject.tick
    if subject.cursor is None or tick is None:
        return []
    report = report_tick(tick)
    counted = f"{report.counted}  " if report.counted else ""
    return [line(muted(f"tick #{tick.n}  "), counted, muted(report.result))]


def _hint(subject: Subject, probe: ProbeSnapshot, view: View) -> Iterator[Line]:
    """Yield what solves the problem of the last probe, or of the one at the cursor."""
    shown = replace(probe, last_run=_shown_tick(subject, probe))
    container = subject.container.container
    for row in diagnostic_lines(container, shown, subject.history, view):
        _label, *words = row
        yield line(
            Span(HINT, Role.ACCENT),
            *(span._replace(role=Role.STRONG) for span in words),
        )


def _shown_tick(subject: Subject, probe: ProbeSnapshot) -> TickEntry | None:
    return probe.last_run if subject.cursor is None else subject.tick


def overrides_of(subject: Subject) -> Line:
    """Return what the user has changed of the probe, each behind a gap."""
    if subject.probe is None:
        return EMPTY
    spans = override_spans(subject.probe)
    return line(*(part for span in spans for part in ("  ", span)))


def _in_capitals(word: str) -> str:
    return word if any(character.isdigit() for character in word) else word.upper()


def _width(spans: Line) -> int:
    return len(text_of(spans))


def _cut(spans: Line, width: int, view: View) -> Line:
    """Return a line of exactly so many characters."""
    left, shown = width, []
    for span in spans:
        shown.append(span._replace(text=span.text[:left]))
        left -= len(shown[-1].text)
    if _width(spans) > width and shown:
        ellipsis = view.marks.ellipsis
        last = max((place for place, span in enumerate(shown) if span.text), default=0)
        text = shown[last].text
        shown[last] = shown[last]._replace(text=text[: -len(ellipsis)] + ellipsis)
    return line(*shown, " " * left)
