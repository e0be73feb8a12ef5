"""Decode YAML nodes as lightkube's models, reporting every error, not only the first.

msgspec, lightkube's decoder, stops at the first error and has no line numbers. The
rules are those of Go's decoder: numbers are not strings, a whole float is an integer,
null counts as absent, and names are case-sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Generic, TypeVar, cast

import msgspec
from msgspec import Struct, field

from probetui.k8s.api.quantity import canonical_quantity, is_quantity
from probetui.manifest import field_versions, schema
from probetui.manifest.problem import Position, Problem, Severity, quote, quote_short
from probetui.manifest.schema import FieldKind, FieldSchema, ValuePlace
from probetui.manifest.version_fields import CONSEQUENCES
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapEntry,
    MapNode,
    ScalarNode,
    YamlNode,
    is_null,
    join_path,
    locate_field,
    to_plain,
)
from probetui.suggestions import FIELD_CUTOFF, nearest

Model = TypeVar("Model", bound=msgspec.Struct)

"""The longest name of a field to suggest; comparing takes longer with each
character."""

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
_EXPONENT_FROM = 1e21
"""From this value on, Go formats a float with an exponent, which an integer refuses."""


class UnknownField(Struct, frozen=True):
    """An unknown field of a type.

    `suggestion` and `home`, where the field belongs, may be empty. `version` is the one
    that does not know it yet, empty if none does; `consequence` is the effect, if it is
    not obvious.
    """

    path: str
    name: str
    position: Position
    suggestion: str = ""
    version: str = ""
    consequence: str = ""
    home: str = ""

    @property
    def message(self) -> str:
        """The message, without the position."""
        if self.version:
            return f"unknown to Kubernetes {self.version}{self.consequence}"
        hint = f" (did you mean {quote(self.suggestion)}?)" if self.suggestion else ""
        hint = f" (it belongs in {self.home})" if self.home else hint
        return f"unknown field {quote_short(self.name)}{hint}"


class Decoded(Struct, Generic[Model], frozen=True):
    """A decoded object.

    `problems` are values of a wrong type; such a field counts as absent, and
    validation must not report it again.
    """

    value: Model
    problems: tuple[Problem, ...]
    unknown: tuple[UnknownField, ...]

    def unknown_problems(self, severity: Severity | None) -> Iterator[Problem]:
        """Yield the unknown fields as problems; a severity of None ignores them."""
        if severity is not None:
            for field in self.unknown:
                where, path = field.position, field.path
                rule = "later-field" if field.version else "unknown-field"
                yield Problem(where, path, field.message, severity, rule)


def decode(
    node: YamlNode,
    model: type[Model],
    path: str = "",
    version: str = field_versions.MODELS_VERSION,
    *,
    embeds: bool = True,
) -> Decoded[Model]:
    """Decode a node as a model.

    Args:
        node: it has all fields of the object.
        model: the object's type.
        path: the node's path in the document.
        version: that of Kubernetes, as `1.32`; fields that came later are unknown.
        embeds: errors of the API server name what is embedded in structs.
    """
    decoder = _Decoder(node, path, version, embeds)
    value = decoder.struct(node, model, path)
    return Decoded(
        cast("Model", value), tuple(decoder.problems), tuple(decoder.unknown)
    )


_MOST_SUGGESTIONS = 100


class _Decoder(Struct):
    """Decodes a tree from its root and collects problems."""

    root: YamlNode
    root_path: str
    version: str
    embeds: bool
    problems: list[Problem] = field(default_factory=list)
    unknown: list[UnknownField] = field(default_factory=list)
    fields: list[FieldSchema] = field(default_factory=list)
    """The fields around the decoded value, outermost first."""

    def struct(
        self,
        node: YamlNode,
        model: type[msgspec.Struct],
        path: str,
    ) -> msgspec.Struct:
        if not isinstance(node, MapNode):
            self._report(node, path, _MUST_BE_MAPPING, ValuePlace.ITEM)
            return schema.empty_object(model)
        fields = schema.fields_of(model)
        values = {
            field.attribute: schema.zero_value(field)
            for field in fields.values()
            if field.is_required
        }
        for entry in node.entries:
            known = fields.get(entry.key)
            owner = model.__name__
            if known is None:
                if not field_versions.is_gone(owner, entry.key, self.version):
                    self._unknown(entry, model, path)
            elif field_versions.is_later(owner, entry.key, self.version):
                self._later(entry, owner, path)
            elif not is_null(entry.value):
                self.fields.append(known)
                value = self._value(entry.value, known, join_path(path, entry.key))
                self.fields.pop()
                if value is not None:
                    values[known.attribute] = value
        return model(**values)

    def _unknown(self, entry: MapEntry, model: type[msgspec.Struct], path: str) -> None:
        home = suggestion = ""
        # Comparing names is slow, and that many unknown names are not typing errors.
        if len(self.unknown) < _MOST_SUGGESTIONS:
            known = schema.fields_of(model)
            home = schema.home_of(entry.key, model, self.fields)
            suggestion = nearest(entry.key, known, cutoff=FIELD_CUTOFF)
        where = join_path(path, entry.key)
        self.unknown.append(
            UnknownField(where, entry.key, entry.position, suggestion, home=home)
        )

    def _later(self, entry: MapEntry, owner: str, path: str) -> None:
        where = join_path(path, entry.key)
        consequence = CONSEQUENCES.get((owner, entry.key), "")
        self.unknown.append(
            UnknownField(
                where, entry.key, entry.position, "", self.version, consequence
            )
        )

    def _value(self, node: YamlNode, known: FieldSchema, path: str) -> object:
        if not known.is_list:
            return self._single(node, known, path)
        if not isinstance(node, ListNode):
            accepted = "must be a list (lines that begin with `- `)"
            self._report(node, path, accepted, ValuePlace.FIELD)
            return None
        return [
            self._item(item, known, join_path(path, index))
            for index, item in enumerate(node.items)
        ]

    def _item(self, node: YamlNode, known: FieldSchema, path: str) -> object:
        value = None if is_null(node) else self._single(node, known, path)
        return schema.zero_list_item(known) if value is None else value

    def _single(self, node: YamlNode, known: FieldSchema, path: str) -> object:
        if known.model is not None:
            return self.struct(node, known.model, path)
        match known.kind:
            case FieldKind.RAW:
                return to_plain(node)
            case FieldKind.STRING_MAP | FieldKind.QUANTITY_MAP:
                return self._map(node, known.kind, path)
            case _:
                return self._scalar(node, known.kind, path)

    def _map(
        self, node: YamlNode, kind: FieldKind, path: str
    ) -> dict[str, object] | None:
        if not isinstance(node, MapNode):
            self._report(node, path, _MUST_BE_MAPPING, ValuePlace.ITEM)
            return None
        items = (
            FieldKind.QUANTITY if kind is FieldKind.QUANTITY_MAP else FieldKind.STRING
        )
        values: dict[str, object] = {}
        for entry in node.entries:
            at = join_path(path, entry.key)
            if is_null(entry.value):
                values[entry.key] = "0" if items is FieldKind.QUANTITY else ""
                continue
            value = self._scalar(entry.value, items, at, ValuePlace.ENTRY)
            values[entry.key] = "" if value is None else value
        return values

    def _scalar(
        self,
        node: YamlNode,
        kind: FieldKind,
        path: str,
        place: ValuePlace = ValuePlace.ITEM,
    ) -> object:
        value = _convert(node, kind) if isinstance(node, ScalarNode) else None
        if value is None:
            self._report(node, path, _describe_accepted(node, kind, path), place)
        return value

    def _report(
        self, node: YamlNode, path: str, accepted: str, place: ValuePlace
    ) -> None:
        """Report a value of a wrong type, with the API server's error."""
        # Imported late: most manifests have no such value.
        from probetui.manifest.go_types import decoding_error  # noqa: PLC0415

        error = decoding_error(node, self.fields, place, embeds=self.embeds)
        message = f"{_describe_value(node)}, {accepted}"
        if isinstance(node, ScalarNode) and accepted.startswith(_MUST_BE_TEXT):
            message += f": put it in quotes, {quote(node.text)}"
        if error:
            message += f" ({error})"
        position = locate_field(self.root, path.removeprefix(self.root_path))
        self.problems.append(Problem(position, path, message, rule="type"))


_MUST_BE_TEXT = "must be a string"
_MUST_BE_MAPPING = "must be a mapping (lines of `name: value`)"


def _convert(node: ScalarNode, kind: FieldKind) -> object:
    """Convert a scalar to a field's kind; return None if it is of another kind."""
    value = node.value
    match kind:
        case FieldKind.STRING:
            return value if isinstance(value, str) else None
        case FieldKind.BOOL:
            return value if isinstance(value, bool) else None
        case FieldKind.INT32:
            return _integer(value, _INT32)
        case FieldKind.INT64:
            return _integer(value, _INT64)
        case FieldKind.INT_OR_STRING:
            return value if isinstance(value, str) else _integer(value, _INT32)
        case FieldKind.QUANTITY:
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
    text = value.strip() if isinstance(value, str) else str(value)
    return canonical_quantity(text) if is_quantity(text) else None


def _time(value: object) -> datetime | None:
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _describe_value(node: YamlNode) -> str:
    match node:
        case MapNode():
            return "is a mapping"
        case ListNode():
            return "is a list"
        case ScalarNode(value=bool(), text=text):
            return f"is a boolean ({quote_short(text)[1:-1]})"
        case ScalarNode(value=int() | float(), text=text):
            return f"is the number {quote_short(text)[1:-1]}"
        case ScalarNode(text=text):
            return f"is the string {quote_short(text)}"


def _describe_accepted(node: YamlNode, kind: FieldKind, path: str) -> str:
    """Describe the values that a field accepts."""
    match kind:
        case FieldKind.INT32 | FieldKind.INT64:
            return _describe_accepted_integer(node, kind, path)
        case FieldKind.INT_OR_STRING:
            return "must be a whole number or a name"
        case FieldKind.BOOL:
            return "must be true or false"
        case FieldKind.QUANTITY:
            return "must be a quantity such as 500m, 2 or 64Mi"
        case FieldKind.TIME:
            return "must be a time such as 2026-11-20T08:21:05Z"
        case _:
            return _MUST_BE_TEXT


def _describe_accepted_integer(node: YamlNode, kind: FieldKind, path: str) -> str:
    limits = _INT32 if kind is FieldKind.INT32 else _INT64
    if isinstance(node, ScalarNode) and type(node.value) is int:
        return f"must be between {limits.start} and {limits.stop - 1}"
    unit = " of seconds" if path.endswith("Seconds") else ""
    return f"must be a whole number{unit}"
