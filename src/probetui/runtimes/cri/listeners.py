"""Where the programs of containers listen, seen from this machine."""

from __future__ import annotations

import asyncio

from probetui.k8s.listeners import Listeners
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import Client
from probetui.runtimes.cri.local_processes import main_process
from probetui.runtimes.listening import listeners_in_network_of


async def container_listeners(client: Client, cri_id: str) -> Listeners:
    """Return who listens in the network of a container, of whomever.

    Raises `ContainerRuntimeError` if it does not run, or does not show here.
    """
    request = cri.ContainerStatusRequest(container_id=cri_id, verbose=True)
    answer = await client.call(calls.CONTAINER_STATUS, request)
    process_id = main_process(answer.info, cri_id)
    # The kernel may have thousands of sockets to go through.
    return await asyncio.to_thread(listeners_in_network_of, process_id)
