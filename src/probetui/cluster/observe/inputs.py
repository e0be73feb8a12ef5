"""Inputs of an observation, as values, and as JSON for records and replays.

A pod's definition is written once, and again when it has changed; of a poll only the
counts that are others.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct

from probetui.engine.inputs import AddPod
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.event import Event
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.status import PodStatus
from probetui.record.inputs import InputDecoder, InputEncoder
from probetui.record.masking import Mask
from probetui.record.values import DamageError, decode_value, encode_value


class PodSeen(Struct, frozen=True):
    """A pod as it is now; what comes by a list is no news: it may be old."""

    pod: Pod
    status: PodStatus
    node: str
    is_news: bool


class PodGone(Struct, frozen=True):
    """A pod was deleted."""

    uid: str


class SeenEvent(Struct, frozen=True):
    """An event object as it is after an update; `count` is of all its occurrences."""

    event: Event
    count: int
    first_at: datetime


class SeriesCounts(NamedTuple):
    """How often a worker's probe has succeeded and failed."""

    key: ProbeKey
    successes: int
    failures: int


class CountersPolled(Struct, frozen=True):
    """A kubelet has answered: successes and failures that changed, and what is gone."""

    node: str
    asked_at: datetime
    changed: tuple[SeriesCounts, ...]
    gone: tuple[ProbeKey, ...]


class PollFailed(Struct, frozen=True):
    """A kubelet has not answered, and is asked again."""

    node: str


class CountersLost(Struct, frozen=True):
    """A kubelet's counters cannot be read."""

    node: str
    reason: str


class KubeletFound(Struct, frozen=True):
    """A node's kubelet has the rules of this version, `major.minor`."""

    node: str
    version: str


class ServerLost(Struct, frozen=True):
    """The API server does not answer."""

    reason: str


class ServerFound(Struct, frozen=True):
    """The API server answers again."""


class Remark(Struct, frozen=True):
    """A note for the user."""

    text: str
    is_fault: bool


ObservedInput = (
    PodSeen
    | PodGone
    | SeenEvent
    | CountersPolled
    | PollFailed
    | CountersLost
    | KubeletFound
    | ServerLost
    | ServerFound
    | Remark
)

_PLAIN: Mapping[str, type[Struct]] = {
    "PodGone": PodGone,
    "EventSeen": SeenEvent,
    "CountersPolled": CountersPolled,
    "PollFailed": PollFailed,
    "CountersLost": CountersLost,
    "KubeletFound": KubeletFound,
    "ServerLost": ServerLost,
    "ServerFound": ServerFound,
    "Remark": Remark,
}
"""What each is called in records: never changed, whatever the class is called."""

_NAMES = {kind: name for name, kind in _PLAIN.items()}
_POD, _STATUS = "AddPod", "PodStatusSeen"
"""A pod is in records of all sessions what readers find pods by."""


class ObservedInputEncoder:
    """Encodes the inputs of one observation, in order.

    Args:
        mask: masks secrets of pods; None to keep them.
    """

    def __init__(self, mask: Mask | None) -> None:
        self._pods = InputEncoder(mask)
        self._known: dict[str, Pod] = {}

    def encode(self, item: ObservedInput) -> dict[str, Any]:
        """Return an input as `json.dumps` takes it."""
        if not isinstance(item, PodSeen):
            kind = type(item)
            return {"is": _NAMES[kind], **encode_value(kind, item)}
        uid = item.pod.uid
        fields = {
            "status": POD_STATUS.write(item.status),
            "node": item.node,
            "isNews": item.is_news,
        }
        if self._known.get(uid) == item.pod:
            return {"is": _STATUS, "uid": uid, **fields}
        self._known[uid] = item.pod
        return {**self._pods.encode(AddPod(item.pod)), **fields}


class ObservedInputDecoder:
    """Decodes what an `ObservedInputEncoder` encoded, from the first input on."""

    def __init__(self) -> None:
        self._known: dict[str, Pod] = {}

    def decode(self, json: Mapping[str, Any]) -> ObservedInput:
        """Return an input.

        Raises:
            DamageError: it is none, or is of a pod that no line before it describes.
        """
        name = json.get("is")
        try:
            if name not in {_POD, _STATUS}:
                kind = _PLAIN.get(str(name))
                if kind is None:
                    raise DamageError(f"{name!r} is nothing that is observed")
                decoded: ObservedInput = decode_value(kind, dict(json))
                return decoded
            return self._pod_seen(json)
        except (ValueError, OverflowError, KeyError, TypeError) as error:
            raise DamageError(str(error)) from None

    def _pod_seen(self, json: Mapping[str, Any]) -> PodSeen:
        if json["is"] == _POD:
            item = InputDecoder().decode(json)
            if not isinstance(item, AddPod):
                raise DamageError("it has no pod")
            pod = self._known[item.pod.uid] = item.pod
        else:
            known = self._known.get(str(json["uid"]))
            if known is None:
                raise DamageError(f"no line before it describes pod {json['uid']}")
            pod = known
        status = POD_STATUS.read(json["status"])
        return PodSeen(pod, status, str(json["node"]), bool(json["isNews"]))
