"""Two homes on one engine: what each makes, leases and removes, whatever fails.

A home is a user with a ledger of its own; several of its sessions run at once. Every
call of the engine has a fate, every look at the ledger's disk may fail, and a session
may be killed at either.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path, PurePath
from random import Random
from typing import Any, TypeVar, cast

import grpc
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError, PodInUseError
from probetui.ports import PodKey
from probetui.runtimes.cri.errors import CriStatusError
from probetui.runtimes.cri.ownership import CriOwnership
from probetui.runtimes.docker.errors import NOT_FOUND, SERVER_ERROR, DockerStatusError
from probetui.runtimes.docker.leases import HOLDER, DockerLease, DockerLeases
from probetui.runtimes.lease_holder import LeaseHolder, pod_keys
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import NONCE
from probetui.untrusted_files import DirectoryRoot
from tests.builders import a_pod
from tests.faults.fates import Fates
from tests.faults.world import LoopClock
from tests.runtimes.docker.test_leases import ELSEWHERE, ENDED, Daemon
from tests.virtual_loop import run_in_virtual_time

T = TypeVar("T")

SECONDS = 240
HOMES = ("mine", "theirs")
PODS = tuple(a_pod(name=name, uid=f"uid-of-{name}") for name in ("web", "db", "job"))


class KilledError(BaseException):
    """Our process ends here; whatever it does from now on is not done."""


class Trouble:
    """What goes wrong on the way of one session to its disk and its engine."""

    def __init__(self, random: Random, counts: Counter[str]) -> None:
        self.random = random
        self.counts = counts
        self.is_kind = self.is_dead = False
        self.undo: list[Callable[[], object]] = []
        """What a loss of power undoes, the latest last."""

    def meet(self, name: str, call: Callable[[], T], torn: Callable[[], object]) -> T:
        """Let a call to the disk have its fate."""
        self.check()
        fate = "prompt"
        if not self.is_kind:
            fates = ("prompt", "refused", "unheard", "killed", "killed after")
            fate = self.random.choices(fates, weights=(180, 6, 3, 1, 1))[0]
        self.counts[f"ledger {name}: {fate}"] += 1
        if fate == "refused":
            raise self._error()
        if fate == "killed":
            self.is_dead = True
            torn()
            self.check()
        result = call()
        if fate == "unheard":
            raise self._error()
        if fate == "killed after":
            self.is_dead = True
            self.check()
        return result

    def check(self) -> None:
        """Go no further after our end."""
        if self.is_dead:
            raise KilledError

    def _error(self) -> OSError:
        number = self.random.choice((errno.ENOSPC, errno.EIO, errno.EMFILE))
        return OSError(number, os.strerror(number))


class FaultyRoot(DirectoryRoot, frozen=True):
    """The folder of a ledger on a disk that fails."""

    trouble: Trouble

    def exists(self, relative: str | PurePath) -> bool:
        return self._meet("exists", partial(super().exists, relative))

    def read_file(self, relative: str | PurePath, limit: int) -> bytes:
        return self._meet("read", partial(super().read_file, relative, limit))

    def names(self, relative: str | PurePath = "") -> list[str]:
        return self._meet("names", partial(super().names, relative))

    def rename(self, relative: str | PurePath, name: str) -> None:
        self._meet("rename", partial(super().rename, relative, name))
        back = partial(super().rename, name, str(relative))
        self.trouble.undo.append(partial(self._undo, name, back))

    def unlink(self, relative: str | PurePath, *, missing_ok: bool = False) -> None:
        unlink = partial(super().unlink, relative, missing_ok=missing_ok)
        self._meet("unlink", unlink)

    def replace_file(self, relative: str | PurePath, content: bytes, mode: int) -> None:
        half = partial(self._leave_half, f".{relative}.half", content[:9])
        write = partial(super().replace_file, relative, content, mode)
        self.trouble.meet("write", write, half)
        back = partial(super().unlink, relative)
        self.trouble.undo.append(partial(self._undo, relative, back))

    def sync_file(self, relative: str | PurePath) -> None:
        self._meet("sync", partial(super().sync_file, relative))
        self.trouble.undo.clear()  # all that came before in a folder

    def _undo(self, relative: str | PurePath, back: Callable[[], object]) -> None:
        if super().exists(relative):
            back()

    def _leave_half(self, name: str, content: bytes) -> None:
        (self.path / name).write_bytes(content)

    def _meet(self, name: str, call: Callable[[], T]) -> T:
        return self.trouble.meet(name, call, lambda: None)


@dataclass(slots=True)
class Thing:
    """An object of the engine, with the label that anybody may copy.

    Attributes:
        name: that of the engine.
        nonce: the label.
        owners: the homes whose it is.
        takers: those that could not note that they took it over.
    """

    name: str
    nonce: str
    owners: set[str]
    takers: set[str] = field(default_factory=set)


class SharedEngine(Daemon):
    """An engine with objects and with volumes, which all sessions use."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__()
        self._clock = clock
        self._made = 0
        self.things: dict[str, Thing] = {}

    @property
    def now(self) -> datetime:
        return self._clock.now()

    @now.setter
    def now(self, _now: datetime) -> None:
        """Nothing: its clock goes."""

    def make(self, thing: Thing) -> str:
        if any(other.name == thing.name for other in self.things.values()):
            raise ContainerRuntimeError("the name is already in use")
        self._made += 1
        thing_id = f"thing-{self._made}"
        self.things[thing_id] = thing
        return thing_id


class Client:
    """The connection of one session to the engine, as both runtimes see it."""

    def __init__(
        self, engine: SharedEngine, fates: Fates, trouble: Trouble, holder: LeaseHolder
    ) -> None:
        self._engine = engine
        self._fates = fates
        self._trouble = trouble
        self.holder = holder

    async def decide(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """Let a call of the engine have its fate."""
        self._trouble.check()
        try:
            result = await self._fates.decide(name, call)
        finally:
            self._trouble.check()
        return result

    async def call(self, work: Callable[[Any], T]) -> T:
        async def do() -> T:
            self._trouble.check()
            return work(self)

        try:
            return await self.decide("volumes", do)
        except ContainerRuntimeError as error:
            if error.unreachable or isinstance(error, DockerStatusError):
                raise
            raise DockerStatusError(str(error), SERVER_ERROR) from error

    async def call_or_none(self, work: Callable[[Any], T]) -> T | None:
        try:
            return await self.call(work)
        except DockerStatusError as error:
            if error.status != NOT_FOUND:
                raise
            return None

    def create_volume(
        self, name: str, driver: str, options: object, labels: Mapping[str, str]
    ) -> None:
        labels = {**labels, HOLDER: self.holder.text}
        self._engine.create_volume(name, driver, options, labels)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


class Ownership(CriOwnership):
    """The ownership of a runtime whose list is that of the engine."""

    def __init__(
        self, engine: SharedEngine, client: Client, ledger: OwnershipLedger
    ) -> None:
        super().__init__(cast("Any", client), ledger, "engine")
        self._engine_of_things = engine
        self._calls = client

    async def _ids_created_with(self, nonce: str, name: str) -> list[str]:
        async def look() -> list[str]:
            things = self._engine_of_things.things
            made = (nonce, name)
            return [
                one
                for one, thing in things.items()
                if (thing.nonce, thing.name) == made
            ]

        return await self._calls.decide("list things", look)


@dataclass(slots=True)
class Session:
    """One run of probetui in a home."""

    home: str
    trouble: Trouble
    client: Client
    ownership: Ownership
    leases: DockerLeases
    lease: DockerLease | None = None
    held: set[PodKey] = field(default_factory=set)
    told: set[PodKey] = field(default_factory=set)

    def owns(self, thing_id: str, thing: Thing) -> bool:
        return self.ownership.is_ours(thing_id, thing.name, thing.nonce)

    @property
    def runs(self) -> set[PodKey]:
        """The pods that it runs, as far as it knows alone."""
        return set() if self.trouble.is_dead else self.held - self.told


async def _at_once(call: Callable[..., None], *args: Any) -> None:
    call(*args)


def broken_by_sharing(seed: int, folder: Path, counts: Counter[str]) -> list[str]:
    """Let two homes share an engine; return what does not hold."""
    world = _Sharing(seed, folder, counts)
    run_in_virtual_time(world.run())
    for (name, fate), count in world.fates.counts.items():
        counts[f"{name}: {fate}"] += count
    return world.broken


class _Sharing:
    def __init__(self, seed: int, folder: Path, counts: Counter[str]) -> None:
        self.random = Random(f"sharing {seed}")
        self.folder = folder
        self.counts = counts
        self.broken: list[str] = []
        self.sessions: list[Session] = []
        self.names = 0

    async def run(self) -> None:
        self.clock = LoopClock()
        self.engine = SharedEngine(self.clock)
        self.fates = Fates(self.random, self.clock)
        ends = self.clock.now() + timedelta(seconds=SECONDS)
        tasks = [
            asyncio.ensure_future(self._live(home, ends)) for home in (*HOMES, *HOMES)
        ]
        daemon = asyncio.ensure_future(self._restart_daemon(tasks))
        await asyncio.gather(*tasks)
        await daemon
        await self._end()

    async def _restart_daemon(self, tasks: Sequence[asyncio.Future[None]]) -> None:
        while not all(task.done() for task in tasks):
            await asyncio.sleep(self.random.choice((20, 40)))
            self.fates.restart()

    async def _live(self, home: str, ends: datetime) -> None:
        """Let one session of a home follow another until the end."""
        while self.clock.now() < ends:
            session = self._session(home)
            self.sessions.append(session)
            run = asyncio.ensure_future(self._run(session, ends))
            lasts = self.random.choice((20, 90, SECONDS))
            await asyncio.wait([run], timeout=lasts)
            session.trouble.is_dead = True
            run.cancel()
            await asyncio.wait([run])
            if self.random.random() < 0.3:  # some
                self.counts["loss of power"] += 1
                for undo in reversed(session.trouble.undo):
                    undo()
            self._bury(session)
            if not run.cancelled() and not isinstance(run.exception(), KilledError):
                run.result()
            await asyncio.sleep(self.random.choice((0.1, 5)))

    def _session(self, home: str) -> Session:
        trouble = Trouble(self.random, self.counts)
        here = replace(LeaseHolder.this_process(), user=f"u{len(self.sessions)}")
        holder = self.random.choice((here, replace(ELSEWHERE, user=here.user)))
        client = Client(self.engine, self.fates, trouble, holder)
        ledger = OwnershipLedger(self.folder / home)
        (self.folder / home).mkdir(exist_ok=True)
        ledger._root = FaultyRoot(self.folder / home, trouble)
        ledger._in_thread = _at_once
        return Session(
            home,
            trouble,
            client,
            Ownership(self.engine, client, ledger),
            DockerLeases(cast("Any", client), "me", ledger),
        )

    def _bury(self, session: Session) -> None:
        """Let everybody who can see a process see that it has ended."""
        if session.client.holder.machine == ELSEWHERE.machine:
            return
        for volume in self.engine.found.values():
            if volume["Labels"][HOLDER] == session.client.holder.text:
                volume["Labels"] = {**volume["Labels"], HOLDER: ENDED.text}

    # -- what a session does

    async def _run(self, session: Session, ends: datetime) -> None:
        acts = {
            self._make: 6,
            self._remove: 3,
            self._take: 1,
            self._copy: 1,
            self._add: 12,
            self._renew: 6,
            self._release: 1,
        }
        while self.clock.now() < ends:
            await asyncio.sleep(self.random.choice((0.1, 2, 9)))
            act = self.random.choices(tuple(acts), weights=tuple(acts.values()))[0]
            with suppress(ContainerRuntimeError):  # it is told to the user
                await act(session)

    async def _make(self, session: Session) -> None:
        self.names += 1
        name = f"name-{self.names}"

        async def make(labels: Mapping[str, str]) -> str:
            thing = Thing(name, labels[NONCE], {session.home})

            async def do() -> str:
                session.trouble.check()
                return self.engine.make(thing)

            try:
                return await session.client.decide("make", do)
            except ContainerRuntimeError as error:
                if error.unreachable:
                    raise
                raise CriStatusError(str(error), grpc.StatusCode.UNKNOWN) from error

        await session.ownership.create(name, make)

    async def _remove(self, session: Session) -> None:
        """Remove what is ours, as a list of the engine says."""
        for thing_id, thing in list(self.engine.things.items()):
            if session.owns(thing_id, thing):
                if session.home not in thing.owners | thing.takers:
                    self.broken.append(f"{session.home} owns {thing_id} of another")
                if self.random.random() < 0.3:  # some
                    await session.client.decide("remove", partial(self._drop, thing_id))
                    session.ownership.forget(thing_id)

    async def _drop(self, thing_id: str) -> None:
        self.engine.things.pop(thing_id, None)

    async def _take(self, session: Session) -> None:
        """Take over what another one has made; the user wants it."""
        for thing_id, thing in list(self.engine.things.items())[:1]:
            thing.takers.add(session.home)
            session.ownership.take_over(thing_id, thing.name)
            thing.owners.add(session.home)

    async def _copy(self, session: Session) -> None:
        """Let somebody run an image that was made of one of our containers."""
        self.names += 1
        for thing in list(self.engine.things.values())[:1]:
            copy = Thing(f"copy-{self.names}", thing.nonce, set())
            self.engine.make(copy)
        del session

    async def _add(self, session: Session) -> None:
        if session.lease is None:
            session.lease = await session.leases.new()
            session.lease._session = f"{self.random.getrandbits(64):016x}"
        pod = self.random.choice(PODS)
        try:
            await session.lease.add([pod])
        except PodInUseError:
            return
        keys = set(pod_keys(pod))
        session.held |= keys
        session.told -= keys
        for other in self.sessions:
            if other is not session and other.runs & keys and self._is_valid(other):
                self.broken.append(f"{pod.name} has two leases")

    async def _release(self, session: Session) -> None:
        lease, session.lease = session.lease, None
        session.held.clear()
        if lease is not None:
            await lease.release()

    async def _renew(self, session: Session) -> None:
        if session.lease is None:
            return
        session.told |= (await session.lease.renew()).keys()
        for other in self.sessions:
            if other is not session and self._is_valid(other):
                both = other.runs & session.runs
                if both:
                    self.broken.append(f"two run {sorted(both)}, and none is told")

    def _is_valid(self, session: Session) -> bool:
        """Return whether others see a session's lease."""
        volumes = [
            volume
            for volume in self.engine.found.values()
            if volume["Labels"][HOLDER] == session.client.holder.text
        ]
        times = [datetime.fromisoformat(volume["CreatedAt"]) for volume in volumes]
        is_here = session.client.holder.machine != ELSEWHERE.machine
        return is_here or any(
            self.clock.now() - time < timedelta(seconds=60) for time in times
        )

    # -- the end

    async def _end(self) -> None:
        """Begin once more in each home, and find and remove all that was made."""
        self.fates.are_kind = True
        for home in HOMES:
            session = self._session(home)
            session.trouble.is_kind = True
            for thing_id, thing in list(self.engine.things.items()):
                is_ours = session.owns(thing_id, thing)
                if is_ours != (home in thing.owners) and home not in thing.takers:
                    self.broken.append(f"{home} owns {thing_id}: {is_ours}, {thing}")
                if is_ours:
                    await self._drop(thing_id)
                    session.ownership.forget(thing_id)
            for volume in self.engine.found.values():
                volume["Labels"] = {**volume["Labels"], HOLDER: ENDED.text}
            await session.leases.new()
        if self.engine.found:
            self.broken.append(f"leases are left: {', '.join(self.engine.found)}")
