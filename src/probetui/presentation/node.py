"""Format the node as tables: conditions, runtime, sources of pods, workers, images."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from probetui.durations import format_countdown
from probetui.engine.snapshot import NodeSnapshot, PodWorkerSnapshot, Snapshot
from probetui.presentation.kubectl.text import DescribeRow, describe_row, lines_of
from probetui.presentation.text.cells import format_bytes
from probetui.presentation.text.spans import Line, Role
from probetui.presentation.text.view import View

_NONE = "-"
_ID = len("sha256:") + 12
"""The number of characters that are shown of an image's ID."""

_RELIST_THRESHOLD = "threshold 3m0s"


def node_lines(snapshot: Snapshot, runtime_name: str, view: View) -> list[Line]:
    """Return the kubelet's state besides the pods."""
    node = snapshot.node
    gap = describe_row(0)
    rows = [
        *(*_node(snapshot, runtime_name, view), gap),
        *(*_conditions(node, view), gap),
        *(*_sources(node), gap),
        *(*_workers(snapshot, view), gap),
        *_images(node, view),
    ]
    return lines_of(rows)


def _node(snapshot: Snapshot, runtime_name: str, view: View) -> Iterator[DescribeRow]:
    node = snapshot.node
    yield describe_row(0, "Name:", view.safe(node.name) or _NONE)
    yield describe_row(0, "Kubelet:", f"v{snapshot.rules.release}")
    yield describe_row(0, "Runtime:", view.safe(runtime_name))
    if node.not_ready:
        text = f"False, {view.safe(node.not_ready)}"
        yield describe_row(0, "Ready:", text, role=Role.WARNING)
    else:
        text = "True, kubelet is posting ready status"
        yield describe_row(0, "Ready:", text, role=Role.SUCCESS)


def _conditions(node: NodeSnapshot, view: View) -> Iterator[DescribeRow]:
    yield describe_row(0, "Runtime conditions:")
    yield _heads("Type", "Status", "As of", "Reason")
    relisted = (
        f"relist {_ago(node.relisted_at, view)}, {_RELIST_THRESHOLD}"
        if node.relisted_at is not None
        else "no relist yet"
    )
    is_active = "PLEG" not in node.not_ready
    yield _condition("PLEG", relisted, "", is_true=is_active)
    for condition in node.conditions:
        reason = ": ".join(filter(None, (condition.reason, condition.message)))
        yield _condition(
            condition.type,
            _ago(node.checked_at, view),
            view.safe(reason),
            is_true=condition.status,
        )
    if not node.conditions:
        yield describe_row(1, "(the runtime is not asked for more)", role=Role.MUTED)
    if node.status_error:
        text = f"no answer: {view.safe(node.status_error)}"
        yield describe_row(1, text, role=Role.WARNING)


def _condition(name: str, as_of: str, reason: str, *, is_true: bool) -> DescribeRow:
    role = Role.PLAIN if is_true else Role.WARNING
    return describe_row(1, name, str(is_true), as_of, reason or _NONE, role=role)


def _sources(node: NodeSnapshot) -> Iterator[DescribeRow]:
    yield describe_row(0, "Sources of pods:")
    yield _heads("Name", "Pods", "Heard")
    for source in node.sources:
        heard = "yes" if source.is_heard else "no: nothing is cleaned up until then"
        role = Role.PLAIN if source.is_heard else Role.WARNING
        yield describe_row(1, source.name, str(source.pods), heard, role=role)


def _workers(snapshot: Snapshot, view: View) -> Iterator[DescribeRow]:
    names = {pod.pod.uid: pod.pod.name for pod in snapshot.pods}
    yield describe_row(0, "Pod workers:")
    yield _heads("Pod", "State", "Runs", "Waits", "Next sync")
    for worker in snapshot.node.workers:
        name = view.safe(names.get(worker.pod_uid, worker.pod_uid))
        yield describe_row(1, name, *_activity(worker, view))


def _activity(worker: PodWorkerSnapshot, view: View) -> Iterator[str]:
    yield worker.state
    yield worker.call or _NONE
    yield "1 update" if worker.has_update else _NONE
    yield (
        _NONE
        if worker.due_at is None
        else f"in {format_countdown(worker.due_at - view.now)}"
    )


def _images(node: NodeSnapshot, view: View) -> Iterator[DescribeRow]:
    if node.images_at is not None:
        text = (
            f"{node.image_count} with {format_bytes(node.image_bytes)}, listed "
            f"{_ago(node.images_at, view)}"
        )
        yield describe_row(0, "Images:", text)
    else:
        yield describe_row(0, "Images:", "not listed")
    if node.images_error:
        text = f"no answer: {view.safe(node.images_error)}"
        yield describe_row(1, text, role=Role.WARNING)
    for image in node.images:
        name = image.names[0] if image.names else f"<none> ({image.image_id[:_ID]})"
        yield describe_row(1, format_bytes(image.size_bytes), view.safe(name))


def _heads(*names: str) -> DescribeRow:
    return describe_row(1, *names, role=Role.MUTED)


def _ago(at: datetime | None, view: View) -> str:
    return _NONE if at is None else f"{format_countdown(view.now - at)} ago"
