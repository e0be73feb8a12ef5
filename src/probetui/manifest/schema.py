"""The fields of Kubernetes objects and their types, from lightkube's models.

The models do not distinguish 32-bit from 64-bit integers, nor quantities from text.
The tables below do, by the names that such fields have everywhere in Kubernetes.
"""

from __future__ import annotations

import operator
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from functools import cache, reduce

import msgspec
from msgspec import Struct

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


class FieldKind(Enum):
    """The type of a field, or of the items of a list."""

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


class ValuePlace(Enum):
    """The place of a value: a whole field, or one of its items or entries.

    The value of a field that is not a list is one item.
    """

    FIELD = auto()
    ITEM = auto()
    ENTRY = auto()


_ZEROS: Mapping[FieldKind, Callable[[], object]] = types.MappingProxyType({
    FieldKind.STRING: str,
    FieldKind.QUANTITY: str,
    FieldKind.INT32: int,
    FieldKind.INT64: int,
    FieldKind.INT_OR_STRING: int,
    FieldKind.BOOL: bool,
    FieldKind.STRING_MAP: dict,
    FieldKind.QUANTITY_MAP: dict,
})  # fmt: skip


_OTHER_KINDS: Mapping[object, FieldKind] = {
    bool: FieldKind.BOOL,
    datetime: FieldKind.TIME,
    int | str: FieldKind.INT_OR_STRING,
}


class FieldSchema(Struct, frozen=True):
    """A field of an object; `model` is its type if the field is an object.

    `attribute` is its name in the model, `owner` the object's type. A required field
    that is absent has its zero value, as in Go.
    """

    name: str
    attribute: str
    kind: FieldKind
    model: type[msgspec.Struct] | None
    is_list: bool
    is_required: bool
    owner: str


@cache
def fields_of(model: type[msgspec.Struct]) -> Mapping[str, FieldSchema]:
    """Return the fields of an object by their names in YAML."""
    return types.MappingProxyType(
        {
            field.encode_name: _field(field, model.__name__)
            for field in msgspec.structs.fields(model)
        }
    )


_HOMES: Mapping[str, str] = types.MappingProxyType({
    "Container": "a container",
    "EphemeralContainer": "a container",
    "ObjectMeta": "metadata",
    "PodSpec": "the pod's spec",
    "Probe": "a probe",
})  # fmt: skip
"""Objects that people know by other names than those of the fields that hold them."""

_DEEPEST_HOME = 3
"""Levels: from the spec of a workload to a container of its pods."""


def home_of(
    name: str, model: type[msgspec.Struct], around: Sequence[FieldSchema]
) -> str:
    """Return where a field belongs that somebody wrote elsewhere, for a sentence.

    Objects inside come before those around, near ones before far ones. The result is
    empty if none has such a field, or several that are equally near.

    Args:
        name: the field.
        model: the object that does not have it.
        around: the fields that the object is in, outermost first.
    """
    inside = [field for field in fields_of(model).values() if field.model is not None]
    for _ in range(_DEEPEST_HOME):
        homes = {_home(field) for field in inside if _has(field, name)}
        if homes:
            return homes.pop() if len(homes) == 1 else ""
        inside = [
            deeper
            for field in inside
            for deeper in fields_of(_model_of(field)).values()
            if deeper.model not in {None, field.model}
        ]
    return next(
        (_home(field) for field in reversed(around[:-1]) if _has(field, name)), ""
    )


def _model_of(field: FieldSchema) -> type[msgspec.Struct]:
    assert field.model is not None, "the field holds an object"  # noqa: S101  # for the type
    return field.model


def _has(field: FieldSchema, name: str) -> bool:
    return field.model is not None and name in fields_of(field.model)


def _home(field: FieldSchema) -> str:
    return _HOMES.get(_model_of(field).__name__, f"`{field.name}`")


def zero_value(field: FieldSchema) -> object:
    """Return the value of a required field that is absent."""
    return [] if field.is_list else zero_list_item(field)


def zero_list_item(field: FieldSchema) -> object:
    """Return the value of a null item of a list."""
    if field.model is not None:
        return empty_object(field.model)
    make = _ZEROS.get(field.kind)
    return make() if make is not None else None


def empty_object(model: type[msgspec.Struct]) -> msgspec.Struct:
    """Return an object without any field."""
    required = (field for field in fields_of(model).values() if field.is_required)
    return model(**{field.attribute: zero_value(field) for field in required})


def _field(info: msgspec.structs.FieldInfo, owner: str) -> FieldSchema:
    declared = _without_none(info.type)
    is_list = typing.get_origin(declared) is list
    if is_list:
        (declared,) = typing.get_args(declared)
    kind = _kind(info.encode_name, declared)
    return FieldSchema(
        name=info.encode_name,
        attribute=info.name,
        kind=kind,
        model=declared if kind is FieldKind.OBJECT else None,
        is_list=is_list,
        is_required=info.required,
        owner=owner,
    )


def _without_none(declared: typing.Any) -> typing.Any:
    if typing.get_origin(declared) is not typing.Union:
        return declared
    filled = [
        argument
        for argument in typing.get_args(declared)
        if argument is not types.NoneType
    ]
    return reduce(operator.or_, filled)


def _kind(name: str, declared: typing.Any) -> FieldKind:
    if name in _RAW:
        return FieldKind.RAW
    if isinstance(declared, type) and issubclass(declared, msgspec.Struct):
        return FieldKind.OBJECT
    if declared is int:
        return FieldKind.INT64 if name in _LONG_INTEGERS else FieldKind.INT32
    if declared is str:
        return FieldKind.QUANTITY if name in _QUANTITIES else FieldKind.STRING
    if declared is dict or typing.get_origin(declared) is dict:
        return (
            FieldKind.QUANTITY_MAP if name in _QUANTITY_MAPS else FieldKind.STRING_MAP
        )
    return _OTHER_KINDS.get(declared, FieldKind.RAW)
