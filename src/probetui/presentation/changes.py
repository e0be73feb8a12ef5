"""What manifests that were read again ask for, against what runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from probetui.k8s.difference import Difference, differences
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.presentation.spans import Line, Role, Span, line, muted, strong
from probetui.presentation.view import View


@dataclass(frozen=True, slots=True)
class PodChange:
    """A pod that is new (`before` None), gone (`after` None), or not as it was."""

    before: Pod | None
    after: Pod | None
    fields: tuple[Difference, ...] = ()

    @property
    def name(self) -> str:
        """The pod's name."""
        pod = self.after or self.before
        return "" if pod is None else pod.name


def pod_changes(before: Sequence[Pod], after: Sequence[Pod]) -> tuple[PodChange, ...]:
    """Return what is not the same, in the order of what is asked for.

    Pods are the same pod if they have the same name.
    """
    old = {(each.namespace, each.name): each for each in before}
    new = {(each.namespace, each.name): each for each in after}
    return tuple(
        PodChange(one, other, fields)
        for key in dict.fromkeys((*new, *old))
        if (one := old.get(key)) is not (other := new.get(key))
        and (fields := _fields(one, other)) is not None
    )


def change_lines(changes: Sequence[PodChange], view: View) -> list[Line]:
    """Return what is to change, pod by pod, and what that does to its probes."""
    return [each for change in changes for each in _lines(change, view)]


def _fields(before: Pod | None, after: Pod | None) -> tuple[Difference, ...] | None:
    """Return the fields that differ, None if the pods are the same."""
    if before is None or after is None:
        return ()
    return differences(before, after) or None


def _lines(change: PodChange, view: View) -> Iterator[Line]:
    name = strong(view.safe(change.name))
    if change.before is None:
        yield line(Span("+ ", Role.SUCCESS), name, "  new: it is run")
    elif change.after is None:
        yield line(Span("- ", Role.ERROR), name, "  gone: it is ended")
    else:
        is_same = change.before.uid == change.after.uid
        follows = _in_place() if is_same else _as_a_new_pod(change.after)
        yield line(Span("~ ", Role.WARNING), name, follows)
    for path, before, after in change.fields:
        told = f"{view.safe(before) or '(none)'} -> {view.safe(after) or '(none)'}"
        yield line(f"    {view.safe(path)}  ", muted(told))


def _in_place() -> str:
    """Say what the kubelet does with a pod that has the same UID as before."""
    return "  changed, same UID: its containers and probe workers go on"


def _as_a_new_pod(pod: Pod) -> str:
    """Say what the kubelet does with a manifest of another UID."""
    workers = [
        f"{each.name} {kind.lower()}"
        for each in pod.all_containers()
        for kind in ProbeType
        if each.probe(kind) is not None
    ]
    told = f"; probe workers begin anew: {', '.join(workers)}" if workers else ""
    return f"  changed: it is ended, and run as a new pod{told}"
