"""Leases on pods that are kept in the daemon: all who can reach it see who runs what.

A lease of a session is a volume: it needs no image, has the daemon's own time of birth,
and is there for every user and every machine. Labels cannot be changed, so that a
renewal is another volume, after which the one before is removed. The name has a number
that nobody else has, so that nobody ever removes another session's.

To take pods a session first writes down that it wants them, and looks at all leases
then. Of two that look at the same time at least one sees the other. Who sees that a pod
is held gives up, and so does who sees a claim with a lower number; who sees one with a
higher number waits until that one has decided.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from probetui.errors import PodHeldError
from probetui.k8s.pod import Pod
from probetui.ports import PodKey
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import NOT_FOUND, RefusedError
from probetui.runtimes.docker.instants import instant
from probetui.runtimes.docker.ownership import create_volume
from probetui.runtimes.docker.translate import NONCE
from probetui.runtimes.lease_holder import LeaseHolder, keys_of
from probetui.runtimes.ownership_ledger import OwnershipLedger

LEASE = "dev.probetui.lease"
SESSION = "dev.probetui.session"
HOLDER = "dev.probetui.holder"
HELD = "dev.probetui.held-pods"
CLAIMED = "dev.probetui.claimed-pods"

VALID = timedelta(seconds=60)
"""For how long a lease holds whose holder's end cannot be seen, since its renewal."""

LOOKS = 50
PAUSE_SECONDS = 0.2
"""How often and how soon it is seen what became of a claim at the same time."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One session's lease as the daemon has it."""

    volume: str
    session: str
    generation: int
    holder: LeaseHolder | None
    held: frozenset[PodKey]
    claimed: frozenset[PodKey]
    renewed_at: datetime | None
    nonce: str

    def is_held(self, now: datetime | None) -> bool:
        """Tell whether its holder may be alive.

        Args:
            now: by the daemon's clock, None if that is not known.
        """
        seen = None if self.holder is None else self.holder.is_alive()
        if seen is not None:
            return seen
        if now is None or self.renewed_at is None:
            return True
        return now - self.renewed_at < VALID

    @property
    def who(self) -> str:
        """Who holds it, for people."""
        return str(self.holder) if self.holder else "somebody"


class Leases:
    """The leases of one owner's sessions on a daemon.

    Args:
        client: the connection to the daemon.
        owner: the value of our own label.
        ledger: the notes about volumes.
    """

    def __init__(self, client: Client, owner: str, ledger: OwnershipLedger) -> None:
        self._client = client
        self._owner = owner
        self._ledger = ledger

    async def new(self) -> DockerLease:
        """Return a lease without pods, what sessions of ours left behind removed."""
        for lease in await self._all():
            is_over = lease.holder is not None and lease.holder.is_alive() is False
            if is_over and self._ledger.owns(lease.nonce, lease.volume, lease.nonce):
                await self.remove(lease.volume, lease.nonce)
        return DockerLease(self, secrets.token_hex(8))

    async def holders(self) -> Mapping[PodKey, str]:
        """Return who runs which pods."""
        return {key: lease.who for lease in await self.valid() for key in lease.held}

    async def valid(self) -> list[Lease]:
        """Return the newest lease of each session whose holder may be alive."""
        newest: dict[str, Lease] = {}
        for lease in await self._all():
            before = newest.get(lease.session)
            if before is None or before.generation < lease.generation:
                newest[lease.session] = lease
        if not newest:
            return []
        info = await self._client.call(lambda api: api.info())
        now = _time(info.get("SystemTime"))
        return [lease for lease in newest.values() if lease.is_held(now)]

    async def write(
        self,
        session: str,
        generation: int,
        held: Collection[PodKey],
        claimed: Collection[PodKey],
    ) -> tuple[str, str]:
        """Write a lease down and return the name of its volume, and its nonce."""
        name = f"{self._owner}_session_{session}_{generation}"
        labels = {
            LEASE: self._owner,
            SESSION: f"{session}_{generation}",
            HOLDER: LeaseHolder.this_process().text,
            HELD: json.dumps(sorted(held)),
            CLAIMED: json.dumps(sorted(claimed)),
        }
        nonce = await create_volume(self._client, self._ledger, name, {}, labels, str)
        return name, nonce

    async def remove(self, volume: str, nonce: str) -> None:
        """Remove a lease of ours."""
        try:
            await self._client.call(lambda api: api.remove_volume(volume))
        except RefusedError as error:
            if error.status != NOT_FOUND:
                raise
        self._ledger.forget(nonce)

    async def _all(self) -> list[Lease]:
        filters = {"label": [f"{LEASE}={self._owner}"]}
        found = await self._client.call(lambda api: api.volumes(filters=filters))
        leases = (self._lease(volume) for volume in found["Volumes"] or ())
        return [lease for lease in leases if lease is not None]

    def _lease(self, volume: Mapping[str, Any]) -> Lease | None:
        """Read a lease; None for a volume that only has such labels."""
        labels: Mapping[str, str] = volume["Labels"] or {}
        session, _, generation = labels.get(SESSION, "").rpartition("_")
        usual = f"{self._owner}_session_{session}_{generation}"
        if volume["Name"] != usual or not generation.isdecimal():
            return None
        return Lease(
            usual,
            session,
            int(generation),
            LeaseHolder.parse(labels.get(HOLDER, "")),
            _keys(labels.get(HELD, "")),
            _keys(labels.get(CLAIMED, "")),
            _time(volume.get("CreatedAt")),
            labels.get(NONCE, ""),
        )


class DockerLease:
    """The lease of one session; `renew` is to be called every few seconds.

    Args:
        leases: those of the daemon.
        session: the number of this session.
    """

    def __init__(self, leases: Leases, session: str) -> None:
        self._leases = leases
        self._session = session
        self._generation = 0
        self._written: tuple[str, str] | None = None
        self._held: frozenset[PodKey] = frozenset()
        self._one_at_a_time = asyncio.Lock()

    async def add(self, pods: Sequence[Pod]) -> None:
        """Take more pods, all of them or none."""
        by_key = {key: pod for pod in pods for key in keys_of(pod)}
        wanted = frozenset(by_key) - self._held
        async with self._one_at_a_time:
            await self._write(self._held, wanted)
            try:
                await self._decide(wanted, by_key)
            except BaseException:
                await self._write(self._held, ())
                raise
            self._held |= wanted
            await self._write(self._held, ())

    async def renew(self) -> Mapping[PodKey, str]:
        """Renew it; return whoever took pods meanwhile, when it was not renewed."""
        async with self._one_at_a_time:
            await self._write(self._held, ())
        return {
            key: lease.who
            for lease in await self._leases.valid()
            if lease.session != self._session
            for key in lease.held & self._held
        }

    async def release(self) -> None:
        """Give the pods up."""
        async with self._one_at_a_time:
            if self._written is not None:
                await self._leases.remove(*self._written)
                self._written = None

    async def _decide(
        self, wanted: frozenset[PodKey], by_key: Mapping[PodKey, Pod]
    ) -> None:
        """Return when nobody else holds or claims what is wanted."""
        rivals: list[Lease] = []
        for _ in range(LOOKS):
            valid = await self._leases.valid()
            others = [other for other in valid if other.session != self._session]
            for other in others:
                if taken := other.held & wanted:
                    raise _held(by_key, taken, other)
            rivals = [other for other in others if other.claimed & wanted]
            if not rivals:
                return
            first = min(rivals, key=lambda rival: rival.session)
            if first.session < self._session:
                raise _held(by_key, first.claimed & wanted, first)
            await asyncio.sleep(PAUSE_SECONDS)
        raise _held(by_key, rivals[0].claimed & wanted, rivals[0])

    async def _write(
        self, held: Collection[PodKey], claimed: Collection[PodKey]
    ) -> None:
        before = self._written
        self._generation += 1
        self._written = await self._leases.write(
            self._session, self._generation, held, claimed
        )
        if before is not None:
            await self._leases.remove(*before)


def _held(
    by_key: Mapping[PodKey, Pod], taken: Iterable[PodKey], lease: Lease
) -> PodHeldError:
    pod = by_key[min(taken)]
    return PodHeldError(pod.namespace, pod.name, lease.who)


def _keys(text: str) -> frozenset[PodKey]:
    """Read what pods a lease is about; whatever is no such list is about none."""
    try:
        found = json.loads(text)
        return frozenset((str(namespace), str(name)) for namespace, name in found)
    except (ValueError, TypeError, RecursionError):
        return frozenset()


def _time(text: object) -> datetime | None:
    return instant(text) if isinstance(text, str) and text else None
