"""Pod config: the pods of all sources, and what an update changes.

Source: kubelet/config/config.go, v1.32.10, podStorage.Merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import (
    CONFIG_MIRROR,
    CONFIG_SEEN,
    CONFIG_SOURCE,
    format_seen,
)
from probetui.k8s.status import PodStatus
from probetui.kubelet.runtime.go_format import go_quote

LOCAL_ANNOTATIONS = (CONFIG_SOURCE, CONFIG_MIRROR, CONFIG_SEEN)
FAILED_VALIDATION = "FailedValidation"
NO_STATUS = PodStatus()


class PodOperation(StrEnum):
    """The operation of an update.

    Inputs of a merge are all but RECONCILE; its results are all but SET.
    """

    SET = "SET"
    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    REMOVE = "REMOVE"
    RECONCILE = "RECONCILE"


class SourcedPod(Struct, frozen=True):
    """A pod and its status in the source."""

    pod: Pod
    status: PodStatus = NO_STATUS


class SourceUpdate(Struct, frozen=True):
    """An operation on pods of one source.

    SET means that these are all pods of the source. An ADD without pods marks the
    source as having reported.
    """

    operation: PodOperation
    source: str
    pods: tuple[SourcedPod, ...] = ()


class RefusedPod(Struct, frozen=True):
    """A refused pod, with the message of its Warning event."""

    pod: Pod
    message: str


class MergedUpdates(Struct, frozen=True):
    """The result of a merge: the changes in the order to make them."""

    updates: tuple[SourceUpdate, ...]
    refused: tuple[RefusedPod, ...] = ()


class PodConfig:
    """The pods of each source, by UID; owned by the engine."""

    __slots__ = ("_pods", "_set_sources")

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, SourcedPod]] = {}
        self._set_sources: set[str] = set()

    def is_seen(self, source: str) -> bool:
        """Return whether a source has delivered all its pods once."""
        return source in self._set_sources

    def merge(self, update: SourceUpdate, now: datetime) -> MergedUpdates:
        """Merge an update of one source and return the changes.

        Args:
            update: SET replaces the pods of its source; REMOVE drops those named;
                ADD, UPDATE and DELETE are all the same: put these in.
            now: when pods that are new were first seen.
        """
        source = update.source
        stored = self._pods.setdefault(source, {})
        is_first = False
        changes = _Changes()
        if update.operation is PodOperation.REMOVE:
            for pod in update.pods:
                known = stored.pop(pod.pod.uid, None)
                if known is not None:
                    changes.removes.append(known)
        elif update.operation is PodOperation.SET:
            is_first = source not in self._set_sources
            self._set_sources.add(source)
            kept = changes.merge_pods(update.pods, source, stored, {}, now)
            changes.removes += [pod for uid, pod in stored.items() if uid not in kept]
            self._pods[source] = kept
        elif update.operation is not PodOperation.RECONCILE:
            changes.merge_pods(update.pods, source, stored, stored, now)
        return MergedUpdates(
            changes.updates(source, is_first=is_first), tuple(changes.refused)
        )


class _Changes:
    """The changes of one merge, by operation."""

    __slots__ = ("adds", "changed", "deletes", "reconciles", "refused", "removes")

    def __init__(self) -> None:
        self.adds: list[SourcedPod] = []
        self.changed: list[SourcedPod] = []
        self.deletes: list[SourcedPod] = []
        self.removes: list[SourcedPod] = []
        self.reconciles: list[SourcedPod] = []
        self.refused: list[RefusedPod] = []

    def merge_pods(
        self,
        incoming: Iterable[SourcedPod],
        source: str,
        old: Mapping[str, SourcedPod],
        stored: dict[str, SourcedPod],
        now: datetime,
    ) -> dict[str, SourcedPod]:
        """Classify pods by their changes against `old`, and add them to `stored`."""
        names = set()
        for new in incoming:
            name = new.pod.full_name
            if name in names:
                self.refused.append(_duplicate(new.pod, source))
                continue
            names.add(name)
            known = old.get(new.pod.uid)
            if known is None:
                stored[new.pod.uid] = added = _first_seen(new, source, now)
                self.adds.append(added)
            else:
                stored[new.pod.uid] = self._against(known, new)
        return stored

    def updates(self, source: str, *, is_first: bool) -> tuple[SourceUpdate, ...]:
        """Return the changes in the order to make them."""
        changes = [
            (PodOperation.REMOVE, self.removes),
            (PodOperation.ADD, self.adds),
            (PodOperation.UPDATE, self.changed),
            (PodOperation.DELETE, self.deletes),
            (PodOperation.RECONCILE, self.reconciles),
        ]
        updates = [
            SourceUpdate(operation, source, tuple(pods))
            for operation, pods in changes
            if pods
        ]
        if is_first and not (self.adds or self.changed or self.deletes):
            # After the removes, and before the reconciles.
            updates.insert(bool(self.removes), SourceUpdate(PodOperation.ADD, source))
        return tuple(updates)

    def _against(self, known: SourcedPod, new: SourcedPod) -> SourcedPod:
        """Return the stored version of a known pod.

        Quirk, kept: its name and namespace stay what they were.
        """
        existing = known.pod
        local = _only_local(existing.annotations)
        candidate = replace(
            new.pod,
            name=existing.name,
            namespace=existing.namespace,
            created_at=existing.created_at,
            annotations={**_without_local(new.pod.annotations), **local},
        )
        if candidate == existing:
            if new.status == known.status:
                return known
            reconciled = SourcedPod(existing, new.status)
            self.reconciles.append(reconciled)
            return reconciled
        annotations = {**new.pod.annotations, **local}
        changed = SourcedPod(replace(candidate, annotations=annotations), new.status)
        is_deleted = new.pod.deletion_requested_at is not None
        (self.deletes if is_deleted else self.changed).append(changed)
        return changed


def _first_seen(new: SourcedPod, source: str, now: datetime) -> SourcedPod:
    annotations = {
        **new.pod.annotations,
        CONFIG_SOURCE: source,
        CONFIG_SEEN: format_seen(now),
    }
    return SourcedPod(replace(new.pod, annotations=annotations), new.status)


def _duplicate(pod: Pod, source: str) -> RefusedPod:
    message = (
        f"Error validating pod {pod.full_name}({pod.uid}) from {source} "
        f"due to duplicate pod name {go_quote(pod.name)}, ignoring"
    )
    return RefusedPod(pod, message)


def _only_local(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: annotations[key] for key in LOCAL_ANNOTATIONS if key in annotations}


def _without_local(annotations: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value for key, value in annotations.items() if key not in LOCAL_ANNOTATIONS
    }
