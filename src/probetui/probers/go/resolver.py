"""DNS lookups of probes and hooks, in threads of their own.

The event loop's lookups share a few threads: names whose servers do not answer occupy
them all, and every other name waits. Here every name has its own threads, so a silent
server delays only the lookups of its name.

Source: Go 1.22, net/lookup.go, lookupIPAddr (one look-up for all who ask for a name).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from msgspec import Struct

from probetui.errors import GoError, LocalResourceError
from probetui.probers.go.errors import describe_lookup_error

MAX_LOOKUPS = 256
"""How many lookups may run at once, abandoned ones included."""

MAX_LOOKUPS_OF_A_NAME = 2
"""How many of them may be for one name."""

LOOKUP_SHARED_SECONDS = 10.0
"""An older lookup is not shared any more; a new one starts."""

LOOKUP_SECONDS = 60.0
"""The time limit of a lookup for callers without their own."""

Address = tuple[socket.AddressFamily, str]
"""An address of a host, and its family."""

LookupFunction = Callable[[str], Sequence[Address]]


class _Lookup(Struct, frozen=True):
    began_at: float
    result: Future[Sequence[Address]]


class Resolver:
    """Looks names up with the system's resolver; a process needs only one.

    Any event loop may use it, from one thread at a time.

    Args:
        look: a blocking lookup of one name; raises `OSError`.
        limit: the largest number of pending lookups.
    """

    def __init__(
        self, look: LookupFunction | None = None, limit: int = MAX_LOOKUPS
    ) -> None:
        self._look = look or resolve_host
        self._limit = limit
        self._under_way: dict[str, list[_Lookup]] = {}

    @property
    def under_way(self) -> int:
        """The number of pending lookups."""
        return sum(map(len, self._current().values()))

    async def look_up(self, host: str) -> Sequence[Address]:
        """Return the addresses of a host.

        Raises:
            GoError: it has none, or the lookup failed.
            LocalResourceError: no thread can be started.
        """
        lookup = self._join_or_begin(host)
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await asyncio.wrap_future(lookup.result)
        except TimeoutError:
            raise GoError(f"lookup {host}: i/o timeout") from None
        except OSError as error:
            if is_own_shortage(error) or not can_open_files(1):
                raise LocalResourceError(
                    f"{host} was not looked up: {error}"
                ) from error
            text = describe_lookup_error(error)
            raise GoError(f"lookup {host}: {text}") from error

    def _join_or_begin(self, host: str) -> _Lookup:
        now = asyncio.get_running_loop().time()
        under_way = self._current()
        of_host = under_way.get(host, [])
        if of_host:
            youngest = of_host[-1]
            is_young = now - youngest.began_at < LOOKUP_SHARED_SECONDS
            if is_young or len(of_host) >= MAX_LOOKUPS_OF_A_NAME:
                return youngest
        count = sum(map(len, under_way.values()))
        if count >= self._limit:
            raise LocalResourceError(
                f"{host} was not looked up: {count} look-ups of other names have no "
                "answer yet"
            )
        lookup = _Lookup(now, Future())
        lookup.result.set_running_or_notify_cancel()
        try:
            threading.Thread(
                target=self._run, args=(host, lookup.result), name="lookup", daemon=True
            ).start()
        except RuntimeError as error:
            raise LocalResourceError(f"{host} was not looked up: {error}") from error
        under_way.setdefault(host, []).append(lookup)
        return lookup

    def _current(self) -> dict[str, list[_Lookup]]:
        """Drop finished lookups, and return the others by name."""
        for host, lookups in tuple(self._under_way.items()):
            lookups[:] = [lookup for lookup in lookups if not lookup.result.done()]
            if not lookups:
                del self._under_way[host]
        return self._under_way

    def _run(self, host: str, result: Future[Sequence[Address]]) -> None:
        try:
            addresses = self._look(host)
        except BaseException as error:  # noqa: BLE001  # who waits for it gets it
            result.set_exception(error)
        else:
            result.set_result(addresses)


def resolve_host(host: str) -> Sequence[Address]:
    """Return the addresses of a host by the system's resolver; blocks."""
    addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [(family, str(address[0])) for family, _, _, _, address in addresses]


_OUT_OF_SOMETHING = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN}
)


def is_own_shortage(error: OSError) -> bool:
    """Return whether an error means a lack of resources here, not at the peer."""
    if isinstance(error, socket.gaierror):
        return error.errno == socket.EAI_MEMORY
    return error.errno in _OUT_OF_SOMETHING


def can_open_files(count: int) -> bool:
    """Return whether so many sockets can be opened; libraries hide the error."""
    with contextlib.ExitStack() as opened:
        try:
            for _ in range(count):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return False
    return True
