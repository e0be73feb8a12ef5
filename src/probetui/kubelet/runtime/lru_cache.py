"""An LRU cache.

Source: groupcache lru, as the kubelet and client-go use it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """A mapping that evicts the least recently used value beyond its limit."""

    __slots__ = ("_limit", "_values")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """Return a value and mark it as used; None without one."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def set(self, key: Key, value: Value) -> None:
        """Store a value and mark it as used."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._limit:
            self._values.popitem(last=False)

    def values(self) -> tuple[Value, ...]:
        """Return all values, least recently used first."""
        return tuple(self._values.values())

    def remove(self, key: Key) -> None:
        """Forget a value."""
        self._values.pop(key, None)
