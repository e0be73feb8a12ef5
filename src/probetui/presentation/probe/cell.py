"""Format the state of one probe for a table cell: a mark and a word."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from probetui.engine.snapshot import ProbeSnapshot
from probetui.kubelet.journal import Exit, Skip
from probetui.kubelet.outcome import Result
from probetui.presentation.probe.state import (
    delay_left,
    is_running_towards_change,
    is_startup_done,
    override_marks,
    run_count,
    standing_mark,
    threshold,
    would_be_killed,
)
from probetui.presentation.text.meters import segments
from probetui.presentation.text.spans import Line, Role, Span, line, muted, text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import result_mark

CELLS = 8
"""The width that fits every full version: `██░ 2/3`, `delay 3s`."""

_MOST_SEGMENTS = 3
_SPINNER_STEP = timedelta(milliseconds=250)
"""The time between two frames; a shorter run shows no spinner."""


def probe_cell(
    probe: ProbeSnapshot | None,
    view: View,
    *,
    is_over: bool = False,
    room: int = CELLS,
) -> Line:
    """Return the longest version of a probe's state that fits.

    Args:
        probe: the probe; None if the container has none of the type.
        view: how it is shown.
        is_over: whether a probe without a worker will never get one again.
        room: the width of the cell; overrides follow, with one letter each.
    """
    if probe is None:
        return line(muted("-"))
    marks = override_marks(probe)
    overrides = (Span(" "), *marks) if marks else ()
    version: Line = ()
    for version in _versions(probe, view, is_over=is_over):
        if len(text_of((*version, *overrides))) <= room:
            break
    return (*version, *overrides)


def _versions(probe: ProbeSnapshot, view: View, *, is_over: bool) -> Iterator[Line]:
    """Yield versions of the state, from the longest to the shortest."""
    marks = view.marks
    if not probe.worker_alive:
        has_left = is_over or probe.ticks
        yield line(muted("ended" if has_left else marks.empty))
    elif is_startup_done(probe):
        yield from _marked(Span(marks.success, Role.SUCCESS), "done", Role.SUCCESS)
    elif probe.on_hold:
        yield from _marked(Span(marks.failure, Role.ERROR), "hold", Role.HOLD)
    elif probe.upcoming_skip is not None:
        yield from _skipped(probe, probe.upcoming_skip, view)
    elif would_be_killed(probe):
        yield from _marked(Span(marks.failure, Role.ERROR), "fail", Role.ERROR)
    elif (errors := probe.error_run) and not is_running_towards_change(probe):
        yield line(Span(f"{marks.errored} err {errors}", Role.WARNING))
        yield line(Span(f"{marks.errored} err", Role.WARNING))
        yield line(Span(marks.errored, Role.WARNING))
    else:
        yield from _standing(probe, view)


def _marked(mark: Span, word: str, role: Role) -> Iterator[Line]:
    """Yield mark and word, then without the space between, then the word alone."""
    yield line(mark._replace(text=f"{mark.text} "), Span(word, role))
    if not (mark.text.isalpha() and word[0].isalpha()):
        yield line(mark, Span(word, role))
    yield line(Span(word, role))


def _skipped(probe: ProbeSnapshot, skip: Skip | Exit, view: View) -> Iterator[Line]:
    match skip:
        case Skip.NOT_STARTED | Skip.ALREADY_STARTED:
            yield line(muted("wait"))
        case Skip.INITIAL_DELAY:
            left = delay_left(probe, view.now)
            yield line(muted(f"delay {left}"))
            yield line(muted(f"d {left}"))
        case Skip.NOT_RUNNING | Exit.CONTAINER_WILL_NOT_RESTART | Exit.POD_ENDED:
            yield line(muted("down"))
        case _:
            yield line(muted(view.marks.empty))


def _standing(probe: ProbeSnapshot, view: View) -> Iterator[Line]:
    """Yield the run towards a change, or the stored result."""
    marks = view.marks
    result, word = probe.stored_result, "ok"
    spinner = _spinner(probe, view)
    if probe.last_run is None:
        if spinner is None:
            yield line(muted(marks.empty))
            return
        result, word = None, "run"
    elif is_running_towards_change(probe):
        result, most = probe.last_result, threshold(probe, probe.last_result)
        errored = marks.errored if probe.error_run else ""
        word = f"{run_count(probe)}/{most}{errored}"
        if result is Result.FAILURE and most <= _MOST_SEGMENTS and spinner is None:
            done = segments(probe.result_run, most, Role.WARNING, marks, most)
            yield (*done, Span(f" {word}", Role.WARNING))
    elif result is Result.FAILURE:
        word = "fail"
    is_standing = result is probe.stored_result and probe.last_run is not None
    mark = standing_mark(probe, marks) if is_standing else result_mark(result, marks)
    role = Role.WARNING if result is Result.FAILURE else mark.role
    shown_mark = spinner or mark._replace(role=role)
    yield from _marked(shown_mark, word, role)
    # In five cells `>=12/30` becomes `>=12`: the run matters more than the threshold.
    yield from _marked(shown_mark, word.partition("/")[0], role)


def _spinner(probe: ProbeSnapshot, view: View) -> Span | None:
    """Return the spinner that replaces the mark while the probe runs, or None.

    It advances no more often than the times on the screen.
    """
    since = probe.in_flight_since
    if since is None or probe.is_result_held or view.now - since < _SPINNER_STEP:
        return None
    frames = view.marks.spinner
    return Span(frames[(view.now - since) // _SPINNER_STEP % len(frames)], Role.ACCENT)
