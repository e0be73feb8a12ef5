"""The settings of a container and its latest status, for a pane beside others."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from probetui.presentation.container.detail import Subject
from probetui.presentation.kubectl.describe import describe_lines
from probetui.presentation.kubectl.describe_container import describe_container
from probetui.presentation.kubectl.text import NONE, DescribeRow
from probetui.presentation.probe.explain import setting_rows
from probetui.presentation.probe.state import format_handler
from probetui.presentation.text.spans import Line, line, muted, strong
from probetui.presentation.text.view import View

INDENT = 13
_LABEL = 10
_LEFT_OUT = ("Container ID:", "Image ID:")
"""What says nothing to people."""


def facts_lines(subject: Subject, view: View) -> Iterator[Line]:
    """Yield what the chosen probe does, and how soon; then settings and status."""
    pod, container, probe = subject.pod, subject.container, subject.probe
    if probe is not None:
        kind = probe.key.probe_type
        yield line(strong(kind.lower()), "  ", muted(format_handler(probe.probe, view)))
        # As the session has it now, edits included.
        own = replace(container.container, **{f"{kind.lower()}_probe": probe.probe})
        for label, text in setting_rows(pod.pod, own, kind, view):
            yield line(muted(f"  {label:<{_LABEL}} "), text)
    rows = describe_container(pod.pod, container.container, container.status, view)
    yield from describe_lines(filter(_says_something, rows), view)


def _says_something(row: DescribeRow) -> bool:
    return row.cells[0] not in _LEFT_OUT and row.cells[-1] not in {NONE, ""}
