"""Ownership of the sandboxes and containers of a CRI runtime.

The ledger decides, not the labels: a kubelet gives a sandbox the labels of a manifest,
and `crictl` gives it any.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.errors import CriStatusError
from probetui.runtimes.cri.translate import container_name, sandbox_name
from probetui.runtimes.lease_holder import user_and_host
from probetui.runtimes.ownership_ledger import EngineOwnership, OwnershipLedger
from probetui.runtimes.translation import MADE_BY, NONCE, pod_name_from_labels


class CriOwnership(EngineOwnership):
    """Records what we create, and decides what is ours.

    Args:
        client: the connection to the runtime.
        ledger: the records of sandboxes and containers.
        engine: identifies the runtime on this machine: its socket.
    """

    def __init__(self, client: CriClient, ledger: OwnershipLedger, engine: str) -> None:
        super().__init__(ledger, engine)
        self._client = client

    async def create(
        self, name: str, make: Callable[[dict[str, str]], Awaitable[str]]
    ) -> str:
        """Create a sandbox or container that is ours, even if we are killed meanwhile.

        Args:
            name: its name in the ledger until it has an ID.
            make: creates it in the runtime, with these additional labels.
        """
        nonce = await self._ledger.intend_durably(name, self._engine)
        try:
            cri_id = await make({NONCE: nonce, MADE_BY: user_and_host()})
        except CriStatusError:
            # A failed RunPodSandbox may leave a sandbox that is not ready.
            ids = await self._ids_created_with(nonce, name)
            if not ids:
                self._ledger.withdraw(nonce)
            for cri_id in ids:
                self._ledger.take_over(cri_id, name, self._engine)
            raise
        self._ledger.made(nonce, cri_id)
        return cri_id

    async def _ids_created_with(self, nonce: str, name: str) -> list[str]:
        """Return the IDs of the objects that were created with a nonce, for a name.

        Anybody may copy a label meanwhile.
        """
        sandboxes, containers = await list_labelled(self._client, NONCE, nonce)
        named = [(sandbox.id, _name_of_sandbox(sandbox)) for sandbox in sandboxes]
        named += [(listed.id, _name_of_container(listed)) for listed in containers]
        return [cri_id for cri_id, own_name in named if own_name == name]

    def is_sandbox_ours(self, listed: cri.PodSandbox) -> bool:
        """Return whether we made a sandbox in the runtime's list."""
        nonce = listed.labels.get(NONCE, "")
        return self._ledger.owns(listed.id, _name_of_sandbox(listed), nonce)

    def is_container_ours(self, listed: cri.Container) -> bool:
        """Return whether we made a container in the runtime's list."""
        nonce = listed.labels.get(NONCE, "")
        return self._ledger.owns(listed.id, _name_of_container(listed), nonce)


def _name_of_sandbox(listed: cri.PodSandbox) -> str:
    """Return the name of a sandbox in the ledger."""
    uid = pod_name_from_labels(listed.labels).uid
    return sandbox_name(uid, listed.metadata.attempt)


def _name_of_container(listed: cri.Container) -> str:
    """Return the name of a container in the ledger."""
    pod, own = pod_name_from_labels(listed.labels), listed.metadata
    return container_name(pod.uid, own.name, own.attempt)


async def list_labelled(
    client: CriClient, label: str, value: str
) -> tuple[list[cri.PodSandbox], list[cri.Container]]:
    """Return the sandboxes and containers with a label, whoever made them."""
    selector = {label: value}
    # Sandboxes first: of one that is created meanwhile, no containers are listed.
    sandboxes = await client.call(
        calls.LIST_POD_SANDBOX,
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(label_selector=selector)),
    )
    containers = await client.call(
        calls.LIST_CONTAINERS,
        cri.ListContainersRequest(filter=cri.ContainerFilter(label_selector=selector)),
    )
    # Not every runtime supports filters.
    return (
        [entry for entry in sandboxes.items if entry.labels.get(label) == value],
        [entry for entry in containers.containers if entry.labels.get(label) == value],
    )
