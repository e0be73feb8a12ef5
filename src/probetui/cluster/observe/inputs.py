"""Inputs of an observation, as values, and as JSON for records and replays.

A pod's definition is written once and after each change; a poll, only with the counts
that changed.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from probetui.values import Instant, Kind


class Unsampled(Struct, frozen=True):
    """Since when a container may have changed, of which there are samples alone.

    `ready` is the last sample before its readiness may have been another, `started` the
    last instant at which its instance may not have run; None for what is known.
    """

    ready: Instant | None = None
    started: Instant | None = None


class PodSeen(Struct, frozen=True):
    """The current state of a pod; `is_news` is False from a list, which may be old.

    `unsampled` is what samples do not tell, by the names of containers.
    """

    pod: Pod
    status: PodStatus
    node: str
    is_news: bool
    unsampled: Mapping[str, Unsampled] = {}


class PodGone(Kind, frozen=True):
    """A pod was deleted."""

    uid: str


class SeenEvent(Kind, frozen=True, tag="EventSeen"):
    """An event after an update; `count` is the number of all its occurrences."""

    event: Event
    count: int
    first_at: Instant


class SeriesCounts(NamedTuple):
    """The successes and failures of a worker's probe."""

    key: ProbeKey
    successes: int
    failures: int


class CountersPolled(Kind, frozen=True):
    """A kubelet's answer to a poll: counts that changed, and series that are gone."""

    node: str
    asked_at: Instant
    changed: tuple[SeriesCounts, ...]
    gone: tuple[ProbeKey, ...]


class RestartsBounded(Kind, frozen=True):
    """How often a container may have been restarted at the results polled next.

    It comes before each poll of a worker whose polls are samples of a store: these are
    seldom, so that it is followed by its results and restarts alone. Both are None if
    the restarts are not known.
    """

    key: ProbeKey
    least: int | None
    most: int | None


class PastEnded(Kind, frozen=True):
    """Whatever came before it are samples of a store; what comes next is watched."""


class PollFailed(Kind, frozen=True):
    """A kubelet did not answer a poll, which will be retried."""

    node: str


class CountersLost(Kind, frozen=True):
    """A kubelet's counters cannot be read."""

    node: str
    reason: str


class KubeletFound(Kind, frozen=True):
    """The version of a node's kubelet, `major.minor`, which selects its rules."""

    node: str
    version: str


class ServerLost(Kind, frozen=True):
    """The API server does not answer."""

    reason: str


class ServerFound(Kind, frozen=True):
    """The API server answers again."""


class Remark(Kind, frozen=True):
    """A note for the user."""

    text: str
    is_fault: bool


_Plain = (
    PodGone
    | SeenEvent
    | CountersPolled
    | RestartsBounded
    | PastEnded
    | PollFailed
    | CountersLost
    | KubeletFound
    | ServerLost
    | ServerFound
    | Remark
)
"""What is written as it is."""

ObservedInput = PodSeen | _Plain


class _PlainLine(Struct, frozen=True):
    """Where such an input stands."""

    input: _Plain


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
        """Encode an input in the form that `encode_input` expects."""
        if not isinstance(item, PodSeen):
            encoded: dict[str, Any] = encode_value(item)
            return encoded
        uid = item.pod.uid
        fields = {
            "status": POD_STATUS.write(item.status),
            "node": item.node,
            "isNews": item.is_news,
        }
        if item.unsampled:
            fields["unsampled"] = {
                name: encode_value(each) for name, each in item.unsampled.items()
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
        """Decode an input.

        Raises:
            DamageError: it is invalid, or its pod is not described by an earlier line.
        """
        name = json.get("is")
        try:
            if name in {_POD, _STATUS}:
                return self._pod_seen(json)
            line: _PlainLine = decode_value(_PlainLine, {"input": json})
        except (ValueError, OverflowError, KeyError, TypeError) as error:
            raise DamageError(str(error)) from None
        return line.input

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
        samples = json.get("unsampled", {})
        if not isinstance(samples, dict):
            raise DamageError("what samples do not tell is no object")
        unsampled = {
            str(name): decode_value(Unsampled, each) for name, each in samples.items()
        }
        return PodSeen(pod, status, str(json["node"]), bool(json["isNews"]), unsampled)
