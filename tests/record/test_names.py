"""The names in records: a name that a released version wrote is never changed.

`names.json` has the fields of every kind of value in an input or a configuration, by
the first place where it stands. Fields may be added there; none may be renamed: one
that is renamed in the code gets its old name in `values.FIELD_NAMES`.
"""

from __future__ import annotations

import json
import types
import typing
from collections import deque
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from msgspec import Struct

from probetui.engine.inputs import Input
from probetui.k8s.runtime import RuntimePodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.record.values import FIELD_NAMES, KIND_NAMES, key_of

NAMES = json.loads((Path(__file__).parent / "names.json").read_text())


def kinds_in(hint: Any) -> Iterator[tuple[str, Any]]:
    """Yield the types in an annotation, those of a union with their names."""
    if isinstance(hint, typing.NewType):
        hint = hint.__supertype__
    if get_origin(hint) in {types.UnionType, typing.Union}:
        for kind in get_args(hint):
            if kind in KIND_NAMES:
                yield f"({KIND_NAMES[kind]})", kind
            else:
                yield from kinds_in(kind)
    elif get_origin(hint) is None:
        yield "", hint
    else:
        for argument in get_args(hint):
            yield from kinds_in(argument)


def names_in_files() -> dict[str, list[str]]:
    """Return the fields of every kind that may be in a record, and enums' values."""
    found: dict[str, list[str]] = {}
    visited: set[Any] = set()
    waiting = deque(
        [("input", Input), ("config", KubeletConfig), ("changed", RuntimePodStatus)]
    )
    while waiting:
        place, hint = waiting.popleft()
        for name, kind in kinds_in(hint):
            if kind in visited or not isinstance(kind, type):
                continue
            visited.add(kind)
            if issubclass(kind, Enum):
                found[place + name] = sorted(str(member.value) for member in kind)
            elif issubclass(kind, Struct | tuple):
                is_list = issubclass(kind, tuple)
                keys = {
                    field: str(number) if is_list else key_of(kind, field)
                    for number, field in enumerate(typing.get_type_hints(kind))
                }
                found[place + name] = sorted(keys.values())
                waiting.extend(
                    (f"{place}{name}.{keys[field]}", inner)
                    for field, inner in typing.get_type_hints(kind).items()
                )
    return found


def test_every_name_that_was_ever_written_is_still_written() -> None:
    names = names_in_files()

    assert {
        place: set(NAMES[place]) - set(names.get(place, ())) for place in NAMES
    } == {place: set() for place in NAMES}


def test_every_name_that_is_written_is_kept_for_ever() -> None:
    assert names_in_files() == NAMES


def test_fields_with_a_name_of_their_own_exist() -> None:
    for kind, names in FIELD_NAMES.items():
        assert names.keys() <= typing.get_type_hints(kind).keys()
