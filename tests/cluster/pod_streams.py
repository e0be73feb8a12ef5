"""Commands and forwarded ports of pods, as connections of the API server.

Source: pkg/registry/core/pod/strategy.go, v1.36.2, streamLocation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from msgspec.structs import replace

from probetui.cluster.api_server.api import Connect
from probetui.cluster.api_server.failure import bad_request
from probetui.cluster.api_server.pod_connections import choose_container
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.serving.http_server import HttpAnswer, HttpRequest
from probetui.cluster.serving.port_forward import answer_port_forward
from probetui.cluster.serving.remote_command import (
    RemoteCommand,
    RemoteStreams,
    answer_exec,
    read_remote_command,
)
from probetui.k8s.api.codec import Json


class PodCommands(Protocol):
    """Whoever runs commands in pods."""

    async def run(
        self, pod: Json, command: RemoteCommand, streams: RemoteStreams
    ) -> int:
        """Run a command in the container that it names; return its exit code.

        Raises:
            RemoteCommandError: it cannot be run.
        """


class PodPorts(Protocol):
    """Whoever reaches the ports of pods."""

    async def dial(
        self, pod: Json, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a port of the pod; raises OSError."""


def exec_connection(commands: PodCommands) -> Mapping[str, Connect]:
    """Return what answers for commands in pods."""

    async def answer(request: HttpRequest, info: RequestInfo, pod: Json) -> HttpAnswer:
        del info
        command = read_remote_command(request)
        container = choose_container(pod, command.container)
        chosen = replace(command, container=container)

        async def run(command: RemoteCommand, streams: RemoteStreams) -> int:
            return await commands.run(pod, command, streams)

        return answer_exec(request, chosen, run) or _refuse_plain()

    return {"pods/exec": answer}


def port_connection(ports: PodPorts) -> Mapping[str, Connect]:
    """Return what answers for forwarded ports."""

    async def answer(request: HttpRequest, info: RequestInfo, pod: Json) -> HttpAnswer:
        del info

        async def dial(
            port: int,
        ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            return await ports.dial(pod, port)

        metadata = pod["metadata"]
        target = f"pod {metadata['name']}, uid : {metadata['uid']}"
        return answer_port_forward(request, target, dial) or _refuse_plain()

    return {"pods/portforward": answer}


def _refuse_plain() -> HttpAnswer:
    raise bad_request("Upgrade request required")
