"""Nodes to lightkube's models, telling all that does not fit, not only the first.

One walk over the tree beside the model's fields; no field is known here by name.
msgspec, which lightkube decodes with, stops at the first error and knows no lines.
The rules are those of Go's decoder: no number is text, a whole float is a whole
number, null is as good as absent, and names must match letter by letter.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Generic, TypeVar, cast

import msgspec

from probetui.manifest import quantity, schema
from probetui.manifest.nodes import (
    Entry,
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    is_null,
    join,
    locate,
    to_plain,
)
from probetui.manifest.problem import Position, Problem, clipped, quote
from probetui.manifest.schema import Field, Kind

Model = TypeVar("Model", bound=msgspec.Struct)

_LONGEST_NAME = 100
"""Of a field that may be meant; to compare takes longer with each character."""

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_EXPONENT_FROM = 1e21
"""From here on Go writes a float with an exponent, which no integer field takes."""


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that the object does not have; `suggestion` may be empty."""

    path: str
    name: str
    position: Position
    suggestion: str = ""

    @property
    def message(self) -> str:
        """The sentence about it, without the place."""
        hint = f" (did you mean {quote(self.suggestion)}?)" if self.suggestion else ""
        return f"unknown field {clipped(self.name)}{hint}"


@dataclass(frozen=True, slots=True)
class Decoded(Generic[Model]):
    """An object as far as it could be read.

    `problems` are values of a wrong type; such a field counts as not written, and
    rules about it would only repeat the problem.
    """

    value: Model
    problems: tuple[Problem, ...]
    unknown: tuple[UnknownField, ...]


def decode(node: Node, model: type[Model], path: str = "") -> Decoded[Model]:
    """Read a node as an object of that model; `path` is where it stands."""
    decoder = _Decoder(node, path)
    value = decoder.struct(node, model, path)
    return Decoded(
        cast("Model", value), tuple(decoder.problems), tuple(decoder.unknown)
    )


_LONGEST_NAME = 100
_MOST_SUGGESTIONS = 100


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that was most likely meant, or nothing."""
    if len(name) > _LONGEST_NAME:
        return ""
    if len(name) > _LONGEST_NAME:
        return ""
    names = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.7)
    return names[close[0]] if close else ""


@dataclass(slots=True)
class _Decoder:
    """Collects what is wrong while it walks down from a root."""

    root: Node
    root_path: str
    problems: list[Problem] = field(default_factory=list)
    unknown: list[UnknownField] = field(default_factory=list)

    def struct(
        self, node: Node, model: type[msgspec.Struct], path: str
    ) -> msgspec.Struct:
        if not isinstance(node, MapNode):
            self._complain(node, path, "must be a mapping (lines of `name: value`)")
            return schema.empty(model)
        fields = schema.fields_of(model)
        values = {
            each.attribute: schema.zero(each)
            for each in fields.values()
            if each.is_required
        }
        for entry in node.entries:
            known = fields.get(entry.key)
            if known is None:
                self._unknown(entry, fields, path)
            elif not is_null(entry.value):
                value = self._value(entry.value, known, join(path, entry.key))
                if value is not None:
                    values[known.attribute] = value
        return model(**values)

    def _unknown(self, entry: Entry, known: Iterable[str], path: str) -> None:
        # To compare names takes its time: whoever has that many has no typing error.
        is_early = len(self.unknown) < _MOST_SUGGESTIONS
        suggestion = nearest(entry.key, known) if is_early else ""
        where = join(path, entry.key)
        self.unknown.append(UnknownField(where, entry.key, entry.position, suggestion))

    def _value(self, node: Node, known: Field, path: str) -> object:
        if not known.is_list:
            return self._single(node, known, path)
        if not isinstance(node, ListNode):
            self._complain(node, path, "must be a list (lines that begin with `- `)")
            return None
        return [
            self._item(each, known, join(path, index))
            for index, each in enumerate(node.items)
        ]

    def _item(self, node: Node, known: Field, path: str) -> object:
        value = None if is_null(node) else self._single(node, known, path)
        return schema.zero_item(known) if value is None else value

    def _single(self, node: Node, known: Field, path: str) -> object:
        if known.model is not None:
            return self.struct(node, known.model, path)
        match known.kind:
            case Kind.RAW:
                return to_plain(node)
            case Kind.STRING_MAP | Kind.QUANTITY_MAP:
                return self._map(node, known.kind, path)
            case _:
                return self._scalar(node, known.kind, path, known.owner)

    def _map(self, node: Node, kind: Kind, path: str) -> dict[str, object] | None:
        if not isinstance(node, MapNode):
            self._complain(node, path, "must be a mapping (lines of `name: value`)")
            return None
        items = Kind.QUANTITY if kind is Kind.QUANTITY_MAP else Kind.STRING
        values: dict[str, object] = {}
        for entry in node.entries:
            at = join(path, entry.key)
            value = None
            if not is_null(entry.value):
                value = self._scalar(entry.value, items, at)
            values[entry.key] = "" if value is None else value
        return values

    def _scalar(self, node: Node, kind: Kind, path: str, owner: str = "") -> object:
        value = _convert(node, kind) if isinstance(node, ScalarNode) else None
        if value is None:
            accepted = _accepted(node, kind, path)
            server = _server_error(node, kind, path, owner)
            self._complain(node, path, f"{accepted} ({server})" if server else accepted)
        return value

    def _complain(self, node: Node, path: str, accepted: str) -> None:
        message = f"{_described(node)}, {accepted}"
        if isinstance(node, ScalarNode) and accepted.startswith(_MUST_BE_TEXT):
            message += f": put it in quotes, {quote(node.text)}"
        position = locate(self.root, path.removeprefix(self.root_path))
        self.problems.append(Problem(position, path, message, rule="type"))


_MUST_BE_TEXT = "must be a string"


def _convert(node: ScalarNode, kind: Kind) -> object:
    """Return a scalar as that kind of scalar, None if it is not one."""
    value = node.value
    match kind:
        case Kind.STRING:
            return value if isinstance(value, str) else None
        case Kind.BOOL:
            return value if isinstance(value, bool) else None
        case Kind.INT32:
            return _integer(value, _INT32)
        case Kind.INT64:
            return _integer(value, _INT64)
        case Kind.INT_OR_STRING:
            return value if isinstance(value, str) else _integer(value, _INT32)
        case Kind.QUANTITY:
            return _quantity(node)
        case _:
            return _time(value)


def _integer(value: object, limits: range) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXPONENT_FROM:
        value = int(value)
    return value if isinstance(value, int) and value in limits else None


def _quantity(node: ScalarNode) -> str | None:
    value = node.value
    if isinstance(value, bool):
        return None
    text = value if isinstance(value, str) else str(value)
    return text if quantity.is_quantity(text) else None


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def _described(node: Node) -> str:
    match node:
        case MapNode():
            return "is a mapping"
        case ListNode():
            return "is a list"
        case ScalarNode(value=bool(), text=text):
            return f"is a boolean ({clipped(text)[1:-1]})"
        case ScalarNode(value=int() | float(), text=text):
            return f"is the number {clipped(text)[1:-1]}"
        case ScalarNode(text=text):
            return f"is the string {clipped(text)}"


def _accepted(node: Node, kind: Kind, path: str) -> str:
    """Say in words what a field takes."""
    match kind:
        case Kind.INT32 | Kind.INT64:
            return _accepted_integer(node, kind, path)
        case Kind.INT_OR_STRING:
            return "must be a whole number or a name"
        case Kind.BOOL:
            return "must be true or false"
        case Kind.QUANTITY:
            return "must be a quantity such as 500m, 2 or 64Mi"
        case Kind.TIME:
            return "must be a time such as 2026-11-20T08:21:05Z"
        case _:
            return _MUST_BE_TEXT


_GO_INTEGERS = {
    Kind.INT32: "int32",
    Kind.INT64: "int64",
    Kind.INT_OR_STRING: "int32",
}
_INDEX = re.compile(r"\[[^\]]*\]")


def _server_error(node: Node, kind: Kind, path: str, owner: str) -> str:
    """Return what the API server says of a number that its field cannot hold.

    Source: sigs.k8s.io/json v0.0.0-20241014173422, internal/golang/encoding/json,
    UnmarshalTypeError; that of Go for what JSON has no number for.
    """
    number = node.value if isinstance(node, ScalarNode) else None
    if kind not in _GO_INTEGERS or not isinstance(number, int | float):
        return ""
    if isinstance(number, bool):
        return ""
    if not math.isfinite(number):
        return f"json: unsupported value: {_NOT_FINITE[str(number)]}"
    field = _INDEX.sub("", path).removeprefix("items.")
    return (
        f"json: cannot unmarshal number {_go_number(number)} into Go struct field "
        f"{owner}.{field} of type {_GO_INTEGERS[kind]}"
    )


_NOT_FINITE = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}
_LEAST_WITHOUT_EXPONENT = 1e-6


def _go_number(number: float) -> str:
    """Spell a number as Go's encoding of JSON does."""
    if isinstance(number, int):
        return str(number)
    if number and not _LEAST_WITHOUT_EXPONENT <= abs(number) < _EXPONENT_FROM:
        mantissa, _, exponent = repr(number).partition("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
    return f"{Decimal(repr(number)):f}".removesuffix(".0")


def _accepted_integer(node: Node, kind: Kind, path: str) -> str:
    limits = _INT32 if kind is Kind.INT32 else _INT64
    if isinstance(node, ScalarNode) and type(node.value) is int:
        return f"must be between {limits.start} and {limits.stop - 1}"
    unit = " of seconds" if path.endswith("Seconds") else ""
    return f"must be a whole number{unit}"
