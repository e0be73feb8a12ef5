"""What is there, cheaply: two lists, and a look only at what has changed its state."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import grpc

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import RuntimeState
from probetui.kubelet.labels import POD_UID
from probetui.kubelet.termination_message import (
    end_of_file,
    termination_message,
    wants_log,
)
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import Client
from probetui.runtimes.cri.faults import RefusedError
from probetui.runtimes.cri.files import PodFiles
from probetui.runtimes.cri.logs import last_output
from probetui.runtimes.cri.ownership import CriOwnership, list_labelled
from probetui.runtimes.cri.translate import (
    OWNER,
    SeenContainer,
    SeenSandbox,
    seen_container,
    seen_sandbox,
)
from probetui.runtimes.daemon_clock import DaemonClock

S = TypeVar("S", SeenSandbox, SeenContainer)

REMOVALS_LOOKED_FOR = 20
REMOVAL_PAUSE_SECONDS = 0.1
"""How often and how soon it is seen whether somebody else has removed something."""

LOOKS_AT_ONCE = 16
"""How many looks may be under way; a runtime has other things to do."""


class Listing:
    """All sandboxes and containers of one owner, with what the last looks showed.

    A sandbox or a container of the CRI goes through its states once and never back, so
    that one in the state of the last look has not changed since.

    Args:
        client: the connection to the runtime.
        runtime_name: its word in container IDs.
        owner: the value of our own label.
        files: where containers leave their last words.
        daemon_clock: converts the runtime's instants.
        ownership: says which of those that have the label are ours.
    """

    def __init__(
        self,
        client: Client,
        runtime_name: str,
        owner: str,
        files: PodFiles,
        daemon_clock: DaemonClock,
        ownership: CriOwnership,
    ) -> None:
        self._client = client
        self._runtime_name = runtime_name
        self._owner = owner
        self._files = files
        self._daemon_clock = daemon_clock
        self._ownership = ownership
        self._sandboxes: dict[str, tuple[int, SeenSandbox]] = {}
        self._containers: dict[str, tuple[int, SeenContainer]] = {}
        self._looks = asyncio.Semaphore(LOOKS_AT_ONCE)

    async def everything(self) -> tuple[list[SeenSandbox], list[SeenContainer]]:
        """Return all that is ours, dead or alive."""
        sandboxes, containers = await self._labelled()
        return (
            await self._current(
                filter(self._ownership.is_sandbox_ours, sandboxes),
                self._sandboxes,
                self.sandbox,
            ),
            await self._current(
                filter(self._ownership.is_container_ours, containers),
                self._containers,
                self.container,
            ),
        )

    async def not_ours(self) -> tuple[list[SeenSandbox], list[SeenContainer]]:
        """Return what has our label and is in no note of ours."""
        sandboxes, containers = await self._labelled()
        is_sandbox_ours = self._ownership.is_sandbox_ours
        is_container_ours = self._ownership.is_container_ours
        seen_sandboxes = await asyncio.gather(
            *(self.sandbox(each.id) for each in sandboxes if not is_sandbox_ours(each))
        )
        seen_containers = await asyncio.gather(
            *(
                self.container(each.id)
                for each in containers
                if not is_container_ours(each)
            )
        )
        return (
            [each for each in seen_sandboxes if each is not None],
            [each for each in seen_containers if each is not None],
        )

    async def _labelled(self) -> tuple[list[cri.PodSandbox], list[cri.Container]]:
        """Return the lists of what has our label, whoever made it."""
        noted = self._ownership.noted_before()
        found = await list_labelled(self._client, OWNER, self._owner)
        for cri_id in noted - {each.id for part in found for each in part}:
            looks = (await self.sandbox(cri_id), await self.container(cri_id))
            if looks == (None, None):
                self._ownership.forget(cri_id)
        return found

    async def sandbox(self, sandbox_id: str) -> SeenSandbox | None:
        """Return a sandbox, of whomever, as it is now; None if it is gone."""
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        try:
            answer = await self._client.call(calls.POD_SANDBOX_STATUS, request)
        except RefusedError as error:
            if error.code is grpc.StatusCode.NOT_FOUND:
                return None
            raise
        seen = seen_sandbox(answer.status)
        return replace(seen, status=await self._daemon_clock.sandbox(seen.status))

    async def container(self, container_id: str) -> SeenContainer | None:
        """Return a container, of whomever, as it is now; None if it is gone."""
        request = cri.ContainerStatusRequest(container_id=container_id)
        try:
            answer = await self._client.call(calls.CONTAINER_STATUS, request)
        except RefusedError as error:
            if error.code is grpc.StatusCode.NOT_FOUND:
                return None
            raise
        found = seen_container(answer.status, self._runtime_name)
        found = replace(found, status=await self._daemon_clock.container(found.status))
        is_ours = self._ownership.is_ours(container_id, found.name, found.nonce)
        return self._with_last_words(found) if is_ours else found

    async def our_sandbox(self, sandbox_id: str) -> SeenSandbox | None:
        """Return a sandbox of ours; None if it is gone; refuse other people's."""
        kept = self._sandboxes.get(sandbox_id)
        found = kept[1] if kept else await self.sandbox(sandbox_id)
        return self._checked(found, "sandbox", sandbox_id)

    async def our_container(self, container_id: str) -> SeenContainer | None:
        """Return a container of ours; None if it is gone; refuse other people's."""
        kept = self._containers.get(container_id)
        found = kept[1] if kept else await self.container(container_id)
        return self._checked(found, "container", container_id)

    async def ids_inside(self, sandbox_id: str) -> tuple[str, ...]:
        """Return the IDs of the containers in a sandbox, whoever made them."""
        wanted = cri.ContainerFilter(pod_sandbox_id=sandbox_id)
        answer = await self._client.call(
            calls.LIST_CONTAINERS, cri.ListContainersRequest(filter=wanted)
        )
        return tuple(
            each.id for each in answer.containers if each.pod_sandbox_id == sandbox_id
        )

    async def has_sandboxes(self, pod_uid: str) -> bool:
        """Tell whether any sandbox is of a pod with that uid, whoever made it."""
        labels = {POD_UID: pod_uid}
        answer = await self._client.call(
            calls.LIST_POD_SANDBOX,
            cri.ListPodSandboxRequest(
                filter=cri.PodSandboxFilter(label_selector=labels)
            ),
        )
        # Not every runtime knows about filters.
        return any(each.labels.get(POD_UID) == pod_uid for each in answer.items)

    async def is_gone_soon(
        self, look: Callable[[str], Awaitable[object]], cri_id: str
    ) -> bool:
        """Tell whether something is gone, or just being removed by somebody else."""
        for _ in range(REMOVALS_LOOKED_FOR):
            if await look(cri_id) is None:
                return True
            await asyncio.sleep(REMOVAL_PAUSE_SECONDS)
        return False

    def forget(self, cri_id: str) -> None:
        """Look at a sandbox or container again next time."""
        self._sandboxes.pop(cri_id, None)
        self._containers.pop(cri_id, None)

    def _checked(self, found: S | None, kind: str, cri_id: str) -> S | None:
        if found is not None and not self._ownership.is_ours(
            cri_id, found.name, found.nonce
        ):
            raise ContainerRuntimeError(
                f"{kind} {cri_id[:13]} was not made by probetui and is left alone"
            )
        return found

    async def _current(
        self,
        listed: Iterable[Any],
        kept: dict[str, tuple[int, S]],
        look: Callable[[str], Any],
    ) -> list[S]:
        states = {each.id: each.state for each in listed}
        for gone in kept.keys() - states:
            del kept[gone]
        changed = [
            each
            for each, state in states.items()
            if each not in kept or kept[each][0] != state
        ]

        async def look_again(cri_id: str) -> None:
            async with self._looks:
                found = await look(cri_id)
            if found is None:
                kept.pop(cri_id, None)
            else:
                kept[cri_id] = (states[cri_id], found)

        if changed:
            await asyncio.gather(*map(look_again, changed))
        return [kept[each][1] for each in states if each in kept]

    def _with_last_words(self, found: SeenContainer) -> SeenContainer:
        """Return a container with what it left to say, once it has ended."""
        status = found.status
        if status.state is not RuntimeState.EXITED:
            return found
        own = self._files.last_words(found)
        if wants_log(found.message_policy, status.exit_code, status.reason, own):
            own = last_output(found.log_file)
        message = termination_message(status.message, end_of_file(own or b""))
        return replace(found, status=replace(status, message=message))
