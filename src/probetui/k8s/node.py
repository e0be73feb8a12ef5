"""The machine that pods run on, as far as pods can ask about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

NOTHING: Mapping[str, Decimal] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Node:
    """One node.

    `ip` is where pods reach it. `allocatable` is what it has for pods, in base units
    by resource name; a resource that is not there is not known.
    """

    name: str = "localhost"
    ip: str = "127.0.0.1"
    allocatable: Mapping[str, Decimal] = field(
        default_factory=lambda: NOTHING, hash=False
    )


NOWHERE = Node()
"""A machine of which nothing is known."""
