"""Sessions of one machine that lease its pods, whatever a socket answers."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections import Counter
from random import Random

from probetui.errors import ContainerRuntimeError, PodInUseError
from probetui.ports import PodKey
from probetui.runtimes import machine_lease
from probetui.runtimes.lease_holder import pod_keys
from probetui.runtimes.machine_lease import MachineLease, machine_lease_holders
from tests.faults.sharing import PODS
from tests.virtual_loop import run_in_virtual_time

SESSIONS, STEPS = 4, 60
_ERRORS = (errno.EMFILE, errno.ENOBUFS, errno.EACCES)
_KEYS = frozenset(key for pod in PODS for key in pod_keys(pod))


def broken_by_machine_leases(seed: int, counts: Counter[str]) -> list[str]:
    """Let sessions lease pods of one machine; return what does not hold."""
    world = _Machine(seed, counts)
    machine_lease._listen = world.listen
    try:
        run_in_virtual_time(world.run())
    finally:
        machine_lease._listen = world.listen_really
    return world.broken


class _Machine:
    def __init__(self, seed: int, counts: Counter[str]) -> None:
        self.random = Random(f"machine {seed}")
        # The sockets are those of the machine on which this runs.
        self.engine = f"faults {os.getpid()} {seed}"
        self.counts = counts
        self.broken: list[str] = []
        self.is_kind = False
        self.listen_really = machine_lease._listen
        self.leases = [MachineLease(self.engine) for _ in range(SESSIONS)]

    def listen(self, address: str) -> socket.socket:
        """Return a socket for a lease, or fail before or after there is one."""
        fate = "prompt"
        if not self.is_kind:
            fates = ("prompt", "refused", "unheard")
            fate = self.random.choices(fates, weights=(8, 1, 1))[0]
        self.counts[f"socket of a lease: {fate}"] += 1
        if fate != "refused":
            made = self.listen_really(address)
            if fate == "prompt":
                return made
            made.close()
        number = self.random.choice(_ERRORS)
        raise OSError(number, os.strerror(number))

    async def run(self) -> None:
        for _ in range(STEPS):
            number = self.random.randrange(SESSIONS)
            act = self.random.choices(
                (self._add, self._release, self._kill), weights=(8, 2, 1)
            )[0]
            await act(number)
            self._check()
            await asyncio.sleep(0)
        self.is_kind = True
        for lease in self.leases:
            await lease.release()
        await self.leases[0].add(PODS)
        await self.leases[0].release()
        if left := machine_lease_holders(self.engine, _KEYS):
            self.broken.append(f"leases are left: {left}")

    async def _add(self, number: int) -> None:
        lease, pods = self.leases[number], self.random.sample(PODS, 2)
        before = {*lease._sockets}
        wanted = {key for pod in pods for key in pod_keys(pod)}
        others = self._held() - before
        try:
            await lease.add(pods)
        except ContainerRuntimeError as error:
            if {*lease._sockets} != before:
                self.broken.append(f"some leases of those refused are held: {error}")
        except PodInUseError as error:
            if {*lease._sockets} != before:
                self.broken.append(f"of pods in use some are leased: {error}")
            if not wanted & others:
                self.broken.append(f"nobody has what is in use: {error}")
        else:
            if wanted & others:
                self.broken.append(f"two lease {wanted & others}")

    async def _release(self, number: int) -> None:
        await self.leases[number].release()

    async def _kill(self, number: int) -> None:
        """End a session as SIGKILL does: the kernel closes its sockets."""
        for made in self.leases[number]._sockets.values():
            asyncio.get_running_loop().remove_reader(made)
            made.close()
        self.leases[number] = MachineLease(self.engine)

    def _held(self) -> set[PodKey]:
        return {key for lease in self.leases for key in lease._sockets}

    def _check(self) -> None:
        """Check that whoever looks sees what is leased, and nothing else."""
        seen = {*machine_lease_holders(self.engine, _KEYS)}
        if seen != self._held():
            self.broken.append(f"leased is {self._held()}, and seen {seen}")
