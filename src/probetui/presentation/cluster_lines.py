"""Events as a cluster lists them: folded, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from probetui.k8s.event import EventType
from probetui.kubelet.event_recorder import ClusterEvent
from probetui.presentation.kubectl_times import event_age
from probetui.presentation.spans import Line, Role, Span, line, muted
from probetui.presentation.text_cells import one_line
from probetui.presentation.view import View


@dataclass(frozen=True, slots=True)
class ClusterCells:
    """The columns of `kubectl events`."""

    age: Line
    type: Line
    reason: Line
    object: Line
    message: Line


def cluster_cells(
    event: ClusterEvent, names: Mapping[str, str], view: View
) -> ClusterCells:
    """Return one event of a cluster; `names` says what to call each pod, by UID."""
    is_warning = event.type is EventType.WARNING
    role = Role.WARNING if is_warning else Role.PLAIN
    name = names.get(event.pod_uid, event.pod_uid)
    message = one_line(
        view.mask.text(event.message.strip()), newline=view.marks.newline
    )
    return ClusterCells(
        line(muted(event_age(event, view.now))),
        line(Span(event.type, role)),
        line(Span(view.safe(event.reason), role)),
        line(view.safe(f"pod/{name}")),
        line(message),
    )


def cluster_text(event: ClusterEvent, names: Mapping[str, str], view: View) -> str:
    """Return one event of a cluster as one text, to be looked for and copied."""
    cells = cluster_cells(event, names, view)
    columns = (cells.age, cells.type, cells.reason, cells.object, cells.message)
    return "  ".join("".join(span.text for span in each) for each in columns)
