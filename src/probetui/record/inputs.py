"""Inputs of the engine as JSON and back, for replays.

Most relists bring nothing new, so a relist has only the differences from the one
before: `order` (the pods' UIDs), `changed` (by UID), and `seen` (when each pod was
inspected, in microseconds after `startedAt`, null for as before).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.engine.inputs import AddPod, Input, SetObjects, SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimePodStatus
from probetui.k8s.volume import ConfigObject, Secret
from probetui.kubelet.facts import OperationFinished, ProbeFinished, Relisted
from probetui.kubelet.images.keyring import is_pull_secret, mask_pull_secret
from probetui.kubelet.outcome import Attempt
from probetui.record.masking import MASKED, Mask
from probetui.record.values import DamageError, decode_value, encode_value
from probetui.values import Instant, Value

_MICROSECOND = timedelta(microseconds=1)
_RELISTED = "Relisted"


class InputEncoder:
    """Encodes the inputs of one session, in order; the first relist in full.

    Args:
        mask: masks secrets; None to keep them.
    """

    def __init__(self, mask: Mask | None) -> None:
        self._mask = mask
        self._pods: dict[str, RuntimePodStatus] | None = None

    def encode(self, item: Input) -> dict[str, Any]:
        """Return an input as `encode_value` does, for `encode_input`."""
        if isinstance(item, Relisted):
            return self._relisted(item)
        if self._mask is not None:
            item = _mask_input(item, self._mask)
        encoded: dict[str, Any] = encode_value(item)
        return encoded

    def _relisted(self, item: Relisted) -> dict[str, Any]:
        known, before = self._pods, self._pods or {}
        pods = self._pods = {status.pod_uid: status for status in item.pods}
        encoded: dict[str, Any] = {
            "is": _RELISTED,
            "startedAt": item.started_at,
        }
        if known is None or list(pods) != list(known):
            encoded["order"] = list(pods)
        changed = {
            uid: encode_value(pod)
            for uid, pod in pods.items()
            if not _is_same(pod, before.get(uid))
        }
        if changed:
            encoded["changed"] = changed
        seen = [
            None
            if uid in changed
            or pod.seen_at is None
            or pod.seen_at == before[uid].seen_at
            else (pod.seen_at - item.started_at) // _MICROSECOND
            for uid, pod in pods.items()
        ]
        if any(offset is not None for offset in seen):
            encoded["seen"] = seen
        return encoded


class _Relist(Value, frozen=True):
    """A relist as it is encoded."""

    started_at: Instant
    order: tuple[str, ...] | None = None
    changed: Mapping[str, RuntimePodStatus] = field(default_factory=dict)
    seen: tuple[int | None, ...] = ()


class _InputLine(Struct, frozen=True):
    """Where an input stands; msgspec keeps its plan for a struct, not for a union."""

    input: Input


class InputDecoder:
    """Decodes what an `InputEncoder` encoded, from the first input on."""

    def __init__(self) -> None:
        self._pods: dict[str, RuntimePodStatus] = {}

    def decode(self, json: Mapping[str, Any]) -> Input:
        """Return an input.

        Raises:
            DamageError: it is not one, or says only what differs from one before it
                that is not there.
        """
        if json.get("is") == _RELISTED:
            return self._relisted(decode_value(_Relist, json))
        line: _InputLine = decode_value(_InputLine, {"input": json})
        return line.input

    def _relisted(self, read: _Relist) -> Relisted:
        known = {**self._pods, **read.changed}
        order = self._pods if read.order is None else read.order
        for uid in order:
            if uid not in known:
                raise DamageError(f"no line before it describes pod {uid}")
        pods = {uid: known[uid] for uid in order}
        for uid, offset in zip(pods, read.seen, strict=False):
            if offset is not None:
                seen_at = read.started_at + offset * _MICROSECOND
                pods[uid] = replace(pods[uid], seen_at=seen_at)
        self._pods = pods
        return Relisted(tuple(pods.values()), read.started_at)


def _is_same(pod: RuntimePodStatus, before: RuntimePodStatus | None) -> bool:
    """Return whether a pod did not change, whenever it was inspected."""
    if pod is before:
        return True
    if before is None or (pod.seen_at is None) != (before.seen_at is None):
        return False
    return replace(pod, seen_at=before.seen_at) == before


# -- secrets


def _mask_input(item: Input, mask: Mask) -> Input:
    match item:
        case AddPod(pod):
            return AddPod(_mask_pod(pod, mask))
        case SetPods(pods):
            return replace(item, pods=tuple(_mask_pod(pod, mask) for pod in pods))
        case SetObjects(objects):
            return SetObjects(tuple(map(_mask_object, objects)))
        case OperationFinished(value=str(value)):
            return replace(item, value=mask.text(value))
        case ProbeFinished(outcome=outcome):
            attempts = tuple(
                _mask_attempt(attempt, mask) for attempt in outcome.attempts
            )
            if all(map(operator.is_, attempts, outcome.attempts)):
                return item
            return replace(item, outcome=replace(outcome, attempts=attempts))
        case _:
            return item


def _mask_attempt(attempt: Attempt, mask: Mask) -> Attempt:
    """Mask the headers of an answer; its texts are masked with those of all inputs."""
    if attempt.http is None:
        return attempt
    headers = mask.headers(attempt.http.headers)
    if headers is attempt.http.headers:
        return attempt
    return replace(attempt, http=replace(attempt.http, headers=headers))


def _mask_object(value: ConfigObject) -> ConfigObject:
    if isinstance(value, Secret) and is_pull_secret(value):
        # Its registries say with how many credentials an image is pulled.
        return mask_pull_secret(value, MASKED)
    if isinstance(value, Secret):
        return replace(value, data=dict.fromkeys(value.data, MASKED.encode()))
    return value


def _mask_pod(pod: Pod, mask: Mask) -> Pod:
    """Mask what has a secret name, and where the same text is repeated.

    Names and images stay: an engine that is given them again takes them for the same.
    """
    annotations = {
        name: mask.value(name, value) for name, value in pod.annotations.items()
    }
    return replace(mask.pod(pod), annotations=annotations)
