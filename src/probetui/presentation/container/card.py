"""The verdict card: the state of one probe, what comes next, and up to four facts."""

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
from probetui.presentation.outlook import format_wait_range, next_failure_of
from probetui.presentation.probe.detail import (
    count_line,
    diagnostic_lines,
    last_output_line,
    latency_line,
    stored_since,
    timing_lines,
)
from probetui.presentation.probe.state import format_handler, override_spans
from probetui.presentation.probe.verdict import (
    BADGE,
    ROLES,
    ProbeVerdict,
    Tone,
    grace_text,
    own_verdict,
    result_span,
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
"""The least width, in cells, at which all facts are in one row."""

_IN_TWO_COLUMNS = 40
_LEAST_SENTENCE = 20

_LOW = 6
"""The least height of a full card; below it each essential thing gets one row."""

_INSTANCES_ALONE = 3


def card_tone(subject: Subject, view: View) -> Tone:
    """Return the severity of the selected container or probe."""
    if subject.probe is None:
        return unprobed_verdict(subject.pod, subject.container, view, 0).tone
    return _verdict(subject, view, 0).tone


def card_lines(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the card, with as many details below it as fit.

    Verdict, facts and handler come first; rows that would say nothing are left out.
    """
    if subject.probe is None:
        return _without_probe(subject, view, width, height)
    head = verdict_lines(subject, view, width)
    handler = list(_handler(subject, view, width))
    problems = list(_diagnostic_rows(subject.probe, subject, view, width))
    room = max(height - len(head) - len(handler) - len(problems), 1)
    body = [*fact_rows(subject, view, width)[:room], *handler, *problems]
    is_roomy = height > len(head) + len(body) + 1
    lines = [*head, *((EMPTY,) if is_roomy else ()), *body]
    return with_room(lines, _details(subject, view, width), height)


def lone_card_lines(
    subject: Subject, view: View, width: int, height: int
) -> list[Line]:
    """Return the card with ticks, output and reason, for a screen of only the card."""
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
    """Return a short card for a probe beside another probe's card.

    It has only what is the probe's own: the other card shows a kill, a back-off and the
    facts of the container.
    """
    probe = subject.probe
    if probe is None:
        return []
    verdict = own_verdict(
        subject.pod, subject.container, probe, view, width - BADGE - 2
    )
    return [
        *_verdict_rows(verdict, override_spans(probe), width),
        line(muted("result  "), *_result(probe, subject, view)),
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
    """Return the verdict on one line: `FAILING kill in 3.1s if ...`."""
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

    The user's overrides stand beside the meter or, if they do not fit, below it.
    """
    probe = subject.probe
    assert probe is not None  # noqa: S101  # the caller's condition
    overrides = override_spans(probe)
    taken = len("  ".join(span.text for span in overrides)) + 2 if overrides else 0
    verdict = _verdict(subject, view, width - BADGE - 2 - taken)
    return _verdict_rows(verdict, overrides, width)


def _verdict_rows(
    verdict: ProbeVerdict, overrides: Sequence[Span], width: int
) -> list[Line]:
    first = line(verdict.badge, "  ", *verdict.meter)
    rows = [first]
    if overrides:
        beside = line(*(part for span in overrides for part in ("  ", span)))
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
    """Return the facts in one row if the width allows, else in two columns or one.

    They come in order of importance; one that does not fit in the row is left out.
    `without` names the facts that are shown elsewhere.
    """
    facts = [fact for fact in _facts(subject, view) if fact[0] not in without]
    return _lay_out_facts(facts[:_MOST_FACTS], width)


def _lay_out_facts(facts: Sequence[tuple[str, Line]], width: int) -> list[Line]:
    if width >= _IN_ONE_ROW:
        gap = " " * _BETWEEN_FACTS
        row: Line = EMPTY
        for label, value in facts:
            longer = line(*row, gap if row else "", muted(f"{label}  "), *value)
            row = longer if _fit([longer], width) else row
        return [row]
    columns = 1 if width < _IN_TWO_COLUMNS else 2
    room = width // columns
    rows = []
    for start in range(0, len(facts), columns):
        row = EMPTY
        for column, (label, value) in enumerate(facts[start : start + columns]):
            fact = line(muted(f"{label}  "), *value)
            gap = " " * max(column * room - len(text_of(row)), 2 if column else 0)
            if row and not _fit([line(*row, gap, *fact)], width):
                rows.append(row)
                row = EMPTY
            row = line(*row, gap, *fact) if row else fact
        rows.append(row)
    return rows


def _result(probe: ProbeSnapshot, subject: Subject, view: View) -> Line:
    """Format the result and its age, if that is known: `healthy (41s)`."""
    is_over = is_probing_over(subject.pod, subject.container)
    since = stored_since(probe)
    age = "" if since is None else f" ({format_age(view.now - since)})"
    return line(result_span(probe, is_over=is_over), muted(age))


def _facts(subject: Subject, view: View) -> Iterator[tuple[str, Line]]:
    """Yield labels and values besides the verdict, without those that do not apply."""
    container, probe = subject.container, subject.probe
    assert probe is not None  # noqa: S101  # the caller's condition
    yield "result", _result(probe, subject, view)
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
        yield "exit", line(format_exit_cell(container.last_exit))
    if container.backoff is not None and container.backoff.until is not None:
        yield "next back-off", line(format_age(container.backoff.next_window))


def _restart(forecast: BackoffForecast | None) -> str:
    """Format whether a kill leads to a restart, and with which back-off."""
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
    """Yield the diagnostics of a probe, wrapped to the width."""
    for row in diagnostic_lines(
        subject.container.container, probe, subject.history, view
    ):
        if _fit([row], width):
            yield row
            continue
        label, message, *_ = row
        name = label.text.strip()
        first, *others = wrap_text(
            f"{name}  {message.text}", max(width, _LEAST_SENTENCE)
        )
        yield line(muted(name), Span(first.removeprefix(name), message.role))
        yield from (line(message._replace(text=other)) for other in others)


def _handler(subject: Subject, view: View, width: int) -> Iterator[Line]:
    """Yield handler and timing on one line; the handler is cut if it is too long."""
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
    """Return the details for a card with room to spare.

    State, readiness and restarts are in the table, the last exit is among the facts. A
    line that does not fit is left out: the container's screen has it.
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
    """Return lines, followed by an empty line and as many details as fit."""
    room = height - len(lines) - 1
    return [*lines, EMPTY, *details[:room]] if room > 0 else lines


def _without_probe(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the card of a container without probes."""
    pod, container = subject.pod, subject.container
    verdict = unprobed_verdict(pod, container, view, width - BADGE - 2)
    head = _verdict_rows(verdict, EMPTY, width)
    rows = unprobed_facts(subject, view, width)
    gap = (EMPTY,) if height > len(head) + len(rows) else ()
    more = [*user_lines(container, view), image_line(container, view, width)]
    return with_room([*head, *gap, *rows], more, height)


def unprobed_facts(subject: Subject, view: View, width: int) -> list[Line]:
    """Return the facts of a container without probes."""
    pod, container = subject.pod, subject.container
    status, last_exit = container.status, container.last_exit
    facts = [
        ("state", line(state(pod, container, view))),
        ("ready", line("yes" if status and status.ready else "no")),
        ("restarts", line(str(status.restart_count if status else 0))),
    ]
    if last_exit is not None:
        facts.append(("exit", line(format_exit_cell(last_exit))))
    return _lay_out_facts(facts, width)
