"""The instances of a container and the waits between them, as growing bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.container_history import ContainerInstance
from probetui.durations import format_age, format_countdown
from probetui.kubelet.config import KubeletConfig
from probetui.presentation.container.back_off import format_due, range_of_wait
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.instances import format_instance
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
)
from probetui.presentation.text.view import View

_LABEL = 30
_WORDS = 46
"""The cells beside a bar: for the instance before the wait, and for words."""

_LEAST_BAR = 8
_MOST_PAST, _MOST_AHEAD = 8, 3
_ROWS_IF_HIGH = 2
_SECOND = timedelta(seconds=1)


class _WaitBar(Struct, frozen=True):
    """A wait between two instances: how much of it is over, to come, and not sure."""

    label: Line
    words: Line
    times: str = ""
    over: timedelta = timedelta()
    ahead: timedelta = timedelta()
    doubt: timedelta = timedelta()
    is_future: bool = False

    @property
    def whole(self) -> timedelta:
        """The longest time that it can take."""
        return self.over + self.ahead + self.doubt


def count_waits(subject: Subject) -> int:
    """Return how many rows the picture has, none before a container has restarted."""
    instances = len(subject.history.instances)
    if instances <= 1:
        return 0
    return min(instances, _MOST_PAST) + (_MOST_AHEAD if _has_more(subject) else 0)


def waits_lines(subject: Subject, view: View, width: int, room: int) -> list[Line]:
    """Return the newest instances with the waits after them, then the waits to come."""
    if not subject.history.instances:
        return []
    past = list(_past_waits(subject, view))[-_MOST_PAST:]
    ahead = list(_waits_ahead(subject, view))
    # The one of now is the last of the past ones, and stays in sight.
    ahead = ahead[: max(room - len(past), room // 3)]
    shown = [*past[-max(room - len(ahead), 1) :], *ahead]
    longest = max((wait.whole for wait in shown), default=_SECOND)
    cells = max(width - _LABEL - _WORDS, _LEAST_BAR)
    scale = cells / max(longest / _SECOND, 1.0)
    if room < _ROWS_IF_HIGH * len(shown):
        return [_drawn(wait, scale, view) for wait in shown]
    return [
        row
        for wait in shown
        for row in (_drawn(wait, scale, view), _drawn(_below(wait), scale, view))
    ]


def _below(wait: _WaitBar) -> _WaitBar:
    """Return the second row of a wait: the same bar, with the times of the instance."""
    return replace(wait, label=line(muted(f"    {wait.times}")), words=EMPTY)


def _drawn(wait: _WaitBar, scale: float, view: View) -> Line:
    marks = view.marks
    over, ahead, doubt = (
        round(part / _SECOND * scale) for part in (wait.over, wait.ahead, wait.doubt)
    )
    label = sum(len(span.text) for span in wait.label)
    role = Role.MUTED if wait.is_future else Role.ERROR
    is_now = bool(wait.over and (wait.ahead or wait.doubt))
    return line(
        *wait.label,
        " " * max(_LABEL - label, 1),
        Span(marks.bar * over, role if is_now else Role.WARNING),
        Span(marks.bar_empty * ahead, Role.MUTED, is_faint=wait.is_future),
        Span(("=" if marks.is_ascii else "╌") * doubt, Role.ACCENT),
        "  " if over or ahead or doubt else "",
        *wait.words,
    )


def _past_waits(subject: Subject, view: View) -> Iterator[_WaitBar]:
    instances = subject.history.instances
    for instance, following in zip(instances, (*instances[1:], None), strict=True):
        label = line(muted(f"#{instance.number}".ljust(4)), *_end_of(instance, view))
        times = format_instance(instance, view).partition("  ")[0]
        exited = instance.exited
        if exited is None:
            yield _WaitBar(label, line(muted("now")), times)
            continue
        if following is None:
            yield _current(subject, view, label, times)
            continue
        began = following.started_at or following.created_at or exited.at
        waited = max(began - exited.at, timedelta())
        backoff = following.waited
        words = f"{format_age(backoff.window)} of back-off, " if backoff else ""
        words += f"restarted after {format_countdown(waited)}"
        if waited < _SECOND:
            words = "restarted at once"
        yield _WaitBar(label, line(muted(words)), times, over=waited)


def _current(subject: Subject, view: View, label: Line, times: str) -> _WaitBar:
    """Return the wait after the newest instance, which goes on or has none."""
    backoff, exited = subject.container.backoff, subject.history.instances[-1].exited
    due = None if backoff is None else range_of_wait(backoff, view.rules)
    if backoff is None or due is None or exited is None:
        return _WaitBar(label, line(muted("not restarted")), times)
    return _WaitBar(
        label,
        line(strong("now: "), Span(format_due(due, view.now), Role.ERROR)),
        times,
        over=max(min(view.now, due.latest) - exited.at, timedelta()),
        ahead=max(due.earliest - view.now, timedelta()),
        doubt=due.latest - max(due.earliest, min(view.now, due.latest)),
    )


def _waits_ahead(subject: Subject, view: View) -> Iterator[_WaitBar]:
    """Yield the waits after the ends to come, each twice the one before."""
    backoff = subject.container.backoff
    if backoff is None or not _has_more(subject):
        return
    is_running = subject.history.instances[-1].exited is None
    _, longest = KubeletConfig(version=view.rules.version).restart_back_off
    number, window = subject.history.instances[-1].number, backoff.next_window
    for place in range(_MOST_AHEAD):
        after = number + place + (0 if is_running else 1)
        is_last = window >= longest
        words = f"{format_age(window)}{', never longer' if is_last else ''}"
        if place == _MOST_AHEAD - 1 and not is_last:
            words += f", and so on up to {format_age(longest)}"
        yield _WaitBar(
            line(muted(f"#{after}".ljust(4) + "if it ends again")),
            line(muted(words)),
            ahead=window,
            is_future=True,
        )
        if is_last:
            return
        window = min(2 * window, longest)


def _has_more(subject: Subject) -> bool:
    """Return whether another wait may come: it runs, or is in one."""
    backoff, newest = subject.container.backoff, subject.history.instances[-1]
    return backoff is not None and (newest.exited is None or backoff.until is not None)


def _end_of(instance: ContainerInstance, view: View) -> Sequence[Span]:
    """Return how an instance ended and after how long, or for how long it has run."""
    began = instance.started_at or instance.created_at
    exited = instance.exited
    until = view.now if exited is None else exited.at
    ran = "" if began is None else format_countdown(until - began)
    if exited is None:
        return [Span(f"running for {ran}" if ran else "running", Role.SUCCESS)]
    code = exited.exit_code
    role = Role.ERROR if code else Role.PLAIN
    ended = "ended" if code is None else f"exit {code}"
    return [Span(ended, role), muted(f" after {ran}" if ran else "")]
