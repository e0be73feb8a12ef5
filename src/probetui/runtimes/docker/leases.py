"""Leases on pods, kept in the daemon: every client of it sees which session runs what.

A session's lease is a volume: it needs no image, has a creation time by the daemon's
clock, and is visible to every user on every machine. As labels cannot be changed, a
renewal creates another volume and then removes the one before. The name contains the
session's random ID, so that no session removes another's lease.

To acquire pods a session first writes its claim and then reads all leases. Of two
sessions that do so at the same time, at least one sees the other. A session that sees
the pod held, or claimed by a session with a lower ID, gives up; one that sees a claim
with a higher ID waits until that session has decided.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from probetui.errors import PodInUseError
from probetui.k8s.pod import Pod
from probetui.ports import PodKey
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import NOT_FOUND, ignore_status
from probetui.runtimes.docker.ownership import create_volume, remove_half_made
from probetui.runtimes.docker.translate import parse_docker_time
from probetui.runtimes.lease_holder import LeaseHolder, pod_keys
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import NONCE

LEASE = "dev.probetui.lease"
SESSION = "dev.probetui.session"
HOLDER = "dev.probetui.holder"
HELD = "dev.probetui.held-pods"
CLAIMED = "dev.probetui.claimed-pods"

VALID = timedelta(seconds=60)
"""How long after its renewal a lease is valid whose holder cannot be checked."""

LOOKS = 50
PAUSE_SECONDS = 0.2
"""How often and at which interval to check a concurrent claim."""


class SessionLease(Struct, frozen=True):
    """A session's lease as read from the daemon."""

    volume: str
    session: str
    generation: int
    holder: LeaseHolder | None
    held: frozenset[PodKey]
    claimed: frozenset[PodKey]
    renewed_at: datetime | None
    nonce: str

    def is_held(self, now: datetime | None) -> bool:
        """Return whether its holder may be alive.

        Args:
            now: by the daemon's clock, None if that is not known.
        """
        is_alive = None if self.holder is None else self.holder.is_alive()
        if is_alive is not None:
            return is_alive
        if now is None or self.renewed_at is None:
            return True
        return now - self.renewed_at < VALID

    @property
    def who(self) -> str:
        """The holder, as text for people."""
        return str(self.holder) if self.holder else "somebody"


class DockerLeases:
    """The leases of one owner's sessions on a daemon.

    Args:
        client: the connection to the daemon.
        owner: the value of our owner label.
        ledger: the notes about volumes.
    """

    def __init__(
        self, client: DockerClient, owner: str, ledger: OwnershipLedger
    ) -> None:
        self._client = client
        self._owner = owner
        self._ledger = ledger

    async def new(self) -> DockerLease:
        """Return a lease without pods; leases of our ended sessions are removed."""
        for lease in await self._all():
            is_over = lease.holder is not None and lease.holder.is_alive() is False
            if is_over and self._ledger.owns(lease.nonce, lease.volume, lease.nonce):
                await self.remove(lease.volume, lease.nonce)
        return DockerLease(self, secrets.token_hex(8))

    async def holders(self) -> Mapping[PodKey, str]:
        """Return who runs which pods."""
        return {key: lease.who for lease in await self.valid() for key in lease.held}

    async def valid(self) -> list[SessionLease]:
        """Return the newest lease of each session whose holder may be alive."""
        newest: dict[str, SessionLease] = {}
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
        """Create the volume of a lease and return its name and nonce."""
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
        with ignore_status(NOT_FOUND):
            await self._client.call(lambda api: api.remove_volume(volume))
        self._ledger.forget(nonce)

    async def remove_half_made(self) -> None:
        """Remove what a daemon that was ending has made of leases."""
        await remove_half_made(self._client, self._ledger)

    async def _all(self) -> list[SessionLease]:
        filters = {"label": [f"{LEASE}={self._owner}"]}
        listed = await self._client.call(lambda api: api.volumes(filters=filters))
        leases = (self._lease(volume) for volume in listed["Volumes"] or ())
        return [lease for lease in leases if lease is not None]

    def _lease(self, volume: Mapping[str, Any]) -> SessionLease | None:
        """Parse a lease; None for a volume that only has its labels."""
        labels: Mapping[str, str] = volume["Labels"] or {}
        session, _, generation = labels.get(SESSION, "").rpartition("_")
        usual = f"{self._owner}_session_{session}_{generation}"
        if volume["Name"] != usual or not generation.isdecimal():
            return None
        return SessionLease(
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
        session: the ID of this session.
    """

    def __init__(self, leases: DockerLeases, session: str) -> None:
        self._leases = leases
        self._session = session
        self._generation = 0
        self._written: list[tuple[str, str]] = []
        self._held: frozenset[PodKey] = frozenset()
        self._lock = asyncio.Lock()

    async def add(self, pods: Sequence[Pod]) -> None:
        """Acquire more pods, all or none."""
        by_key = {key: pod for pod in pods for key in pod_keys(pod)}
        wanted = frozenset(by_key) - self._held
        async with self._lock:
            try:
                await self._write(self._held, wanted)
                await self._decide(wanted, by_key)
                await self._write(self._held | wanted, ())
            except BaseException:
                await self._write(self._held, ())
                raise
            self._held |= wanted

    async def renew(self) -> Mapping[PodKey, str]:
        """Renew it; return who has acquired its pods after it had expired."""
        async with self._lock:
            await self._write(self._held, ())
        return {
            key: lease.who
            for lease in await self._leases.valid()
            if lease.session != self._session
            for key in lease.held & self._held
        }

    async def release(self) -> None:
        """Release all pods."""
        async with self._lock:
            await self._remove_all_but(0)
            await self._leases.remove_half_made()

    async def _decide(
        self, wanted: frozenset[PodKey], by_key: Mapping[PodKey, Pod]
    ) -> None:
        """Return once no other session holds or claims the wanted pods."""
        rivals: list[SessionLease] = []
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
        self._generation += 1
        self._written.append(
            await self._leases.write(self._session, self._generation, held, claimed)
        )
        await self._remove_all_but(1)

    async def _remove_all_but(self, count: int) -> None:
        """Remove the oldest volumes; one that cannot be removed is tried again."""
        while len(self._written) > count:
            await self._leases.remove(*self._written[0])
            del self._written[0]


def _held(
    by_key: Mapping[PodKey, Pod], taken: Iterable[PodKey], lease: SessionLease
) -> PodInUseError:
    pod = by_key[min(taken)]
    return PodInUseError(pod.namespace, pod.name, lease.who)


def _keys(text: str) -> frozenset[PodKey]:
    """Parse the pods of a lease; an invalid list has none."""
    try:
        keys = json.loads(text)
        return frozenset((str(namespace), str(name)) for namespace, name in keys)
    except (ValueError, TypeError, RecursionError):
        return frozenset()


def _time(text: object) -> datetime | None:
    return parse_docker_time(text) if isinstance(text, str) and text else None
