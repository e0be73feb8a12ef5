"""Our frozen values as JSON and back, by their annotations.

An object has the fields of its dataclass that are not at their defaults, spelled as
the API spells names. What is one of several kinds says which: `is`. Instants are
RFC 3339 with microseconds, lengths of time milliseconds, bytes base64.
"""

from __future__ import annotations

import base64
import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

_UPPER = frozenset({"id", "uid", "ip", "dns"})
_MILLISECOND = timedelta(milliseconds=1)
_YEARS = range(1900, 2600)
_LONGEST = timedelta(days=300 * 365)
"""With longer times, and before or after these years, nothing can be reckoned."""

_LONGEST_SHOWN = 60


class Codec(NamedTuple):
    """How values of one kind become JSON and are read back."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def encode_value(kind: Any, value: Any) -> Any:
    """Return a value of an annotated kind as `json.dumps` takes it."""
    return codec_of(kind).encode(value)


def decode_value(kind: Any, json: Any) -> Any:
    """Return the value that `encode_value` made this of.

    Raises:
        ValueError: it is not one.
    """
    return codec_of(kind).decode(json)


def plausible_instant(text: str) -> datetime:
    """Read an instant that a session can have had.

    Raises:
        ValueError: there is none such, or it cannot be printed in every time zone.
    """
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None or instant.year not in _YEARS:
        raise ValueError(f"{_shown(text)} is no instant of a session")
    return instant


def timestamp(at: datetime) -> str:
    """Return an instant as RFC 3339 in UTC, with all six digits of the second."""
    text = at.astimezone(UTC).isoformat(timespec="microseconds")
    return text.removesuffix("+00:00") + "Z"


@cache
def codec_of(kind: Any) -> Codec:
    """Return how values of a kind are spelled; made once for each."""
    if isinstance(kind, typing.NewType):
        return codec_of(kind.__supertype__)
    origin = get_origin(kind)
    if origin in {types.UnionType, typing.Union}:
        return _union(get_args(kind))
    if origin is not None:
        return _container(origin, get_args(kind))
    if dataclasses.is_dataclass(kind):
        return _later(typing.cast("type[Any]", kind))
    if isinstance(kind, type) and issubclass(kind, tuple):
        return _named_tuple(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return Codec(lambda value: value.value, kind)
    return _LEAVES[kind]


def _as_it_is(value: Any) -> Any:
    return value


def _plain(*kinds: type) -> Codec:
    """Return the codec of values that JSON has, too."""

    def decode(json: Any) -> Any:
        if type(json) not in kinds:
            raise ValueError(f"{_shown(json)} is not of type {kinds[0].__name__}")
        return json

    return Codec(_as_it_is, decode)


def _shown(json: Any) -> str:
    text = repr(json)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


_text, _number = _plain(str).decode, _plain(float, int).decode


def _bytes(json: Any) -> bytes:
    return base64.b64decode(_text(json), validate=True)


def _decimal(json: Any) -> Decimal:
    try:
        return Decimal(_text(json))
    except ArithmeticError:
        raise ValueError(f"{_shown(json)} is no number") from None


def _instant(json: Any) -> datetime:
    return plausible_instant(_text(json))


def _length(json: Any) -> timedelta:
    try:
        length = timedelta(milliseconds=_number(json))
    except OverflowError:
        length = timedelta.max
    if abs(length) > _LONGEST:
        raise ValueError(f"{_shown(json)} milliseconds are too long")
    return length


_LEAVES: Mapping[Any, Codec] = {
    str: _plain(str),
    int: _plain(int),
    float: _plain(float, int),
    bool: _plain(bool),
    bytes: Codec(lambda value: base64.b64encode(value).decode("ascii"), _bytes),
    Decimal: Codec(str, _decimal),
    datetime: Codec(timestamp, _instant),
    timedelta: Codec(lambda value: value / _MILLISECOND, _length),
}


def _union(kinds: tuple[Any, ...]) -> Codec:
    some = tuple(each for each in kinds if each is not types.NoneType)
    if len(some) == 1:
        one = codec_of(some[0])
        return Codec(
            lambda value: None if value is None else one.encode(value),
            lambda json: None if json is None else one.decode(json),
        )
    dataclass_kinds: list[Any] = [
        each for each in some if dataclasses.is_dataclass(each)
    ]
    by_type = {each: codec_of(each) for each in dataclass_kinds}
    by_name = {each.__name__: codec for each, codec in by_type.items()}
    others = _plain(
        *(_plain_type(each) for each in some if each not in by_type),
        *({types.NoneType} & set(kinds)),
    )

    def encode(value: Any) -> Any:
        codec = by_type.get(type(value))
        if codec is None:
            return value
        return {"is": type(value).__name__, **codec.encode(value)}

    def decode(json: Any) -> Any:
        if not isinstance(json, dict):
            return others.decode(json)
        name = json.get("is")
        if not isinstance(name, str) or name not in by_name:
            raise ValueError(f"{_shown(name)} is none of {', '.join(by_name)}")
        return by_name[name].decode(json)

    return Codec(encode, decode)


def _plain_type(kind: Any) -> type:
    """Return the type of a kind that JSON has, too."""
    found: type = kind
    if isinstance(kind, typing.NewType):
        found = typing.cast("type", kind.__supertype__)
    return found


def _container(origin: Any, arguments: tuple[Any, ...]) -> Codec:
    if issubclass(origin, Mapping):
        of_values = codec_of(arguments[1])
        return Codec(
            lambda value: {key: of_values.encode(each) for key, each in value.items()},
            lambda json: types.MappingProxyType(
                {key: of_values.decode(each) for key, each in _object(json).items()}
            ),
        )
    one = codec_of(arguments[0])
    if origin is frozenset:
        return Codec(
            lambda value: sorted(map(one.encode, value)),
            lambda json: frozenset(map(one.decode, _list(json))),
        )
    return Codec(
        lambda value: [one.encode(each) for each in value],
        lambda json: tuple(map(one.decode, _list(json))),
    )


_object, _list = _plain(dict).decode, _plain(list).decode


def _named_tuple(kind: type[Any]) -> Codec:
    codecs = [codec_of(each) for each in typing.get_type_hints(kind).values()]
    return Codec(
        lambda value: [
            codec.encode(each) for codec, each in zip(codecs, value, strict=True)
        ],
        lambda json: kind(
            *(
                codec.decode(each)
                for codec, each in zip(codecs, _list(json), strict=True)
            )
        ),
    )


def _later(kind: type[Any]) -> Codec:
    """Return the codec of a dataclass, made as late as the first such value comes.

    All that a pod may have takes 3 ms to look through, and most pods have little of it.
    """

    @cache
    def made() -> Codec:
        return _dataclass(kind)

    return Codec(lambda value: made().encode(value), lambda json: made().decode(json))


class _Field(NamedTuple):
    name: str
    key: str
    codec: Codec
    default: Any


def _dataclass(kind: type[Any]) -> Codec:
    hints = typing.get_type_hints(kind)
    fields = [
        _Field(each.name, _key(each.name), codec_of(hints[each.name]), _default(each))
        for each in dataclasses.fields(kind)
    ]

    def encode(value: Any) -> Any:
        return {
            each.key: each.codec.encode(found)
            for each in fields
            if (found := getattr(value, each.name)) != each.default
        }

    def decode(json: Any) -> Any:
        given = _object(json)
        values = {}
        for each in fields:
            if each.key in given:
                values[each.name] = each.codec.decode(given[each.key])
            elif each.default is dataclasses.MISSING:
                raise ValueError(f"{kind.__name__} has no {each.key}")
        return kind(**values)

    return Codec(encode, decode)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _key(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(
        each.upper() if each in _UPPER else each.capitalize() for each in others
    )
