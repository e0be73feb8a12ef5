"""ConfigMaps and Secrets: what pods refer to, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

NO_TEXTS: Mapping[str, str] = MappingProxyType({})
NO_BYTES: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """Configuration for pods of its namespace; no key is in both mappings."""

    name: str
    namespace: str = "default"
    data: Mapping[str, str] = field(default_factory=lambda: NO_TEXTS, hash=False)
    binary_data: Mapping[str, bytes] = field(
        default_factory=lambda: NO_BYTES, hash=False
    )


@dataclass(frozen=True, slots=True)
class Secret:
    """The same for what nobody else should see, decoded."""

    name: str
    namespace: str = "default"
    data: Mapping[str, bytes] = field(default_factory=lambda: NO_BYTES, hash=False)


ConfigObject = ConfigMap | Secret
