"""How a pod's names are resolved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DNSOption:
    """An option of the resolver; many have no value."""

    name: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class DNSConfig:
    """Name servers, search domains and options of a pod's own."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[DNSOption, ...] = ()


@dataclass(frozen=True, slots=True)
class HostAlias:
    """Names that lead to an address by `/etc/hosts`."""

    ip: str
    hostnames: tuple[str, ...] = ()
