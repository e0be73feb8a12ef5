"""What went into the engine as JSON and back: with it, a session can be lived again.

Most relists bring nothing new, so a relist says only what is not as it was at the one
before: `order` (the pods' UIDs), `changed` (by UID), and `seen` (when each pod was
looked at, in microseconds after `startedAt`, null for as before).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from probetui.drive.masking import MASKED, Mask
from probetui.drive.record_lines import DamageError
from probetui.drive.value_json import decode_value, encode_value
from probetui.k8s.config import ConfigObject, Secret
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    LifecycleHandler,
    Probe,
)
from probetui.k8s.runtime import RuntimePodStatus
from probetui.kubelet.inputs import (
    AddPod,
    Input,
    OperationFinished,
    ProbeFinished,
    Relisted,
    SetObjects,
    SetPods,
)
from probetui.kubelet.outcome import Attempt

_MICROSECOND = timedelta(microseconds=1)
_RELISTED = "Relisted"


class InputEncoder:
    """Spells the inputs of one session, in order; the first relist as a whole.

    Args:
        mask: what is secret; None to keep secrets as they are.
    """

    def __init__(self, mask: Mask | None) -> None:
        self._mask = mask
        self._pods: dict[str, RuntimePodStatus] | None = None

    def encode(self, item: Input) -> dict[str, Any]:
        """Return an input as `json.dumps` takes it."""
        if isinstance(item, Relisted):
            return self._relisted(item)
        if self._mask is not None:
            item = _without_secrets(item, self._mask)
        encoded: dict[str, Any] = encode_value(Input, item)
        return encoded

    def _relisted(self, item: Relisted) -> dict[str, Any]:
        known, before = self._pods, self._pods or {}
        pods = self._pods = {each.pod_uid: each for each in item.pods}
        encoded: dict[str, Any] = {
            "is": _RELISTED,
            "startedAt": encode_value(datetime, item.started_at),
        }
        if known is None or list(pods) != list(known):
            encoded["order"] = list(pods)
        changed = {
            uid: encode_value(RuntimePodStatus, pod)
            for uid, pod in pods.items()
            if not _is_same(pod, before.get(uid))
        }
        if changed:
            encoded["changed"] = changed
        seen = [
            None
            if uid in changed or pod.seen_at in {None, before[uid].seen_at}
            else _offset(pod.seen_at, item.started_at)
            for uid, pod in pods.items()
        ]
        if any(each is not None for each in seen):
            encoded["seen"] = seen
        return encoded


@dataclass(frozen=True, slots=True)
class _Relist:
    """A relist as it is spelled."""

    started_at: datetime
    order: tuple[str, ...] | None = None
    changed: Mapping[str, RuntimePodStatus] = field(default_factory=dict)
    seen: tuple[int | None, ...] = ()


class InputDecoder:
    """Reads back what an `InputEncoder` spelled, from the first one on."""

    def __init__(self) -> None:
        self._pods: dict[str, RuntimePodStatus] = {}

    def decode(self, json: Mapping[str, Any]) -> Input:
        """Return an input.

        Raises:
            DamageError: it is not one, or says only what differs from one before it
                that is not there.
        """
        try:
            if json.get("is") == _RELISTED:
                return self._relisted(decode_value(_Relist, json))
            decoded: Input = decode_value(Input, json)
        except (ValueError, OverflowError) as error:
            raise DamageError(str(error)) from None
        return decoded

    def _relisted(self, read: _Relist) -> Relisted:
        known = {**self._pods, **read.changed}
        order = self._pods if read.order is None else read.order
        for uid in order:
            if uid not in known:
                raise DamageError(f"no line before it says what pod {uid} is")
        pods = {uid: known[uid] for uid in order}
        for uid, offset in zip(pods, read.seen, strict=False):
            if offset is not None:
                seen_at = read.started_at + offset * _MICROSECOND
                pods[uid] = replace(pods[uid], seen_at=seen_at)
        self._pods = pods
        return Relisted(tuple(pods.values()), read.started_at)


def _is_same(pod: RuntimePodStatus, before: RuntimePodStatus | None) -> bool:
    """Tell whether a pod is as it was, whenever it was looked at."""
    if pod is before:
        return True
    if before is None or (pod.seen_at is None) != (before.seen_at is None):
        return False
    return replace(pod, seen_at=before.seen_at) == before


def _offset(seen_at: datetime | None, started_at: datetime) -> int | None:
    return None if seen_at is None else (seen_at - started_at) // _MICROSECOND


# -- secrets


def _without_secrets(item: Input, mask: Mask) -> Input:
    match item:
        case AddPod(pod):
            return AddPod(_masked_pod(pod, mask))
        case SetPods(pods):
            return replace(item, pods=tuple(_masked_pod(each, mask) for each in pods))
        case SetObjects(objects):
            return SetObjects(tuple(map(_masked_object, objects)))
        case OperationFinished(value=str(value)):
            return replace(item, value=mask.text(value))
        case ProbeFinished(outcome=outcome):
            attempts = tuple(_masked_attempt(each, mask) for each in outcome.attempts)
            return replace(item, outcome=replace(outcome, attempts=attempts))
        case _:
            return item


def _masked_attempt(attempt: Attempt, mask: Mask) -> Attempt:
    """Mask the headers of an answer; its texts are masked with those of all inputs."""
    if attempt.http is None:
        return attempt
    headers = _masked_headers(attempt.http.headers, mask)
    return replace(attempt, http=replace(attempt.http, headers=headers))


def _masked_headers(
    headers: tuple[HTTPHeader, ...], mask: Mask
) -> tuple[HTTPHeader, ...]:
    return tuple(
        replace(header, value=mask.value(header.name, header.value))
        for header in headers
    )


def _masked_object(value: ConfigObject) -> ConfigObject:
    if isinstance(value, Secret):
        return replace(value, data=dict.fromkeys(value.data, MASKED.encode()))
    return value


def _masked_pod(pod: Pod, mask: Mask) -> Pod:
    def masked(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(_masked_container(each, mask) for each in containers)

    return replace(
        pod,
        annotations={
            name: mask.value(name, value) for name, value in pod.annotations.items()
        },
        init_containers=masked(pod.init_containers),
        containers=masked(pod.containers),
    )


def _masked_container(container: Container, mask: Mask) -> Container:
    """Mask what has a secret name, and where the same text is repeated.

    Name and image stay: an engine that is given it again takes it for the same.
    """
    return replace(
        container,
        command=_masked_words(container.command, mask),
        args=_masked_words(container.args, mask),
        env=tuple(
            replace(each, value=mask.value(each.name, each.value))
            for each in container.env
        ),
        startup_probe=_masked_probe(container.startup_probe, mask),
        liveness_probe=_masked_probe(container.liveness_probe, mask),
        readiness_probe=_masked_probe(container.readiness_probe, mask),
        post_start=_masked_hook(container.post_start, mask),
        pre_stop=_masked_hook(container.pre_stop, mask),
    )


def _masked_words(words: tuple[str, ...], mask: Mask) -> tuple[str, ...]:
    return tuple(map(mask.text, words))


def _masked_probe(probe: Probe | None, mask: Mask) -> Probe | None:
    if probe is None:
        return None
    match probe.handler:
        case ExecAction() | HTTPGetAction() as handler:
            return replace(probe, handler=_masked_handler(handler, mask))
        case _:
            return probe


def _masked_hook(
    handler: LifecycleHandler | None, mask: Mask
) -> LifecycleHandler | None:
    match handler:
        case ExecAction() | HTTPGetAction():
            return _masked_handler(handler, mask)
        case _:
            return handler


def _masked_handler(
    handler: ExecAction | HTTPGetAction, mask: Mask
) -> ExecAction | HTTPGetAction:
    if isinstance(handler, ExecAction):
        return ExecAction(_masked_words(handler.command, mask))
    headers = _masked_headers(handler.http_headers, mask)
    return replace(handler, path=mask.text(handler.path), http_headers=headers)
