"""Value, Kind: frozen structs that are written to files, named there as the API names.

A class says all that its JSON needs: the codec (`record/values.py`) has no table of
classes. A name in files is never changed. Where a field is renamed in the code,
`field(name=...)` keeps its name in files; where a kind is, `tag=...` does.
"""

from __future__ import annotations

from abc import ABC
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

_UPPER = frozenset({"id", "uid", "ip", "dns"})


def spell_as_api(name: str) -> str:
    """Return what a field is called in files: `probe_id` is `probeID`."""
    first, *others = name.split("_")
    return first + "".join(
        word.upper() if word in _UPPER else word.capitalize() for word in others
    )


class Value(Struct, frozen=True, rename=spell_as_api, omit_defaults=True):
    """A struct that is written as an object, without what is at its default."""


class Kind(Value, frozen=True, tag=True, tag_field="is"):
    """One of several structs that may stand in a place; `is` names it in files."""


if TYPE_CHECKING:
    Instant = datetime
    TimeSpan = timedelta
else:
    # msgspec calls a codec's hook for types that it does not know. It knows those of
    # the standard library, and would read other units and years than records have.

    class Instant(ABC):  # noqa: B024  # only stands for another type
        """An instant with a time zone; in files RFC 3339 with microseconds."""

    class TimeSpan(ABC):  # noqa: B024  # only stands for another type
        """A length of time; in files milliseconds."""

    Instant.register(datetime)
    TimeSpan.register(timedelta)
