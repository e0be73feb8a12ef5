"""The names in records: a name that a released version wrote is never changed.

`names.json` has the fields of every kind of value in an input or a configuration, by
the first place where it stands. Fields may be added there; none may be renamed: one
that is renamed in the code keeps its name in files with `field(name=...)`, and a kind
with `tag=...`.
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
from probetui.values import Kind

NAMES = json.loads((Path(__file__).parent / "names.json").read_text())


def kinds_in(hint: Any) -> Iterator[tuple[str, Any]]:
    """Yield the types in an annotation, those of a union with their names."""
    if isinstance(hint, typing.NewType):
        hint = hint.__supertype__
    if get_origin(hint) in {types.UnionType, typing.Union}:
        for kind in get_args(hint):
            if isinstance(kind, type) and issubclass(kind, Kind):
                yield f"({kind.__struct_config__.tag})", kind
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
                hints = typing.get_type_hints(kind)
                if issubclass(kind, Struct):
                    names = kind.__struct_fields__, kind.__struct_encode_fields__
                else:
                    names = tuple(hints), tuple(map(str, range(len(hints))))
                keys = dict(zip(*names, strict=True))
                found[place + name] = sorted(keys.values())
                waiting.extend(
                    (f"{place}{name}.{keys[field]}", inner)
                    for field, inner in hints.items()
                )
    return found


def test_every_name_that_was_ever_written_is_still_written() -> None:
    names = names_in_files()

    assert {
        place: set(NAMES[place]) - set(names.get(place, ())) for place in NAMES
    } == {place: set() for place in NAMES}


def test_every_name_that_is_written_is_kept_for_ever() -> None:
    assert names_in_files() == NAMES
