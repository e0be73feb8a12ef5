"""One event in full: its message, what its tick led to, what a cluster shows of it."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.presentation.consequences import consequences
from probetui.presentation.events import EventLine
from probetui.presentation.folding import Fold
from probetui.presentation.kubectl_times import event_age
from probetui.presentation.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
    text_of,
)
from probetui.presentation.text_cells import all_lines
from probetui.presentation.view import View

_MARGIN = "  "
_NUMBERS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
)


def event_detail(entry: EventLine, fold: Fold | None, view: View) -> list[Line]:
    """Return everything about one line of the log."""
    lines = [_heading(entry, view), *_message(entry, view)]
    if entry.tick is not None:
        lines.append(line(_MARGIN, Span(consequences(entry.tick), Role.ACCENT)))
    return [*lines, EMPTY, *_in_a_cluster(fold, view)]


def as_kubectl_describes(fold: Fold | None, view: View) -> str:
    """Return what `kubectl describe` would show of an event; empty if nothing."""
    if fold is None or fold.shown is None:
        return ""
    # Late: on the first screen nobody reads of an event what a cluster would show.
    from probetui.presentation.describe import describe_events  # noqa: PLC0415

    return "\n".join(text_of(each) for each in describe_events([fold.shown], view))


def one_text(entry: EventLine, view: View) -> str:
    """Return a line of the log as one text, to be copied."""
    parts = (
        view.times.stamp(entry.at),
        entry.type,
        entry.reason,
        entry.object,
        f"[{entry.note}]" if entry.note else "",
        entry.message.strip(),
    )
    words = " ".join(each for each in parts if each)
    return " ".join(all_lines(view.mask.text(words)))


def _heading(entry: EventLine, view: View) -> Line:
    tick = entry.tick
    words = f"{view.times.stamp(entry.at)}  {entry.type} {view.safe(entry.reason)}"
    where = f"  {view.safe(entry.object)}" if entry.object else ""
    by = "" if tick is None else f"   {tick.key.probe_type.lower()} tick #{tick.n}"
    return line(strong(f"{words}{where}"), muted(by))


def _message(entry: EventLine, view: View) -> Iterator[Line]:
    for each in all_lines(view.mask.text(entry.message)):
        yield line(_MARGIN, each)


def _in_a_cluster(fold: Fold | None, view: View) -> Iterator[Line]:
    if fold is None:
        words = "a cluster shows nothing of this"
        yield line(muted(f"{_MARGIN}{words}"))
        return
    if fold.is_dropped:
        words = "a cluster drops this one: a pod has 25 at once, then one in 5 minutes"
        yield line(_MARGIN, Span(words, Role.WARNING))
    if fold.shown is None:
        return
    yield line(muted(f"{_MARGIN}{_folding(fold)}"))
    shown = fold.shown
    words = f"{shown.type}  {shown.reason}  {event_age(shown, view.now)}  kubelet  "
    yield line(_MARGIN, view.safe(f"{words}{shown.message.strip()}"))


def _folding(fold: Fold) -> str:
    """Return how many events a cluster shows as one."""
    if fold.shown is None or fold.shown.count <= 1:
        return "a cluster shows:"
    lives = (
        f", over {_number(fold.lives)} lives of the container,"
        if fold.lives > 1
        else ""
    )
    kind = "similar ones" if fold.shown.is_combined else "these"
    return f"a cluster folds {fold.shown.count} of {kind}{lives} into one:"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)
