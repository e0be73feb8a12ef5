"""The verdict card: how one probe stands, what comes next, and at most four facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from probetui.analysis.next_failure import BackoffForecast, FailureEffect
from probetui.durations import format_age
from probetui.engine.snapshot import ProbeSnapshot
from probetui.presentation.container.back_off import format_longest
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.exits import format_exit_cell
from probetui.presentation.container.status_lines import image_line, user_lines
from probetui.presentation.container.table import is_probing_over, state
from probetui.presentation.container.ticks import last_output_lines, tick_rows, why_line
from probetui.presentation.probe.detail import (
    count_line,
    diagnostic_lines,
    last_output_line,
    latency_line,
    timing_lines,
)
from probetui.presentation.probe.next_failure import format_wait_range, next_failure_of
from probetui.presentation.probe.state import format_handler, override_spans
from probetui.presentation.probe.verdict import (
    BADGE,
    ROLES,
    ProbeVerdict,
    Tone,
    believed_span,
    grace_text,
    own_verdict,
    unprobed_verdict,
    verdict_of,
)
from probetui.presentation.text.cells import wrap_text
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.strips import short_strip

_MOST_FACTS = 4
_BETWEEN_FACTS = 4
_IN_ONE_ROW = 72
"""Cells from which on the facts stand in one row."""

_IN_TWO_COLUMNS = 40
_LEAST_SENTENCE = 20

_LOW = 6
"""Below so many rows there is one for each thing that matters most."""

_INSTANCES_ALONE = 3


def card_tone(subject: Subject, view: View) -> Tone:
    """Return the severity of what is selected."""
    if subject.probe is None:
        return unprobed_verdict(subject.pod, subject.container, view, 0).tone
    return _verdict(subject, view, 0).tone


def card_lines(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the card, and below it what else there is room for.

    What is believed, planned and done comes first; rows without news are left out.
    """
    if subject.probe is None:
        return _without_probe(subject, view, width, height)
    head = verdict_lines(subject, view, width)
    handler = list(_handler(subject, view, width))
    wrong = list(_diagnostic_rows(subject.probe, subject, view, width))
    room = max(height - len(head) - len(handler) - len(wrong), 1)
    body = [*fact_rows(subject, view, width)[:room], *handler, *wrong]
    is_roomy = height > len(head) + len(body) + 1
    lines = [*head, *((EMPTY,) if is_roomy else ()), *body]
    return with_room(lines, _details(subject, view, width), height)


def lone_card_lines(
    subject: Subject, view: View, width: int, height: int
) -> list[Line]:
    """Return the card with ticks, output and reason below it: nothing else has them."""
    probe = subject.probe
    if probe is None:
        return _without_probe(subject, view, width, height)
    head = verdict_lines(subject, view, width)
    if height < _LOW:
        period = probe.probe.period_seconds
        strip = short_strip(subject.ticks, subject.cursor, view, width, period)
        last = line(muted("last "), *last_output_line(probe, view))
        why = line(muted("why  "), *why_line(subject, view))
        return [*head, strip, last, why]
    ticks = tick_rows(subject, view, width, _INSTANCES_ALONE)
    card = [
        *head,
        *fact_rows(subject, view, width),
        *_handler(subject, view, width),
        EMPTY,
        *(row.spans for row in ticks),
        *last_output_lines(subject, view, max(height - len(head) - 8, 1)),
        EMPTY,
        line(muted("why  "), *why_line(subject, view)),
        *_diagnostic_rows(probe, subject, view, width),
    ]
    if len(card) > height:
        card = [row for row in card if row]
    return with_room(card, _details(subject, view, width), height)


def brief_card_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return all of one probe that is worth a few lines beside another's card.

    What both share, a kill or a wait, and the facts of the container, are there.
    """
    probe = subject.probe
    if probe is None:
        return []
    verdict = own_verdict(
        subject.pod, subject.container, probe, view, width - BADGE - 2
    )
    return [
        *_verdict_rows(verdict, override_spans(probe), width),
        line(muted("believed  "), _believed(subject, probe)),
        *_handler(subject, view, width),
        short_strip(
            subject.ticks,
            subject.cursor,
            view,
            width,
            probe.probe.period_seconds,
        ),
    ]


def one_line_card(subject: Subject, view: View, width: int) -> Line:
    """Return state and sentence on one line: `FAILING kill in 3.1s if ...`."""
    if subject.probe is None:
        return why_line(subject, view)
    verdict = _verdict(subject, view, width)
    role = ROLES[verdict.tone]
    return line(Span(verdict.word, role), " ", verdict.sentence)


def _verdict(subject: Subject, view: View, width: int) -> ProbeVerdict:
    assert subject.probe is not None  # noqa: S101  # the caller's condition
    return verdict_of(subject.pod, subject.container, subject.probe, view, width)


def verdict_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return badge and meter, then the sentence.

    What people have chosen stands beside the meter, or below it if there is no room.
    """
    probe = subject.probe
    assert probe is not None  # noqa: S101  # the caller's condition
    chosen = override_spans(probe)
    taken = len("  ".join(span.text for span in chosen)) + 2 if chosen else 0
    verdict = _verdict(subject, view, width - BADGE - 2 - taken)
    return _verdict_rows(verdict, chosen, width)


def _verdict_rows(
    verdict: ProbeVerdict, chosen: Sequence[Span], width: int
) -> list[Line]:
    first = line(verdict.badge, "  ", *verdict.meter)
    rows = [first]
    if chosen:
        beside = line(*(part for span in chosen for part in ("  ", span)))
        is_beside = len(text_of((*first, *beside))) <= width
        rows = [line(*first, *beside)] if is_beside else [first, line(*beside[1:])]
    role = ROLES[verdict.tone]
    if verdict.tone in {Tone.CALM, Tone.WAITING, Tone.HOLD}:
        role = Role.STRONG
    if verdict.tone is Tone.KILL:
        role = Role.KILL
    sentence = wrap_text(verdict.sentence, max(width, _LEAST_SENTENCE))
    return [*rows, *(line(Span(row, role)) for row in sentence)]


def fact_rows(
    subject: Subject, view: View, width: int, *, without: Collection[str] = ()
) -> list[Line]:
    """Return the facts in two columns, or in one row where there is room.

    A fact that would be cut in that row is left out: it is the least of them.
    `without` names those that stand elsewhere.
    """
    facts = [fact for fact in _facts(subject, view) if fact[0] not in without]
    return _rows_of_facts(facts[:_MOST_FACTS], width)


def _rows_of_facts(facts: Sequence[tuple[str, Line]], width: int) -> list[Line]:
    if width >= _IN_ONE_ROW:
        gap = " " * _BETWEEN_FACTS
        whole: Line = EMPTY
        for label, value in facts:
            longer = line(*whole, gap if whole else "", muted(f"{label}  "), *value)
            whole = longer if _fit([longer], width) else whole
        return [whole]
    columns = 1 if width < _IN_TWO_COLUMNS else 2
    room = width // columns
    rows = []
    for start in range(0, len(facts), columns):
        row = EMPTY
        for place, (label, value) in enumerate(facts[start : start + columns]):
            gap = " " * max(place * room - len(text_of(row)), 2 if place else 0)
            row = line(*row, gap, muted(f"{label}  "), *value)
        rows.append(row)
    return rows


def _believed(subject: Subject, probe: ProbeSnapshot) -> Span:
    return believed_span(probe, is_over=is_probing_over(subject.pod, subject.container))


def _facts(subject: Subject, view: View) -> Iterator[tuple[str, Line]]:
    """Yield what there is to know besides the verdict; nothing that is `no` or over."""
    container, probe = subject.container, subject.probe
    assert probe is not None  # noqa: S101  # the caller's condition
    yield "believed", line(_believed(subject, probe))
    if probe.on_hold and container.backoff is not None and container.backoff.until:
        yield "on hold", line(Span("yes", Role.HOLD))
    if container.stopping is not None:
        at = view.times.clock(container.stopping.since)
        yield "SIGTERM", line(at)
        seconds, source = (
            container.stopping.grace_period_seconds,
            container.stopping.grace_source,
        )
        yield "grace", line(f"{seconds}s {source}")
        return
    failure = next_failure_of(subject.pod.pod, container, probe, view)
    if failure.grace is not None:
        yield "grace", line(grace_text(failure.grace))
    if failure.effect is FailureEffect.KILL:
        yield "restart", line(_restart(failure.backoff))
    if container.last_exit is not None:
        yield "last exit", line(format_exit_cell(container.last_exit))
    if container.backoff is not None and container.backoff.until is not None:
        yield "next back-off", line(format_age(container.backoff.next_window))


def _restart(forecast: BackoffForecast | None) -> str:
    """Return whether a restart would follow a kill, and whether it would wait."""
    if forecast is None:
        return "never (policy)"
    match forecast.waits:
        case False:
            return "no back-off"
        case True:
            return f"back-off {format_wait_range(forecast)}"
        case None:
            return f"back-off up to {format_longest(forecast.longest)}"


def _diagnostic_rows(
    probe: ProbeSnapshot, subject: Subject, view: View, width: int
) -> Iterator[Line]:
    """Yield what is wrong with a probe; what is longer than a row goes on below."""
    for found in diagnostic_lines(probe.key, probe.last_run, subject.history, view):
        if _fit([found], width):
            yield found
            continue
        label, words, *_ = found
        name = label.text.strip()
        first, *others = wrap_text(f"{name}  {words.text}", max(width, _LEAST_SENTENCE))
        yield line(muted(name), Span(first.removeprefix(name), words.role))
        yield from (line(words._replace(text=row)) for row in others)


def _handler(subject: Subject, view: View, width: int) -> Iterator[Line]:
    """Yield handler and timing on one line; a long handler is cut, not the timing."""
    probe = subject.probe
    assert probe is not None  # noqa: S101  # the caller's condition
    spec = probe.probe
    timing = f"  every {spec.period_seconds}s"
    if width >= _IN_TWO_COLUMNS:
        timing += f", limit {spec.timeout_seconds}s"
    handler = format_handler(spec, view)
    room = max(width - len(timing), len(view.marks.ellipsis) + 1)
    if len(handler) > room:
        handler = handler[: room - len(view.marks.ellipsis)] + view.marks.ellipsis
    yield line(Span(handler, Role.ACCENT), muted(timing))


def _details(subject: Subject, view: View, width: int) -> list[Line]:
    """Return what is good to know where there is much room.

    State, readiness and restarts are in the list, the last exit is among the facts.
    A line that would be cut is left out: the container's screen has it.
    """
    probe = subject.probe
    assert probe is not None  # noqa: S101  # the caller's condition
    details = [
        *user_lines(subject.container, view),
        image_line(subject.container, view, width),
        count_line(probe),
        latency_line(probe),
    ]
    timing = list(timing_lines(subject.pod.pod, subject.container, probe, view.rules))
    if subject.container.stopping is None and _fit(timing, width):
        details += timing
    return [detail for detail in details if _fit([detail], width)]


def _fit(lines: list[Line], width: int) -> bool:
    return all(len(text_of(row)) <= width for row in lines)


def with_room(lines: list[Line], details: list[Line], height: int) -> list[Line]:
    """Return lines with as many details as there is room for, behind an empty line."""
    room = height - len(lines) - 1
    return [*lines, EMPTY, *details[:room]] if room > 0 else lines


def _without_probe(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return what a container without probes waits for, and how it is."""
    pod, container = subject.pod, subject.container
    verdict = unprobed_verdict(pod, container, view, width - BADGE - 2)
    status, last_exit = container.status, container.last_exit
    facts = [
        ("state", line(state(pod, container, view))),
        ("ready", line("yes" if status and status.ready else "no")),
        ("restarts", line(str(status.restart_count if status else 0))),
    ]
    if last_exit is not None:
        facts.append(("last exit", line(format_exit_cell(last_exit))))
    head = _verdict_rows(verdict, EMPTY, width)
    rows = _rows_of_facts(facts, width)
    gap = (EMPTY,) if height > len(head) + len(rows) else ()
    more = [*user_lines(container, view), image_line(container, view, width)]
    return with_room([*head, *gap, *rows], more, height)
