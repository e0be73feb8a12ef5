"""Wire structs: one description of a JSON object, to write it, read it and publish it.

A wire struct is a `msgspec.Struct`. It names the fields of an object and gives their
types and limits: msgspec reads and checks JSON by it and makes the JSON Schema of it.
The annotations say besides which attribute of a value each field has, so that the same
description also writes the object and makes the value again:

    class AttemptRecord(Struct):
        result: ProbeResult                              # attempt.result
        ms: Annotated[Milliseconds, At("duration")]      # attempt.duration
        output: MaskedText                               # attempt.output, masked

An attribute that a value does not have is an error as soon as its codec is made: a
rename in the code cannot change what is in a file.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import FieldInfo, fields

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Write = Callable[[Any, Any], Any]
"""Returns what is written of a value, given the context that `encode` was given."""

Read = Callable[[Any], Any]


class At:
    """The attribute that a field has, or an attribute of it: `key.pod_uid`.

    Of several paths the first that values of the type have.
    """

    def __init__(self, *paths: str) -> None:
        self.paths = paths


class Computed(Struct, frozen=True):
    """A field that is computed from the value; it is read only if it is also `At`."""

    write: Write


class Leaf(NamedTuple):
    """How an attribute is written and read; None where JSON has it as it is."""

    write: Write | None = None
    read: Read | None = None


SAME = object()
"""Marks a struct that groups fields of the same value."""

OMIT_DEFAULT = object()
"""Marks a field that is not written where it has its default."""


def words(values: Mapping[str, Any]) -> Leaf:
    """Return the leaf of values that have names of their own in files."""
    names = {value: name for name, value in values.items()}
    return Leaf(lambda value, _: names[value], values.__getitem__)


def json_schema(
    kind: Any, title: str, names: Mapping[type, str], suffix: str = ""
) -> dict[str, Any]:
    """Return the JSON Schema of a wire struct, or a union of them.

    Args:
        kind: the struct.
        title: of the schema.
        names: what the schema calls classes whose names in the code have changed.
        suffix: the end of class names that the schema leaves out.
    """
    schema = {"$schema": DIALECT, "title": title, **msgspec.json.schema(kind)}
    published = {name: name.removesuffix(suffix) for name in schema["$defs"]}
    published |= {cls.__name__: name for cls, name in names.items()}
    class_name = re.compile(rf'(?<=["/])({"|".join(published)})(?=")')
    text = class_name.sub(lambda match: published[match[0]], json.dumps(schema))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


class WireCodec:
    """Writes the values of one type as objects, and makes them of objects again.

    Args:
        struct: describes the object.
        kind: the type of the values.
        kinds: the types of the values that structs among its fields describe.
        skip: the fields that the caller writes and reads.
        make: makes a value of the attributes that were read, where fields are
            properties of the values; the type itself if not given.
    """

    def __init__(
        self,
        struct: type[Struct],
        kind: type[Any],
        kinds: Mapping[type[Struct], type[Any]],
        skip: frozenset[str] = frozenset(),
        make: Callable[..., Any] | None = None,
    ) -> None:
        self._kind = kind
        self._make = make or kind
        self._kinds = kinds
        self._hints = typing.get_type_hints(kind)
        self._reads_of_paths: dict[str, Read] = {}
        self._writes = self._plan(struct, skip)
        self._reads = self._plan_reading()

    def encode(self, value: Any, context: Any = None) -> dict[str, Any]:
        """Return the object of a value, as `json.dumps` takes it."""
        return _write_object(self._writes, value, context)

    def decode(self, struct: Any, **attributes: Any) -> Any:
        """Return the value of an object that was read, some attributes given.

        Raises:
            ValueError: a field has the type that it should have, but cannot be.
        """
        for name, read in self._reads:
            attributes[name] = read(struct)
        return self._make(**attributes)

    def _plan(
        self, struct: type[Struct], skip: frozenset[str] = frozenset(), group: str = ""
    ) -> tuple[tuple[str, Write], ...]:
        return tuple(
            (field.encode_name, self._plan_field(field, field.type, group))
            for field in fields(struct)
            if field.name not in skip
        )

    def _plan_field(self, field: FieldInfo, hint: Any, group: str) -> Write:
        """Return how a field is written, and note how it is read."""
        place = group + field.name
        base, marks = _unwrap(hint)
        if SAME in marks:
            writes = self._plan(base, group=f"{place}.")
            return lambda value, context: _write_object(writes, value, context)
        at = next((mark for mark in marks if isinstance(mark, At)), None)
        computed = next((mark for mark in marks if isinstance(mark, Computed)), None)
        write = None if computed is None else computed.write
        if write is None or at is not None:
            path = self._find_path(at.paths if at is not None else (field.name,))
            leaf = _find_leaf(hint, self._kinds)
            self._reads_of_paths.setdefault(path, _after(attrgetter(place), leaf.read))
            if write is None:
                write = _writer(self._getter(path), leaf.write)
        return _omitting(write, _default_of(field)) if OMIT_DEFAULT in marks else write

    def _find_path(self, paths: tuple[str, ...]) -> str:
        for path in paths:
            head, _, tail = path.partition(".")
            hint = self._hints.get(head)
            if not tail and (
                hint or isinstance(getattr(self._kind, head, None), property)
            ):
                return path
            if hint and tail in typing.get_type_hints(_non_null(hint)):
                return path
        raise TypeError(f"{self._kind.__name__} has no {' or '.join(paths)}")

    def _getter(self, path: str) -> Read:
        head, _, tail = path.partition(".")
        if not tail or not _is_nullable(self._hints[head]):
            return attrgetter(path)
        get, get_of_it = attrgetter(head), attrgetter(tail)

        def get_if_there(value: Any) -> Any:
            part = get(value)
            return None if part is None else get_of_it(part)

        return get_if_there

    def _plan_reading(self) -> tuple[tuple[str, Read], ...]:
        reads: dict[str, Read] = {}
        parts: dict[str, dict[str, Read]] = {}
        for path, read in self._reads_of_paths.items():
            head, _, tail = path.partition(".")
            if tail:
                parts.setdefault(head, {})[tail] = read
            else:
                reads[head] = read
        for head, reads_of_part in parts.items():
            reads[head] = _maker(self._hints[head], reads_of_part)
        return tuple(reads.items())


def _write_object(
    writes: tuple[tuple[str, Write], ...], value: Any, context: Any
) -> dict[str, Any]:
    written = {}
    for key, write in writes:
        part = write(value, context)
        if part is not UNSET:
            written[key] = part
    return written


def _find_leaf(hint: Any, kinds: Mapping[type[Struct], type[Any]]) -> Leaf:
    """Return how an attribute is written and read as a field of a type."""
    base, marks = _unwrap(hint)
    for mark in marks:
        if isinstance(mark, Leaf):
            return mark
    origin = get_origin(base)
    if origin in {UnionType, typing.Union}:
        return _nullable_leaf(get_args(base), kinds)
    if origin is list:
        return _list_leaf(_find_leaf(get_args(base)[0], kinds))
    if isinstance(base, type) and issubclass(base, Struct):
        codec = WireCodec(base, kinds[base], kinds)
        return Leaf(codec.encode, codec.decode)
    return Leaf()


def _nullable_leaf(
    hints: tuple[Any, ...], kinds: Mapping[type[Struct], type[Any]]
) -> Leaf:
    (some,) = (hint for hint in hints if hint not in {NoneType, UnsetType})
    write, read = _find_leaf(some, kinds)
    nothing = UNSET if UnsetType in hints else None

    def write_nullable(value: Any, context: Any) -> Any:
        if value is None:
            return nothing
        return value if write is None else write(value, context)

    def read_nullable(value: Any) -> Any:
        if value is None or value is UNSET:
            return None
        return value if read is None else read(value)

    return Leaf(write_nullable, read_nullable)


def _list_leaf(item: Leaf) -> Leaf:
    write, read = item

    def write_list(values: Any, context: Any) -> list[Any]:
        if write is None:
            return list(values)
        return [write(value, context) for value in values]

    return Leaf(
        write_list,
        lambda values: tuple(values if read is None else map(read, values)),
    )


def _writer(get: Read, write: Write | None) -> Write:
    if write is None:
        return lambda value, _: get(value)
    return lambda value, context: write(get(value), context)


def _after(get: Read, read: Read | None) -> Read:
    return get if read is None else lambda struct: read(get(struct))


def _default_of(field: FieldInfo) -> Any:
    """Return the default of a field, a new one where it has a factory."""
    has_factory = field.default is msgspec.NODEFAULT
    return field.default_factory() if has_factory else field.default


def _omitting(write: Write, default: Any) -> Write:
    def write_unless_default(value: Any, context: Any) -> Any:
        written = write(value, context)
        return UNSET if written == default else written

    return write_unless_default


def _maker(hint: Any, reads: Mapping[str, Read]) -> Read:
    """Return what makes an attribute of parts; one that may be None needs them all."""
    kind, is_nullable = _non_null(hint), _is_nullable(hint)

    def make(struct: Any) -> Any:
        attributes = {name: read(struct) for name, read in reads.items()}
        if is_nullable and None in attributes.values():
            return None
        return kind(**attributes)

    return make


def _unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type and what it is annotated with."""
    if get_origin(hint) is Annotated:
        return get_args(hint)[0], hint.__metadata__
    return hint, ()


def _is_nullable(hint: Any) -> bool:
    return NoneType in get_args(hint)


def _non_null(hint: Any) -> Any:
    return next((kind for kind in get_args(hint) if kind is not NoneType), hint)
