"""Format the conditions of a pod, and the changes by a reload of the manifests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from probetui.engine.snapshot import PodSnapshot, Snapshot
from probetui.k8s.pod import Pod
from probetui.k8s.pod_diff import FieldChange, diff_pods
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import ConditionStatus, PodPhase, Running
from probetui.presentation.text.spans import Line, Role, Span, line, muted, strong
from probetui.presentation.text.view import View

_LONG = timedelta(minutes=1)


def condition_lines(pod: PodSnapshot, name: str, view: View) -> list[Line]:
    """Return a heading and a line for each condition that is not True, if any."""
    shown = [
        condition
        for condition in pod.status.conditions
        if condition.status is not ConditionStatus.TRUE
    ]
    if not shown:
        return []
    kinds = [view.safe(condition.type) for condition in shown]
    width = max(map(len, kinds))
    heading = line(muted("conditions of "), strong(view.safe(name)))
    return [
        heading,
        *(
            line(
                f"  {kind.ljust(width)}  ",
                Span(condition.status.value, Role.WARNING),
                muted(f"  {view.safe(condition.reason)}".rstrip()),
            )
            for kind, condition in zip(kinds, shown, strict=True)
        ),
    ]


def long_running(snapshot: Snapshot) -> list[str]:
    """Return the names of the pods that run, and have for more than a minute."""
    long_ago = snapshot.taken_at - _LONG
    return [
        pod.pod.name
        for pod in snapshot.pods
        if pod.status.phase is PodPhase.RUNNING
        and any(began < long_ago for began in _beginnings(pod))
    ]


def _beginnings(pod: PodSnapshot) -> Iterator[datetime]:
    """Yield when a session took a pod on, and when its containers were started.

    Containers that an earlier session kept are older than the pod's status.
    """
    if pod.status.start_time is not None:
        yield pod.status.start_time
    for container in pod.containers:
        status = container.status
        if (
            status is not None
            and isinstance(status.state, Running)
            and status.state.started_at is not None
        ):
            yield status.state.started_at


class PodChange(Struct, frozen=True):
    """A pod that is new (`before` is None), gone (`after` is None) or changed."""

    before: Pod | None
    after: Pod | None
    fields: tuple[FieldChange, ...] = ()

    @property
    def name(self) -> str:
        """The pod's name."""
        pod = self.after or self.before
        return "" if pod is None else pod.name


def pod_changes(before: Sequence[Pod], after: Sequence[Pod]) -> tuple[PodChange, ...]:
    """Compare pods by namespace and name; return the changes in the new order."""
    old = {(pod.namespace, pod.name): pod for pod in before}
    new = {(pod.namespace, pod.name): pod for pod in after}
    return tuple(
        PodChange(old_pod, new_pod, fields)
        for key in dict.fromkeys((*new, *old))
        if (old_pod := old.get(key)) is not (new_pod := new.get(key))
        and (fields := _changed_fields(old_pod, new_pod)) is not None
    )


def change_lines(changes: Sequence[PodChange], view: View) -> list[Line]:
    """Return the changes pod by pod, with their effect on probes."""
    return [row for change in changes for row in _lines(change, view)]


def _changed_fields(
    before: Pod | None, after: Pod | None
) -> tuple[FieldChange, ...] | None:
    """Return the fields that differ, None if the pods are the same."""
    if before is None or after is None:
        return ()
    return diff_pods(before, after) or None


def _lines(change: PodChange, view: View) -> Iterator[Line]:
    name = strong(view.safe(change.name))
    if change.before is None:
        yield line(Span("+ ", Role.SUCCESS), name, "  new: will be created")
    elif change.after is None:
        yield line(Span("- ", Role.ERROR), name, "  gone: will be deleted")
    else:
        # The kubelet updates a pod that kept its UID in place.
        effect = (
            "  changed, same UID: containers and probe workers continue"
            if change.before.uid == change.after.uid
            else _effect_of_new_uid(change.after)
        )
        yield line(Span("~ ", Role.WARNING), name, effect)
    for path, before, after in change.fields:
        values = f"{view.safe(before) or '(none)'} -> {view.safe(after) or '(none)'}"
        yield line(f"    {view.safe(path)}  ", muted(values))


def _effect_of_new_uid(pod: Pod) -> str:
    workers = [
        f"{container.name} {kind.lower()}"
        for container in pod.all_containers()
        for kind in ProbeType
        if container.probe(kind) is not None
    ]
    restarts = f"; probe workers restart: {', '.join(workers)}" if workers else ""
    return f"  changed: the pod is deleted and recreated{restarts}"
