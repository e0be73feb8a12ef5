"""Where the programs of containers listen, seen from this machine."""

from __future__ import annotations

from probetui.errors import ContainerRuntimeError
from probetui.k8s.listeners import Listeners
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.processes import HostProcesses
from probetui.runtimes.listening import listeners_in_network_of


class ContainerListeners:
    """Looks into the networks of containers.

    Args:
        client: the connection to the daemon.
        processes: this machine's, where the daemon's containers may show; None if
            they cannot.
    """

    def __init__(self, client: Client, processes: HostProcesses | None) -> None:
        self._client = client
        self._processes = processes

    async def of(self, docker_id: str) -> Listeners:
        """Return who listens in a container's network; two reads in a thread.

        Raises:
            ContainerRuntimeError: it does not run, or does not show here.
        """
        processes = self._processes
        if processes is None:
            raise ContainerRuntimeError("the daemon runs on another machine")

        def look(api: Api) -> Listeners:
            found = api.inspect_container(docker_id)
            process_id = found["State"]["Pid"]
            if not process_id:
                raise ContainerRuntimeError("it does not run")
            if not processes.shows(process_id, found["Id"]):
                raise ContainerRuntimeError("its processes do not show here")
            return listeners_in_network_of(process_id)

        return await self._client.call(look)
