"""The instances of a container and the waits between them, as growing bars.

Below them is what decides over the next restart: policy, back-off, and its reset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.container_history import ContainerInstance
from probetui.durations import format_age, format_countdown
from probetui.k8s.pod import RestartPolicy
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.kuberuntime.restart import (
    effective_restart_policy,
    is_restarted_after,
)
from probetui.presentation.container.back_off import (
    format_due,
    late_sync,
    range_of_wait,
)
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
"""The cells before a bar, for the instance before the wait."""

_GAP = 2

_LEAST_BAR = 8
_MOST_PAST, _MOST_AHEAD = 8, 3
_ROWS_IF_HIGH = 2
_RULE = 10
_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)


class _WaitBar(Struct, frozen=True):
    """A wait between two instances: how much of it is over, to come, and not sure."""

    label: Line
    words: Line
    times: str = ""
    """Of the instance before the wait, or from when the next one may start."""

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
    rules = list(_rules(subject, view))
    scale = min(
        (_scale_of(wait, width) for wait in shown if wait.whole), default=_LEAST_BAR
    )
    drawn = [_drawn(wait, scale, view) for wait in shown]
    if room >= _ROWS_IF_HIGH * len(shown) + len(rules):
        below = [_drawn(_below(wait), scale, view) for wait in shown]
        drawn = [row for both in zip(drawn, below, strict=True) for row in both]
    gap = [EMPTY] if room > len(drawn) + len(rules) else []
    return [*drawn, *gap, *rules][: max(room, len(drawn))]


def count_rules(subject: Subject, view: View) -> int:
    """Return how many rows say what decides over the next restart."""
    return sum(1 for _ in _rules(subject, view)) if count_waits(subject) else 0


def _scale_of(wait: _WaitBar, width: int) -> float:
    """Return the most cells a second with which a wait and its words fit in a row."""
    words = sum(len(span.text) for span in wait.words)
    cells = max(width - _LABEL - _GAP - words, _LEAST_BAR)
    return cells / max(wait.whole / _SECOND, 1.0)


def _rules(subject: Subject, view: View) -> Iterator[Line]:
    """Yield what decides over the next restart, and how much the container has run."""
    pod = subject.pod.pod
    newest = subject.history.instances[-1].exited
    is_over = subject.history.pod_has_ended or pod.deletion_requested_at is not None
    yield _rule("policy", _policy(subject))
    code = None if newest is None else newest.exit_code
    if not is_over and (code is None or _is_restarted(subject, code)):
        first, longest = KubeletConfig(version=view.rules.version).restart_back_off
        limits = f"{format_age(first)}, twice as long each time, {format_age(longest)}"
        late = late_sync(view.rules)
        yield _rule("back-off", f"none at first, then {limits} at most; {late}")
        expiry = KubeletConfig().backoff_expiry // _MINUTE
        until = f"by an instance that exits more than {expiry} minutes after its start"
        yield _rule("reset", f"{until}, and by R")
    yield from _uptime(subject, view)


def _rule(label: str, words: str) -> Line:
    return line(muted(label.ljust(_RULE)), words)


def _policy(subject: Subject) -> str:
    """Return the policy that restarts go by, and what it says of the last exit."""
    pod, spec = subject.pod.pod, subject.container.container
    policy = effective_restart_policy(pod, spec)
    words = _POLICIES[policy]
    if _is_init(subject):
        words = "an init container runs again until it exits with 0"
        if policy is RestartPolicy.NEVER:
            words = "the pod fails with an init container that does"
    own = "its own rules first, then " if spec.restart_rules else ""
    exited = subject.history.instances[-1].exited
    decided = ""
    if exited is not None and exited.exit_code is not None:
        is_restarted = _is_restarted(subject, exited.exit_code)
        verb = "restarts it" if is_restarted else "does not restart it"
        decided = f"; exit {exited.exit_code} {verb}"
    return f"{own}{policy}: {words}{decided}"


def _is_init(subject: Subject) -> bool:
    spec = subject.container.container
    return spec in subject.pod.pod.init_containers and not spec.is_sidecar


def _is_restarted(subject: Subject, exit_code: int) -> bool:
    if exit_code == 0 and _is_init(subject):
        return False
    pod, spec = subject.pod.pod, subject.container.container
    return is_restarted_after(pod, spec, exit_code)


_POLICIES = {
    RestartPolicy.ALWAYS: "each exit is followed by a restart",
    RestartPolicy.ON_FAILURE: "an exit other than 0 is followed by a restart",
    RestartPolicy.NEVER: "no exit is followed by a restart",
}


def _uptime(subject: Subject, view: View) -> Iterator[Line]:
    """Yield how much of the time since the first known start the container has run."""
    runs = [
        (instance.started_at, instance.exited.at if instance.exited else view.now)
        for instance in subject.history.instances
        if instance.started_at is not None
    ]
    if not runs:
        return
    whole = view.now - runs[0][0]
    if whole >= _SECOND:
        ran = sum((end - start for start, end in runs), timedelta())
        part = f"{min(ran / whole, 1):.0%}"
        total = f"{format_countdown(ran)} of {format_age(whole)}"
        yield _rule("up", f"{part} of the time: {total}")


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
        " " * _GAP if over or ahead or doubt else "",
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
    at, ran = _next_end(subject, view)
    for place in range(_MOST_AHEAD):
        after = number + place + (0 if is_running else 1)
        is_last = window >= longest
        words = f"{format_age(window)}{', never longer' if is_last else ''}"
        if place == _MOST_AHEAD - 1 and not is_last:
            words += f", and so on up to {format_age(longest)}"
        yield _WaitBar(
            line(muted(f"#{after}".ljust(4) + "if it ends again")),
            line(muted(words)),
            "" if at is None else f"#{after + 1} from {view.times.clock(at + window)}",
            ahead=window,
            is_future=True,
        )
        if is_last:
            return
        at = None if at is None else at + window + ran
        window = min(2 * window, longest)


def _next_end(subject: Subject, view: View) -> tuple[datetime | None, timedelta]:
    """Return when the next instance ends if it runs as long as the last one did.

    None for the end if no instance has run from start to exit.
    """
    runs = [
        instance.exited.at - instance.started_at
        for instance in subject.history.instances
        if instance.exited is not None and instance.started_at is not None
    ]
    newest, backoff = subject.history.instances[-1], subject.container.backoff
    if not runs:
        return None, timedelta()
    start = newest.started_at
    if newest.exited is not None:
        start = None if backoff is None else backoff.until
    return None if start is None else max(start + runs[-1], view.now), runs[-1]


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
