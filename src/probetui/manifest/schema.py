"""Which fields a Kubernetes object has and of what type, read off lightkube's models.

The models are made from Kubernetes' own schema, but say less than it: they do not
tell 32-bit numbers from 64-bit ones, nor quantities from text. What is missing is in
the tables below, by the names that Kubernetes gives such fields everywhere.
"""

from __future__ import annotations

import operator
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from functools import cache, reduce

import msgspec

_LONG_INTEGERS = frozenset({
    "activeDeadlineSeconds", "deletionGracePeriodSeconds", "expirationSeconds",
    "fsGroup", "generation", "gid", "observedGeneration", "runAsGroup", "runAsUser",
    "seconds", "startingDeadlineSeconds", "supplementalGroups",
    "terminationGracePeriodSeconds", "tolerationSeconds", "uid",
})  # fmt: skip
_QUANTITIES = frozenset({"divisor", "sizeLimit"})
_QUANTITY_MAPS = frozenset({
    "allocatedResources", "capacity", "limits", "overhead", "requests",
})  # fmt: skip
_RAW = frozenset({"fieldsV1"})


class Kind(Enum):
    """What a field holds, or each item of it if it is a list."""

    STRING = auto()
    INT32 = auto()
    INT64 = auto()
    BOOL = auto()
    INT_OR_STRING = auto()
    QUANTITY = auto()
    TIME = auto()
    STRING_MAP = auto()
    QUANTITY_MAP = auto()
    OBJECT = auto()
    RAW = auto()


_ZEROS: Mapping[Kind, Callable[[], object]] = types.MappingProxyType({
    Kind.STRING: str,
    Kind.QUANTITY: str,
    Kind.INT32: int,
    Kind.INT64: int,
    Kind.INT_OR_STRING: int,
    Kind.BOOL: bool,
    Kind.STRING_MAP: dict,
    Kind.QUANTITY_MAP: dict,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object; `model` is its type if it is an object itself.

    `attribute` is the model's name for it, `owner` the object's type. Go gives a
    required field that is not written its zero value, and so do we.
    """

    name: str
    attribute: str
    kind: Kind
    model: type[msgspec.Struct] | None
    is_list: bool
    is_required: bool
    owner: str


@cache
def fields_of(model: type[msgspec.Struct]) -> Mapping[str, Field]:
    """Return the fields of an object by their names in YAML."""
    return types.MappingProxyType(
        {
            each.encode_name: _field(each, model.__name__)
            for each in msgspec.structs.fields(model)
        }
    )


def zero(field: Field) -> object:
    """Return what a required field is when nobody wrote it."""
    return [] if field.is_list else zero_item(field)


def zero_item(field: Field) -> object:
    """Return what a null means as an item of a list."""
    if field.model is not None:
        return empty(field.model)
    make = _ZEROS.get(field.kind)
    return make() if make is not None else None


def empty(model: type[msgspec.Struct]) -> msgspec.Struct:
    """Return an object in which nothing was written."""
    required = (each for each in fields_of(model).values() if each.is_required)
    return model(**{each.attribute: zero(each) for each in required})


def _field(info: msgspec.structs.FieldInfo, owner: str) -> Field:
    declared = _without_none(info.type)
    is_list = typing.get_origin(declared) is list
    if is_list:
        (declared,) = typing.get_args(declared)
    kind = _kind(info.encode_name, declared)
    return Field(
        name=info.encode_name,
        attribute=info.name,
        kind=kind,
        model=declared if kind is Kind.OBJECT else None,
        is_list=is_list,
        is_required=info.required,
        owner=owner,
    )


def _without_none(declared: typing.Any) -> typing.Any:
    if typing.get_origin(declared) is not typing.Union:
        return declared
    kept = [each for each in typing.get_args(declared) if each is not types.NoneType]
    return reduce(operator.or_, kept)


def _kind(name: str, declared: typing.Any) -> Kind:
    if name in _RAW:
        return Kind.RAW
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        return Kind.OBJECT
    if declared is int:
        return Kind.INT64 if name in _LONG_INTEGERS else Kind.INT32
    if declared is str:
        return Kind.QUANTITY if name in _QUANTITIES else Kind.STRING
    if declared is dict or typing.get_origin(declared) is dict:
        return Kind.QUANTITY_MAP if name in _QUANTITY_MAPS else Kind.STRING_MAP
    kinds = {bool: Kind.BOOL, datetime: Kind.TIME, int | str: Kind.INT_OR_STRING}
    return kinds.get(declared, Kind.RAW)
