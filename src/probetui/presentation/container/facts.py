"""The settings of a container and its latest status, and its pod, for two panes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from msgspec.structs import replace

from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.table import state
from probetui.presentation.kubectl.describe import (
    describe_lines,
    pod_conditions,
    pod_facts,
)
from probetui.presentation.kubectl.describe_container import describe_container
from probetui.presentation.kubectl.text import NONE, DescribeRow
from probetui.presentation.probe.explain import setting_rows
from probetui.presentation.probe.state import format_handler
from probetui.presentation.text.spans import EMPTY, Line, line, muted, strong, text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.trace import TWO_COLUMNS

INDENT = 13
_LABEL = 10
_GAP = 2
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


def pod_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return in which order the pod's containers start, and how far each is; the pod.

    In two columns where there is room.
    """
    pod = subject.pod
    order = []
    if len(pod.containers) > 1:
        order = [line(strong("Order of start:")), *_order(pod, view)]
    conditions, others = (
        describe_lines(rows, view)
        for rows in (pod_conditions(pod), pod_facts(pod, view))
    )
    if width < TWO_COLUMNS:
        return [*order, *conditions, *others]
    left, right = [*order, *conditions], others
    return [
        line(*first, " " * max(width // 2 - len(text_of(first)), 1), *second)
        for first, second in zip_longest(left, right, fillvalue=EMPTY)
    ]


def _order(pod: PodSnapshot, view: View) -> Iterator[Line]:
    """Yield the containers as they start, and what each waits for."""
    longest = max(len(each.container.name) for each in pod.containers) + _GAP
    awaited, number = "", 0
    for shown in sorted(pod.containers, key=lambda each: not _is_init(pod, each)):
        spec, is_init = shown.container, _is_init(pod, shown)
        # The regular containers start together.
        number += 1 if is_init or not awaited.startswith("with") else 0
        how = awaited or "at once"
        if is_init and spec.is_sidecar:
            awaited = f"once {spec.name} has started"
        elif is_init:
            awaited = f"once {spec.name} has exited with 0"
        else:
            awaited = f"with {spec.name}"
        name = view.safe(spec.name).ljust(longest)
        words = state(pod, shown, view)
        yield line(muted(f"  {number} "), name, words, muted(f", {view.safe(how)}"))


def _is_init(pod: PodSnapshot, shown: ContainerSnapshot) -> bool:
    return shown.container in pod.pod.init_containers


def _says_something(row: DescribeRow) -> bool:
    return row.cells[0] not in _LEFT_OUT and row.cells[-1] not in {NONE, ""}
