"""Format one event in full, and events as a cluster lists them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from probetui.analysis.event_aggregation import AggregatedEvent
from probetui.k8s.event import EventType
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.presentation.events.log import EventLine, format_event_line
from probetui.presentation.kubectl.text import format_event_age
from probetui.presentation.text.cells import all_lines, one_line
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.report import report_tick

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


def event_detail(
    entry: EventLine,
    fold: AggregatedEvent | None,
    view: View,
    earlier: Sequence[EventLine] = (),
) -> list[Line]:
    """Return one line of the log in full, with the earlier lines of its row."""
    lines = [_heading(entry, view), *_message(entry, view)]
    lines += [
        line(muted(_MARGIN + format_event_line(shown, view))) for shown in earlier
    ]
    if entry.tick is not None:
        lines.append(line(_MARGIN, Span(report_tick(entry.tick).steps, Role.ACCENT)))
    return [*lines, EMPTY, *_in_a_cluster(fold, view)]


def format_as_kubectl(fold: AggregatedEvent | None, view: View) -> str:
    """Format an event as `kubectl describe` does; empty if it would not show it."""
    if fold is None or fold.shown is None:
        return ""
    from probetui.presentation.kubectl.describe import describe_events  # noqa: PLC0415

    return "\n".join(text_of(event) for event in describe_events([fold.shown], view))


def _heading(entry: EventLine, view: View) -> Line:
    tick = entry.tick
    name = f"{entry.type} {view.safe(entry.reason)}"
    if entry.word and not entry.is_cluster_event:
        name = view.safe(entry.word)
    heading = f"{view.times.stamp(entry.at)}  {name}"
    if entry.object:
        heading += f"  {view.safe(entry.object)}"
    by = "" if tick is None else f"   {tick.key.probe_type.lower()} tick #{tick.n}"
    return line(strong(heading), muted(by))


def _message(entry: EventLine, view: View) -> Iterator[Line]:
    for text in all_lines(view.mask.text(entry.message)):
        yield line(_MARGIN, text)


def _in_a_cluster(fold: AggregatedEvent | None, view: View) -> Iterator[Line]:
    if fold is None:
        yield line(muted(f"{_MARGIN}not shown in a cluster"))
        return
    if fold.is_dropped:
        warning = (
            "a cluster drops this event: 25 per pod at once, then one every 5 minutes"
        )
        yield line(_MARGIN, Span(warning, Role.WARNING))
    if fold.shown is None:
        return
    yield line(muted(f"{_MARGIN}{_folding(fold)}"))
    shown = fold.shown
    columns = (
        shown.type,
        shown.reason,
        format_event_age(shown, view.now),
        "kubelet",
        shown.message.strip(),
    )
    yield line(_MARGIN, view.safe("  ".join(columns)))


def _folding(fold: AggregatedEvent) -> str:
    """Describe how many events a cluster combines into one."""
    if fold.shown is None or fold.shown.count <= 1:
        return "in a cluster:"
    over = f", of {_number(fold.instances)} instances," if fold.instances > 1 else ""
    kind = "similar ones" if fold.shown.is_combined else "these"
    return f"a cluster combines {fold.shown.count} of {kind}{over} into one:"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


class ClusterCells(Struct, frozen=True):
    """The columns of `kubectl events`."""

    age: Line
    type: Line
    reason: Line
    object: Line
    message: Line


def cluster_cells(
    event: ClusterEvent, names: Mapping[str, str], view: View
) -> ClusterCells:
    """Return the row of a cluster's event; `names` has the pods' names by UID."""
    is_warning = event.type is EventType.WARNING
    role = Role.WARNING if is_warning else Role.PLAIN
    name = names.get(event.pod_uid, event.pod_uid)
    message = one_line(
        view.mask.text(event.message.strip()), newline=view.marks.newline
    )
    return ClusterCells(
        line(muted(format_event_age(event, view.now))),
        line(Span(event.type, role)),
        line(Span(view.safe(event.reason), role)),
        line(view.safe(f"pod/{name}")),
        line(message),
    )


def cluster_text(event: ClusterEvent, names: Mapping[str, str], view: View) -> str:
    """Return a cluster's event as one text, for search and copying."""
    cells = cluster_cells(event, names, view)
    columns = (cells.age, cells.type, cells.reason, cells.object, cells.message)
    return "  ".join("".join(span.text for span in column) for column in columns)
