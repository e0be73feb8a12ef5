"""Reviews in protobuf, which is how `kubectl auth` sends them.

All other requests, and all responses, are JSON.

Source: k8s.io/api authorization/v1/generated.proto and
authentication/v1/generated.proto, v0.36.2; k8s.io/apimachinery
pkg/runtime/generated.proto, Unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from probetui.k8s.api.codec import Json

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_WIDTHS = {_FIXED_64: 8, _FIXED_32: 4}
_MORE = 0x80
_LONGEST_SHIFT = 70
"""A number has 64 bits, of which a byte has seven."""

Shape: TypeAlias = Mapping[int, tuple[str, "Shape | None"]]
"""Fields by number: the name, and None for a text."""

_ATTRIBUTES: Shape = {
    1: ("namespace", None),
    2: ("verb", None),
    3: ("group", None),
    4: ("version", None),
    5: ("resource", None),
    6: ("subresource", None),
    7: ("name", None),
}
_PATH: Shape = {1: ("path", None), 2: ("verb", None)}
_SPECS: Mapping[str, Shape] = {
    "SelfSubjectAccessReview": {
        1: ("resourceAttributes", _ATTRIBUTES),
        2: ("nonResourceAttributes", _PATH),
    },
    "SelfSubjectReview": {},
    "SelfSubjectRulesReview": {1: ("namespace", None)},
}
_TYPE: Shape = {1: ("apiVersion", None), 2: ("kind", None)}


class ProtobufError(ValueError):
    """A message that cannot be read."""


def decode_review(body: bytes) -> Json:
    """Decode a review into its JSON form.

    Raises:
        ProtobufError: it is no known kind of review.
    """
    if not body.startswith(_MAGIC):
        raise ProtobufError("the request body is not Kubernetes protobuf")
    fields = dict(_fields(body[len(_MAGIC) :]))
    review = _read(fields.get(1, b""), _TYPE)
    spec = _SPECS.get(review.get("kind", ""))
    if spec is None:
        raise ProtobufError(f"{review.get('kind')} is accepted as JSON only")
    return {**review, **_read(fields.get(2, b""), {2: ("spec", spec)})}


def _read(message: bytes, shape: Shape) -> Json:
    read: Json = {}
    for number, value in _fields(message):
        if number in shape:
            name, below = shape[number]
            read[name] = value.decode() if below is None else _read(value, below)
    return read


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and value of each length-delimited field."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire_type = tag & 7
        if wire_type == _VARINT:
            _, at = _varint(message, at)
            continue
        if wire_type == _BYTES:
            length, at = _varint(message, at)
        elif (length := _WIDTHS.get(wire_type, -1)) < 0:
            raise ProtobufError(f"a field of wire type {wire_type}")
        if at + length > len(message):
            raise ProtobufError("the message is cut off")
        if wire_type == _BYTES:
            yield tag >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < _LONGEST_SHIFT:
        value |= (message[at] & ~_MORE) << shift
        at, shift = at + 1, shift + 7
        if not message[at - 1] & _MORE:
            return value, at
    raise ProtobufError("the message is cut off")
