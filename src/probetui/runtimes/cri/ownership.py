"""Which sandboxes and containers of a CRI runtime are ours.

Ours is what is in the ledger, whatever its labels say: a kubelet gives the labels of a
manifest to a sandbox, and `crictl` gives it any.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import Client
from probetui.runtimes.cri.faults import RefusedError
from probetui.runtimes.cri.translate import (
    MADE_BY,
    NONCE,
    container_name,
    pod_name,
    sandbox_name,
)
from probetui.runtimes.lease_holder import maker
from probetui.runtimes.ownership_ledger import OwnershipLedger


class CriOwnership:
    """Says what is ours, and has everything noted that is made.

    Args:
        client: the connection to the runtime.
        ledger: the notes about sandboxes and containers.
        engine: what tells the runtime from others of this machine: its socket.
    """

    def __init__(self, client: Client, ledger: OwnershipLedger, engine: str) -> None:
        self._client = client
        self._ledger = ledger
        self._engine = engine
        self._has_looked_back = False

    async def create(
        self, name: str, make: Callable[[dict[str, str]], Awaitable[str]]
    ) -> str:
        """Create something that is ours, also if we are killed meanwhile.

        Args:
            name: what it is noted by until it has an ID.
            make: asks the runtime for it, with these labels beside its own.
        """
        nonce = self._ledger.intend(name, self._engine)
        try:
            cri_id = await make({NONCE: nonce, MADE_BY: maker()})
        except RefusedError:
            # Of what could not be made something may be left: a sandbox not ready.
            left = await self._left(nonce)
            if not left:
                self._ledger.withdraw(nonce)
            for cri_id in left:
                self._ledger.take_over(cri_id, name, self._engine)
            raise
        self._ledger.made(nonce, cri_id)
        return cri_id

    async def _left(self, nonce: str) -> list[str]:
        """Return the IDs of what was made with a nonce."""
        sandboxes, containers = await list_labelled(self._client, NONCE, nonce)
        ids = [sandbox.id for sandbox in sandboxes]
        return ids + [container.id for container in containers]

    def is_ours(self, cri_id: str, name: str, nonce: str) -> bool:
        """Tell whether we made a sandbox or container."""
        return self._ledger.owns(cri_id, name, nonce)

    def is_sandbox_ours(self, listed: cri.PodSandbox) -> bool:
        """Tell the same of a sandbox in the runtime's list."""
        name = sandbox_name(pod_name(listed.labels).uid, listed.metadata.attempt)
        return self._ledger.owns(listed.id, name, listed.labels.get(NONCE, ""))

    def is_container_ours(self, listed: cri.Container) -> bool:
        """Tell the same of a container in the runtime's list."""
        pod, own = pod_name(listed.labels), listed.metadata
        name = container_name(pod.uid, own.name, own.attempt)
        return self._ledger.owns(listed.id, name, listed.labels.get(NONCE, ""))

    def take_over(self, cri_id: str, name: str) -> None:
        """Have something be ours because somebody said so."""
        self._ledger.take_over(cri_id, name, self._engine)

    def forget(self, cri_id: str) -> None:
        """Drop the note of what is gone."""
        self._ledger.forget(cri_id)

    def noted_before(self) -> frozenset[str]:
        """Return, once, what is noted of this runtime, to see what of it is gone."""
        if self._has_looked_back:
            return frozenset()
        self._has_looked_back = True
        return self._ledger.noted(self._engine)


async def list_labelled(
    client: Client, label: str, value: str
) -> tuple[list[cri.PodSandbox], list[cri.Container]]:
    """Return the sandboxes and containers with a label, whoever made them."""
    selector = {label: value}
    # Sandboxes first: of one that is made meanwhile, neither it nor its containers.
    sandboxes = await client.call(
        calls.LIST_POD_SANDBOX,
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(label_selector=selector)),
    )
    containers = await client.call(
        calls.LIST_CONTAINERS,
        cri.ListContainersRequest(filter=cri.ContainerFilter(label_selector=selector)),
    )
    # Not every runtime knows about filters.
    return (
        [found for found in sandboxes.items if found.labels.get(label) == value],
        [found for found in containers.containers if found.labels.get(label) == value],
    )
