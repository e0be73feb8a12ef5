"""Checkpoints: copies of an engine's state from which a session can resume.

Mutable objects are pickled; frozen values, which are most of the state, are referenced.
So the cost of a copy depends on the mutable part only, and unchanged values stay the
same objects.
"""

from __future__ import annotations

import io
import pickle
from enum import Enum
from typing import Any

from msgspec import Struct

_CANNOT_BE_PICKLED = (TypeError, AttributeError, pickle.PicklingError)


class Checkpoint(Struct, frozen=True):
    """A state that can be restored any number of times."""

    pickled: bytes
    frozen: tuple[Any, ...]

    def restore(self) -> Any:
        """Return a copy of the state that shares no mutable objects."""
        return _Unpickler(self.pickled, self.frozen).load()


def take_checkpoint(state: object) -> Checkpoint | None:
    """Return a checkpoint of a state; None if it holds a generator.

    No generator runs while no container is being started or stopped.
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    try:
        pickler.dump(state)
    except _CANNOT_BE_PICKLED:
        return None
    return Checkpoint(stream.getvalue(), tuple(pickler.frozen))


class _Pickler(pickle.Pickler):
    """Refers to frozen values instead of copying them."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.frozen: list[Any] = []
        self._places: dict[int, int] = {}

    def persistent_id(self, value: Any) -> int | None:
        """Return the index of a frozen value, None for an object to copy."""
        kind = type(value)
        known = _IS_FROZEN.get(kind)
        if known is None:
            known = _IS_FROZEN[kind] = _is_frozen(kind)
        if not known:
            return None
        place = self._places.get(id(value))
        if place is None:
            place = self._places[id(value)] = len(self.frozen)
            self.frozen.append(value)
        return place


class _Unpickler(pickle.Unpickler):
    """Resolves the references to frozen values."""

    def __init__(self, pickled: bytes, frozen: tuple[Any, ...]) -> None:
        super().__init__(io.BytesIO(pickled))
        self._frozen = frozen

    def persistent_load(self, place: Any) -> Any:
        """Return the frozen value at an index."""
        return self._frozen[place]


_IS_FROZEN: dict[type, bool] = {}


def _is_frozen(kind: type) -> bool:
    if issubclass(kind, Struct):
        return kind.__struct_config__.frozen
    # Ours have nothing mutable in them.
    is_named_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return is_named_tuple or issubclass(kind, Enum)
