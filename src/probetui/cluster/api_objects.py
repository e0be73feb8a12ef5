"""Objects of an API server, validated before anything reads their fields.

A server may send JSON of any shape. An object that does not fit the API's schema is
reported and skipped; the types of an object that passed can be relied on.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeVar

import msgspec
from lightkube.models import core_v1
from msgspec import Meta, Struct, field

from probetui.cluster.client import Object
from probetui.cluster.errors import ClusterError
from probetui.k8s.api.codec import ApiFormatError
from probetui.k8s.api.pod import POD
from probetui.k8s.api.status import POD_STATUS
from probetui.safe_text import safe_line

Model = TypeVar("Model", bound=Struct)
Int32 = Annotated[int, Meta(ge=-(2**31), lt=2**31)]

_LONGEST_TEXT = 200
_LONGEST_NAME = 80


class Metadata(Struct, rename="camel"):
    """The fields that are read of an object's metadata."""

    name: str | None = None
    uid: str | None = None
    resource_version: str | None = None


class Taint(Struct):
    """The fields that are read of a taint."""

    key: str


class NodeCondition(Struct, rename="camel"):
    """The fields that are read of a node's condition."""

    type: str
    status: str | None = None
    last_transition_time: str | None = None


class NodeAddress(Struct):
    """An address of a node."""

    type: str
    address: str


class NodeSpec(Struct):
    """The fields that are read of a node's spec."""

    taints: list[Taint] | None = None


class NodeSystemInfo(Struct, rename="camel"):
    """The fields that are read of a node's system."""

    kubelet_version: str = ""


class KubeletEndpoint(Struct):
    """The endpoint of a kubelet's own API."""

    port: Int32 = field(default=10250, name="Port")


class DaemonEndpoints(Struct, rename="camel"):
    """The ports of a node's daemons."""

    kubelet_endpoint: KubeletEndpoint | None = None


class NodeStatus(Struct, rename="camel"):
    """The fields that are read of a node's status."""

    conditions: list[NodeCondition] | None = None
    addresses: list[NodeAddress] | None = None
    daemon_endpoints: DaemonEndpoints | None = None
    node_info: NodeSystemInfo | None = None


class NodeObject(Struct):
    """The fields that are read of a node."""

    metadata: Metadata
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class LeaseSpec(Struct, rename="camel"):
    """The fields that are read of a lease's spec."""

    renew_time: Annotated[datetime, Meta(tz=True)] | None = None


class LeaseObject(Struct):
    """The fields that are read of a lease."""

    metadata: Metadata
    spec: LeaseSpec | None = None


class UnreadableObjectError(ClusterError):
    """An object of the API server does not fit the API's schema."""


def read_object(model: type[Model], json: Object) -> Model:
    """Decode a named object into its type.

    Raises:
        UnreadableObjectError: it does not fit; the message names object and field.
    """
    try:
        value = msgspec.convert(json, model)
    except (msgspec.ValidationError, ValueError) as error:
        raise _unreadable(model, json, str(error)) from error
    metadata = json.get("metadata")
    if metadata is None or not metadata.get("name"):
        raise _unreadable(model, json, "metadata.name is missing")
    return value


def check_pod(json: Object) -> Object:
    """Return a pod unchanged if every field has the type of the schema.

    Raises:
        UnreadableObjectError: it has not.
    """
    if read_object(core_v1.Pod, json).spec is None:
        raise _unreadable(core_v1.Pod, json, "spec is missing")
    try:
        pod = POD.read(json)
        POD_STATUS.read(json.get("status") or {})
    except ApiFormatError as error:
        raise _unreadable(core_v1.Pod, json, str(error)) from error
    if not pod.uid:
        raise _unreadable(core_v1.Pod, json, "metadata.uid is missing")
    return json


def check_node(json: Object) -> Object:
    """Return a node unchanged if every field has the type of the schema.

    Raises:
        UnreadableObjectError: it has not.
    """
    if not read_object(NodeObject, json).metadata.uid:
        raise _unreadable(NodeObject, json, "metadata.uid is missing")
    return json


def check_lease(json: Object) -> Object:
    """Return a lease unchanged if every field has the type of the schema.

    Raises:
        UnreadableObjectError: it has not.
    """
    read_object(LeaseObject, json)
    return json


def _unreadable(model: type[Struct], json: Object, why: str) -> UnreadableObjectError:
    kind = model.__name__.removesuffix("Object")
    return UnreadableObjectError(
        f"{kind} {name_of(json)} of the API server cannot be read: "
        f"{safe_line(why, limit=_LONGEST_TEXT)}"
    )


def name_of(json: Object) -> str:
    """Format the namespace and name of an object, as far as it has them."""
    metadata = json.get("metadata")
    if not isinstance(metadata, dict):
        return "?"
    parts = (metadata.get(key) for key in ("namespace", "name"))
    texts = [part for part in parts if isinstance(part, str) and part]
    return safe_line("/".join(texts) or "?", limit=_LONGEST_NAME)
