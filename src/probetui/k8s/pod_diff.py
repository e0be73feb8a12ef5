"""The differences between two definitions of a pod, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from probetui.k8s.pod import Pod

NON_SPEC_FIELDS = frozenset(
    {
        "uid",
        "annotations",
        "created_at",
        "deletion_requested_at",
        "deletion_grace_period_seconds",
        "generation",
    }
)


class FieldChange(NamedTuple):
    """A field that differs, with both values as text."""

    path: str
    before: str
    after: str


def diff_pods(before: Pod, after: Pod) -> tuple[FieldChange, ...]:
    """Return the fields that differ between two definitions of a pod, in their order.

    Members of lists are compared by name where they have one, else by index.
    """
    return tuple(_compare("", before, after))


def _compare(path: str, before: object, after: object) -> Iterator[FieldChange]:
    if before == after:
        return
    if isinstance(before, Struct) and type(before) is type(after):
        for name in before.__struct_fields__:
            if path or name not in NON_SPEC_FIELDS:
                yield from _compare(
                    _join(path, _camel_case(name)),
                    getattr(before, name),
                    getattr(after, name),
                )
    elif isinstance(before, tuple) and isinstance(after, tuple):
        yield from _compare_members(path, _by_name(before), _by_name(after))
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_members(path, before, after)
    else:
        yield FieldChange(path, _format_value(before), _format_value(after))


def _compare_members(
    path: str, before: Mapping[object, object], after: Mapping[object, object]
) -> Iterator[FieldChange]:
    for key in dict.fromkeys((*before, *after)):
        where = f"{path}[{key}]"
        if key in before and key in after:
            yield from _compare(where, before[key], after[key])
        elif key in before:
            yield FieldChange(where, _format_value(before[key]), "")
        else:
            yield FieldChange(where, "", _format_value(after[key]))


def _by_name(members: tuple[object, ...]) -> dict[object, object]:
    return {
        getattr(member, "name", None) or index: member
        for index, member in enumerate(members)
    }


def _format_value(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Struct):
        name = getattr(value, "name", "")
        return str(name) or type(value).__name__
    return str(value)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _camel_case(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)
