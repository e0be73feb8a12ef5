"""List sandboxes and containers; ask for a status only when a state has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod_source import CONFIG_SOURCE
from probetui.k8s.runtime import RuntimeState
from probetui.kubelet.kuberuntime.labels import POD_UID
from probetui.kubelet.kuberuntime.termination_message import (
    end_of_file,
    termination_message,
    wants_log,
)
from probetui.ports import UnownedPod
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.files import PodFiles
from probetui.runtimes.cri.logs import read_last_output
from probetui.runtimes.cri.ownership import CriOwnership, list_labelled
from probetui.runtimes.cri.translate import (
    CriContainer,
    CriSandbox,
    pod_statuses,
    to_container,
    to_cri_id,
    to_sandbox,
)
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.translation import OWNER, PodName, labels_of_pod

S = TypeVar("S", CriSandbox, CriContainer)

REMOVAL_POLLS = 20
REMOVAL_PAUSE_SECONDS = 0.1
"""How often, and at what interval, a removal by somebody else is waited for."""

MAX_STATUS_CALLS = 16
"""How many status calls may run at once."""


class CriListing:
    """The sandboxes and containers of one owner, with cached statuses.

    Sandboxes and containers of the CRI never go back to an earlier state, so a status
    is valid as long as the state in the list is the same.

    Args:
        client: the connection to the runtime.
        runtime_name: the prefix of its container IDs.
        owner: the value of the owner label.
        files: reads the termination messages of containers.
        daemon_clock: converts the runtime's instants.
        ownership: decides which of the labelled ones are ours.
    """

    def __init__(
        self,
        client: CriClient,
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
        self._sandboxes: dict[str, tuple[int, CriSandbox]] = {}
        self._containers: dict[str, tuple[int, CriContainer]] = {}
        self._looks = asyncio.Semaphore(MAX_STATUS_CALLS)

    async def list_ours(self) -> tuple[list[CriSandbox], list[CriContainer]]:
        """Return our sandboxes and containers, exited ones included."""
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

    async def kubelet_pods(self) -> tuple[str, ...]:
        """Return the namespaces and names of the ready pods of a kubelet, sorted."""
        listed = await self._client.call(
            calls.LIST_POD_SANDBOX, cri.ListPodSandboxRequest()
        )
        return tuple(
            sorted(
                f"{sandbox.metadata.namespace}/{sandbox.metadata.name}"
                for sandbox in listed.items
                if sandbox.state == cri.SANDBOX_READY
                and POD_UID in sandbox.labels
                and CONFIG_SOURCE in sandbox.annotations
                and OWNER not in sandbox.labels
            )
        )

    async def list_unowned(self) -> tuple[list[CriSandbox], list[CriContainer]]:
        """Return those with our label that the ownership ledger does not have."""
        sandboxes, containers = await self._labelled()
        is_sandbox_ours = self._ownership.is_sandbox_ours
        is_container_ours = self._ownership.is_container_ours
        seen_sandboxes = await asyncio.gather(
            *(
                self.sandbox(sandbox.id)
                for sandbox in sandboxes
                if not is_sandbox_ours(sandbox)
            )
        )
        seen_containers = await asyncio.gather(
            *(
                self.container(container.id)
                for container in containers
                if not is_container_ours(container)
            )
        )
        return (
            [sandbox for sandbox in seen_sandboxes if sandbox is not None],
            [container for container in seen_containers if container is not None],
        )

    async def _labelled(self) -> tuple[list[cri.PodSandbox], list[cri.Container]]:
        """Return the sandboxes and containers with our label."""
        noted = self._ownership.noted_before()
        everything = await list_labelled(self._client, OWNER, self._owner)
        for cri_id in noted - {listed.id for part in everything for listed in part}:
            looks = (await self.sandbox(cri_id), await self.container(cri_id))
            if looks == (None, None):
                self._ownership.forget(cri_id)
        return everything

    async def sandbox(self, sandbox_id: str) -> CriSandbox | None:
        """Return the current status of any sandbox, None if it is gone."""
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        answer = await self._client.call_unless_gone(calls.POD_SANDBOX_STATUS, request)
        if answer is None:
            return None
        seen = to_sandbox(answer.status)
        return replace(seen, status=await self._daemon_clock.sandbox(seen.status))

    async def container(self, container_id: str) -> CriContainer | None:
        """Return the current status of any container, None if it is gone."""
        request = cri.ContainerStatusRequest(container_id=container_id)
        answer = await self._client.call_unless_gone(calls.CONTAINER_STATUS, request)
        if answer is None:
            return None
        container = to_container(answer.status, self._runtime_name)
        container = replace(
            container, status=await self._daemon_clock.container(container.status)
        )
        is_ours = self._ownership.is_ours(container_id, container.name, container.nonce)
        return self._with_termination_message(container) if is_ours else container

    async def sandbox_labels(self) -> dict[str, dict[str, str]]:
        """Return the labels of pods by the ID of each sandbox, whoever made it."""
        sandboxes, _ = await list_labelled(self._client, OWNER, self._owner)
        return {sandbox.id: labels_of_pod(sandbox.labels) for sandbox in sandboxes}

    async def our_sandbox(self, sandbox_id: str) -> CriSandbox | None:
        """Return one of our sandboxes, None if it is gone; raise for any other."""
        kept = self._sandboxes.get(sandbox_id)
        sandbox = kept[1] if kept else await self.sandbox(sandbox_id)
        return self._check_owned(sandbox, "sandbox", sandbox_id)

    async def our_container(self, container_id: str) -> CriContainer | None:
        """Return one of our containers, None if it is gone; raise for any other."""
        kept = self._containers.get(container_id)
        container = kept[1] if kept else await self.container(container_id)
        return self._check_owned(container, "container", container_id)

    async def container_ids_in(self, sandbox_id: str) -> tuple[str, ...]:
        """Return the IDs of all containers in a sandbox."""
        wanted = cri.ContainerFilter(pod_sandbox_id=sandbox_id)
        answer = await self._client.call(
            calls.LIST_CONTAINERS, cri.ListContainersRequest(filter=wanted)
        )
        return tuple(
            container.id
            for container in answer.containers
            if container.pod_sandbox_id == sandbox_id
        )

    async def has_sandboxes(self, pod_uid: str) -> bool:
        """Return whether a pod UID has any sandbox, whoever created it."""
        labels = {POD_UID: pod_uid}
        answer = await self._client.call(
            calls.LIST_POD_SANDBOX,
            cri.ListPodSandboxRequest(
                filter=cri.PodSandboxFilter(label_selector=labels)
            ),
        )
        # Not every runtime filters.
        return any(item.labels.get(POD_UID) == pod_uid for item in answer.items)

    async def wait_until_gone(
        self, inspect: Callable[[str], Awaitable[object]], cri_id: str
    ) -> bool:
        """Wait for a removal by another client; return whether it has happened."""
        for _ in range(REMOVAL_POLLS):
            if await inspect(cri_id) is None:
                return True
            await asyncio.sleep(REMOVAL_PAUSE_SECONDS)
        return False

    def forget(self, cri_id: str) -> None:
        """Drop the cached status of a sandbox or container."""
        self._sandboxes.pop(cri_id, None)
        self._containers.pop(cri_id, None)

    def _check_owned(self, item: S | None, kind: str, cri_id: str) -> S | None:
        if item is not None and not self._ownership.is_ours(
            cri_id, item.name, item.nonce
        ):
            raise ContainerRuntimeError(
                f"{kind} {cri_id[:13]} was not made by probetui and is left alone"
            )
        return item

    async def _current(
        self,
        listed: Iterable[Any],
        kept: dict[str, tuple[int, S]],
        inspect: Callable[[str], Any],
    ) -> list[S]:
        states = {entry.id: entry.state for entry in listed}
        for gone in kept.keys() - states:
            del kept[gone]
        changed = [
            cri_id
            for cri_id, state in states.items()
            if cri_id not in kept or kept[cri_id][0] != state
        ]

        async def look_again(cri_id: str) -> None:
            async with self._looks:
                status = await inspect(cri_id)
            if status is None:
                kept.pop(cri_id, None)
            else:
                kept[cri_id] = (states[cri_id], status)

        if changed:
            await asyncio.gather(*map(look_again, changed))
        return [kept[cri_id][1] for cri_id in states if cri_id in kept]

    def _with_termination_message(self, container: CriContainer) -> CriContainer:
        """Return a container, with its termination message if it has exited."""
        status = container.status
        if status.state is not RuntimeState.EXITED:
            return container
        own = self._files.read_termination_message(container)
        if wants_log(container.message_policy, status.exit_code, status.reason, own):
            own = read_last_output(container.log_file)
        message = termination_message(status.message, end_of_file(own or b""))
        return replace(container, status=replace(status, message=message))


def unowned_pods(
    sandboxes: Iterable[CriSandbox], containers: Iterable[CriContainer]
) -> tuple[UnownedPod, ...]:
    """Group the sandboxes and containers of other probetuis by pod.

    Args:
        sandboxes: those with our label that the ownership ledger does not have.
        containers: likewise.
    """
    parts: dict[PodName, tuple[list[CriSandbox], list[CriContainer]]] = {}
    for sandbox in sandboxes:
        if sandbox.nonce and sandbox.is_as_we_make_it:
            parts.setdefault(sandbox.pod, ([], []))[0].append(sandbox)
    for container in containers:
        if container.nonce:
            parts.setdefault(container.pod, ([], []))[1].append(container)
    return tuple(_unowned_pod(*parts[pod]) for pod in sorted(parts))


def _unowned_pod(
    sandboxes: list[CriSandbox], containers: list[CriContainer]
) -> UnownedPod:
    (status,) = pod_statuses(sandboxes, containers)
    makers = [sandbox.made_by for sandbox in sandboxes]
    makers += [container.made_by for container in containers]
    return UnownedPod(
        status,
        next(filter(None, makers), ""),
        (
            *(sandbox.status.sandbox_id for sandbox in sandboxes),
            *(to_cri_id(container.status.container_id) for container in containers),
        ),
    )
