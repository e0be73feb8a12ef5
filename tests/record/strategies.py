"""Arbitrary values of our frozen structs, made from their annotations."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, get_args, get_origin

from hypothesis import strategies as st
from msgspec import Struct

from probetui.values import Instant, TimeSpan

lone_surrogates = st.integers(0xDC80, 0xDCFF).map(chr)
texts = st.text(st.characters(exclude_categories=["Cs"]) | lone_surrogates, max_size=6)
instants = st.integers(0, 4_000_000_000_000_000).map(
    lambda microseconds: (
        datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    )
)
whole_seconds = instants.map(lambda instant: instant.replace(microsecond=0))
lengths = st.timedeltas(timedelta(), timedelta(days=400))

LEAVES: Mapping[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(-(2**63), 2**63 - 1),
    bool: st.booleans(),
    bytes: st.binary(max_size=4),
    Decimal: st.integers(-5, 5).map(Decimal),
    type(None): st.none(),
    datetime: instants,
    Instant: instants,
    timedelta: lengths,
    TimeSpan: lengths,
}


def values_of(
    kind: Any, leaves: Mapping[Any, st.SearchStrategy[Any]] = LEAVES
) -> st.SearchStrategy[Any]:
    """Return arbitrary values of an annotation; a struct has arbitrary fields."""
    if kind in leaves:
        return leaves[kind]
    if isinstance(kind, typing.NewType):
        return values_of(kind.__supertype__, leaves)
    if get_origin(kind) in {types.UnionType, typing.Union}:
        return st.one_of(*(values_of(argument, leaves) for argument in get_args(kind)))
    if get_origin(kind) is tuple:
        return st.lists(values_of(get_args(kind)[0], leaves), max_size=2).map(tuple)
    if get_origin(kind) is frozenset:
        return st.frozensets(values_of(get_args(kind)[0], leaves), max_size=2)
    if get_origin(kind) is Mapping:
        value = values_of(get_args(kind)[1], leaves)
        return st.dictionaries(texts, value, max_size=2)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    hints = typing.get_type_hints(kind)
    names = kind.__struct_fields__ if issubclass(kind, Struct) else kind._fields
    return st.builds(kind, **{name: values_of(hints[name], leaves) for name in names})
