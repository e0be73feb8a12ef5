"""The lease of a session on its pods: acquired, renewed, extended, released."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Self

from probetui.cli.printing import Notes
from probetui.drive.session import KeptTasks
from probetui.errors import ContainerRuntimeError, PodInUseError, UnsupportedError
from probetui.k8s.pod import Pod
from probetui.ports import PodLease, Runtime

logger = logging.getLogger(__name__)

RENEWAL_SECONDS = 15
"""Between renewals; on Docker a lease lasts four times as long."""

RELEASE_SECONDS = 5
"""How long the end of a session waits for an engine to release its lease."""


class LeaseRenewal:
    """The lease of one session, a context manager; without effect on other runtimes.

    Args:
        runtime: where the pods run.
        pods: those that it begins with.
        notes: where a lost lease is reported.
        refuse: called with a pod that was added and is another session's.

    Raises on entering:
        PodInUseError: another probetui runs one of the pods.
        ContainerRuntimeError: the engine could not be asked.
    """

    def __init__(
        self,
        runtime: Runtime,
        pods: Sequence[Pod],
        notes: Notes,
        refuse: Callable[[Pod], None] = lambda _pod: None,
    ) -> None:
        self._runtime = runtime
        self._pods = pods
        self._notes = notes
        self._refuse = refuse
        self._lease: PodLease | None = None
        self._tasks = KeptTasks(self._fail)
        self._lost: set[str] = set()

    async def __aenter__(self) -> Self:
        """Acquire the lease of all pods."""
        try:
            self._lease = await self._runtime.lease()
        except UnsupportedError:
            return self
        try:
            await self._lease.add(self._pods)
        except BaseException:
            await self._lease.release()
            raise
        self._tasks.start(self._renew(self._lease))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Release the lease; it expires if the daemon does not answer."""
        await self._tasks.end()
        if self._lease is not None:
            try:
                async with asyncio.timeout(RELEASE_SECONDS):
                    await self._lease.release()
            except (ContainerRuntimeError, TimeoutError) as refused:
                logger.warning("the lease on the pods was not released: %s", refused)

    def add(self, pods: Sequence[Pod]) -> None:
        """Acquire the lease of more pods in the background.

        A pod of another session is reported, and passed to `refuse`. Until then it
        cannot meet containers of that session: those are not ours.
        """
        if self._lease is not None:
            for pod in pods:
                self._tasks.start(self._add(self._lease, pod))

    def _fail(self, error: Exception) -> None:
        logger.error("the lease on the pods", exc_info=error)
        self._notes.error(f"the lease on the pods is not renewed any more: {error!r}")

    async def _add(self, lease: PodLease, pod: Pod) -> None:
        try:
            await lease.add([pod])
        except (PodInUseError, ContainerRuntimeError) as error:
            self._notes.error(str(error))
            self._refuse(pod)

    async def _renew(self, lease: PodLease) -> None:
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            try:
                taken = await lease.renew()
            except ContainerRuntimeError as error:
                logger.warning("the lease on the pods was not renewed: %s", error)
                continue
            lost = {
                f"{namespace}/{name} to {holder}"
                for (namespace, name), holder in taken.items()
                if namespace
            }
            for words in sorted(lost - self._lost):
                self._notes.error(f"lost the lease on {words}, which runs the pod too")
            self._lost |= lost
