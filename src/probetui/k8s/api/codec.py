"""How the model becomes the API's JSON and is read back: one table for each type.

`ApiType(HTTPGetAction, "path?", "port", ...)` names the fields of a type as the API
does, and both directions follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from msgspec import Struct

from probetui.k8s.api.quantity import format_quantity, parse_quantity

Json = dict[str, Any]
Model = TypeVar("Model", bound=Struct)

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
MAX_SECONDS = 2**31 - 1
"""68 years: more than any wait. 64 bits of them are more than clocks can count."""

_INT64 = range(-(2**63), 2**63)

_YEARS = range(1900, 2600)
"""Instants before and after cannot be shown in every time zone."""


class ApiFormatError(ValueError):
    """JSON that is not the object that it should be."""


class ApiCodec(Struct, frozen=True):
    """How values of one type are written as JSON and read back.

    `write` returns None for a value that is left out; `read` raises `ApiFormatError`.
    """

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def format_time(instant: datetime | None) -> str | None:
    """Return an instant as the API writes it: RFC 3339 in UTC, in whole seconds."""
    if instant is None:
        return None
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_time(json: Any) -> datetime:
    try:
        instant = datetime.fromisoformat(_TEXT.read(json))
    except ValueError as error:
        raise ApiFormatError(str(error)) from None
    if instant.tzinfo is None or instant.year not in _YEARS:
        raise ApiFormatError(f"{json!r:.60} is not an instant")
    return instant


def _scalar(*types: type) -> ApiCodec:
    """Return the codec of values that JSON has, too."""

    def read(json: Any) -> Any:
        if type(json) not in types:
            raise ApiFormatError(f"{json!r:.60} is not of type {types[0].__name__}")
        return json

    return ApiCodec(lambda value: value, read)


def list_of(codec: ApiCodec) -> ApiCodec:
    """Return the codec of a tuple; None is written as an empty list."""
    return ApiCodec(
        lambda values: [codec.write(value) for value in values or ()],
        lambda json: tuple(codec.read(member) for member in _LIST.read(json)),
    )


def map_of(codec: ApiCodec) -> ApiCodec:
    """Return the codec of a mapping."""
    return ApiCodec(
        lambda values: {key: codec.write(value) for key, value in values.items()},
        lambda json: MappingProxyType(
            {key: codec.read(value) for key, value in _OBJECT.read(json).items()}
        ),
    )


def wrapped(key: str) -> ApiCodec:
    """Return the codec of texts that are each an object with one key in JSON."""
    return ApiCodec(
        lambda texts: [{key: text} for text in texts],
        lambda json: tuple(
            _TEXT.read(_OBJECT.read(member).get(key, "")) for member in _LIST.read(json)
        ),
    )


_TEXT, _ANY_INTEGER, _LIST, _OBJECT = map(_scalar, (str, int, list, dict))


def _read_integer(json: Any) -> int:
    number: int = _ANY_INTEGER.read(json)
    if number not in _INT64:
        raise ApiFormatError(f"{json!r:.60} is not an integer of 64 bits")
    return number


_INTEGER = ApiCodec(_ANY_INTEGER.write, _read_integer)
_TIME = ApiCodec(format_time, _read_time)
QUANTITY = ApiCodec(
    lambda amount: None if amount is None else format_quantity(amount),
    lambda json: parse_quantity(_TEXT.read(json)),
)
SECONDS = ApiCodec(
    _INTEGER.write,
    lambda json: max(-MAX_SECONDS, min(_INTEGER.read(json), MAX_SECONDS)),
)
"""A length of time of 64 bits, as one that can be waited for.

Difference: more than 2147483647 seconds count as that many. The kubelet takes all of
them, and reckons wrongly with more than 9223372036.
"""

_BY_ANNOTATION: Mapping[str, ApiCodec] = {
    "str": _TEXT,
    "int": _INTEGER,
    "bool": _scalar(bool),
    "int | str": _scalar(int, str),
    "datetime": _TIME,
    "Instant": _TIME,
    "Decimal": QUANTITY,
    "tuple[str, ...]": list_of(_TEXT),
    "tuple[int, ...]": list_of(_INTEGER),
    "Mapping[str, str]": map_of(_TEXT),
    "Mapping[str, Decimal]": ApiCodec(
        lambda amounts: {
            name: QUANTITY.write(amounts[name]) for name in sorted(amounts)
        },
        map_of(QUANTITY).read,
    ),
}
"""By how a field is annotated, None being what every field may be."""


def enum_codec(members: type[Enum]) -> ApiCodec:
    """Return the codec of an enumeration whose values are the API's words."""

    def read(json: Any) -> Enum:
        try:
            return members(json)
        except ValueError as error:
            raise ApiFormatError(str(error)) from None

    return ApiCodec(lambda member: member and member.value, read)


class Field(Struct, frozen=True):
    """A field of a type, where its name in the API does not say enough.

    `path` may lead through objects of the API that are no types of ours, as in
    `spec.hostname`, and ends with `?` where an empty value is left out. An empty path
    is for a value whose keys stand among the other fields, as a probe's handler.
    """

    path: str
    codec: ApiCodec | None = None
    attribute: str = ""


class _Entry(Struct, frozen=True):
    keys: tuple[str, ...]
    attribute: str
    codec: ApiCodec
    default: object
    omits_empty: bool


class ApiType(Generic[Model]):
    """How a type is written and read.

    A field that is None is not written. One that is absent or null when it is read has
    the default of its struct, as has an empty text where that is a text; a text
    without a default is empty, as in Go.

    Args:
        model: the type, a struct.
        table: its fields in the order in which they are written; text is the path of
            a `Field`.
        constants: what is written before them and not read.
    """

    def __init__(
        self, model: type[Model], *table: str | Field, **constants: str
    ) -> None:
        annotations = model.__annotations__
        names, defaults = model.__struct_fields__, model.__struct_defaults__
        required = names[: len(names) - len(defaults)]
        default_of = dict(zip(names[len(required) :], defaults, strict=True))
        self.model = model
        self._constants = constants
        self._required_texts = [name for name in required if annotations[name] == "str"]
        self._entries = [
            _entry(
                Field(field) if isinstance(field, str) else field,
                annotations,
                default_of,
            )
            for field in table
        ]
        self.codec = ApiCodec(
            lambda value: None if value is None else self.write(value), self.read
        )

    def write(self, value: Model) -> Json:
        """Return a value as the API's JSON."""
        json: Json = dict(self._constants)
        for entry in self._entries:
            written = entry.codec.write(getattr(value, entry.attribute))
            if written is None or (entry.omits_empty and not written):
                continue
            parent = json
            for key in entry.keys[:-1]:
                parent = parent.setdefault(key, {})
            if entry.keys:
                parent[entry.keys[-1]] = written
            else:
                parent.update(written)
        return json

    def read(self, json: Any) -> Model:
        """Return the value that JSON describes.

        Raises:
            ApiFormatError: it is of another type, or lacks what it must have.
        """
        values: dict[str, Any] = dict.fromkeys(self._required_texts, "")
        for entry in self._entries:
            value = _OBJECT.read(json)
            for key in entry.keys:
                value = _OBJECT.read(value).get(key)
                if value is None:
                    break
            else:
                if value != "" or not isinstance(entry.default, str):
                    values[entry.attribute] = entry.codec.read(value)
        try:
            return self.model(**values)
        except TypeError as error:
            raise ApiFormatError(str(error)) from None


def _entry(
    field: Field, annotations: Mapping[str, str], default_of: Mapping[str, object]
) -> _Entry:
    path = field.path.removesuffix("?")
    keys = tuple(filter(None, path.split(".")))
    attribute = field.attribute or _WORD_START.sub("_", keys[-1]).lower()
    annotation = annotations[attribute].removesuffix(" | None")
    return _Entry(
        keys=keys,
        attribute=attribute,
        codec=field.codec or _BY_ANNOTATION[annotation],
        default=default_of.get(attribute),
        omits_empty=field.path.endswith("?"),
    )


def union_codec(**members: ApiType[Any]) -> ApiCodec:
    """Return the codec of a value of one of several types, each under its own key.

    The first key that is there counts. None is written as an empty object.
    """
    keys = {member.model: key for key, member in members.items()}

    def write(value: object) -> Json:
        if value is None:
            return {}
        key = keys[type(value)]
        return {key: members[key].write(value)}

    def read(json: Any) -> object:
        for key, member in members.items():
            if (value := _OBJECT.read(json).get(key)) is not None:
                return member.read(value)
        return None

    return ApiCodec(write, read)
