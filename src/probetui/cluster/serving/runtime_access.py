"""Logs, commands and ports of a session's containers, for its HTTP servers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

from probetui.cluster.serving.container_log import ALL_LINES, LogOptions
from probetui.cluster.serving.remote_command import (
    RemoteCommand,
    RemoteCommandError,
    RemoteStreams,
)
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.errors import ContainerRuntimeError, UnsupportedError
from probetui.k8s.runtime import NO_CONTAINER, ContainerID, LogLine
from probetui.k8s.status import Running, Terminated, Waiting
from probetui.ports import Runtime
from probetui.runtimes.network_namespace import connect_inside

log = logging.getLogger(__name__)


class NoSuchInstanceError(Exception):
    """The container instance does not exist; the message names it."""


class RuntimeAccess:
    """The containers of a session's pods, on its runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def log(
        self, pod: PodSnapshot, container: str, options: LogOptions
    ) -> AsyncIterator[LogLine]:
        """Return the lines of a container's log.

        Raises:
            NoSuchInstanceError: the container has not started, or has never ended.
        """
        instance = _instance(pod, container, is_previous=options.previous)
        tail = ALL_LINES if options.tail_lines is None else options.tail_lines
        return _until_gone(
            self._runtime.follow_logs(instance, tail=tail, follow=options.follow)
        )

    async def run(
        self,
        pod: PodSnapshot,
        container: str,
        command: RemoteCommand,
        streams: RemoteStreams,
    ) -> int:
        """Run a command, and return its exit code.

        Raises:
            RemoteCommandError: it cannot be run.
        """
        container_id = _running(pod, container)
        try:
            return await self._runtime.exec_streams(
                container_id,
                command.command,
                streams,
                has_stdin=command.stdin,
                tty=command.tty,
            )
        except ContainerRuntimeError as error:
            raise RemoteCommandError(str(error)) from error

    async def attach(
        self,
        pod: PodSnapshot,
        container: str,
        command: RemoteCommand,
        streams: RemoteStreams,
    ) -> int:
        """Stream the output of a container from now on, until it ends.

        Only some runtimes forward input.

        Raises:
            RemoteCommandError: it does not run, or its output is not kept.
        """
        container_id = _running(pod, container)
        try:
            await self._runtime.attach_streams(
                container_id, streams, has_stdin=command.stdin, tty=command.tty
            )
        except UnsupportedError:
            await self._write_log(container_id, streams)
        except ContainerRuntimeError as error:
            raise RemoteCommandError(str(error)) from error
        return 0

    async def _write_log(
        self, container_id: ContainerID, streams: RemoteStreams
    ) -> None:
        """Write a container's output from now on, where it has no streams."""
        async for line in _until_gone(
            self._runtime.follow_logs(container_id, tail=0, follow=True)
        ):
            data = line.text.encode("utf-8", "surrogateescape") + b"\n"
            await streams.write(data, is_stderr=line.is_stderr)

    async def dial(
        self, pod: PodSnapshot, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a port at localhost in a pod; raises OSError.

        Difference: where the pod's network cannot be entered, the pod's IP is dialled:
        as an ordinary user, and where the engine runs on another machine.
        """
        if (namespace := await self._network_namespace(pod)) is not None:
            with contextlib.suppress(PermissionError):
                inside = await connect_inside(namespace, port)
                return await asyncio.open_connection(sock=inside)
        host = pod.status.pod_ip or "127.0.0.1"
        where = self._runtime.dial_address(host, port)
        if not isinstance(where, tuple):
            raise OSError(f"{self._runtime.name} connects for probes only")
        return await asyncio.open_connection(*where)

    async def _network_namespace(self, pod: PodSnapshot) -> Path | None:
        """Return the network namespace of a pod, None if there is none."""
        for container in pod.containers:
            status = container.status
            if status is not None and isinstance(status.state, Running):
                try:
                    return await self._runtime.network_namespace(
                        ContainerID(status.container_id)
                    )
                except ContainerRuntimeError as error:
                    log.info("the network of %s: %s", pod.pod.full_name, error)
        return None


async def _until_gone(lines: AsyncIterator[LogLine]) -> AsyncIterator[LogLine]:
    """Yield lines until the end, or until the container is removed."""
    try:
        async for line in lines:
            yield line
    except ContainerRuntimeError:
        return


def _container(pod: PodSnapshot, name: str) -> ContainerSnapshot:
    for container in pod.containers:
        if container.container.name == name:
            return container
    raise NoSuchInstanceError(
        f'container "{name}" is not valid for pod "{pod.pod.name}"'
    )


def _running(pod: PodSnapshot, name: str) -> ContainerID:
    """Return the running instance; raises `RemoteCommandError` if there is none."""
    status = _container(pod, name).status
    if status is None or not isinstance(status.state, Running):
        raise RemoteCommandError(f'container "{name}" does not run')
    return ContainerID(status.container_id)


def _instance(pod: PodSnapshot, name: str, *, is_previous: bool) -> ContainerID:
    """Return the instance whose log is requested.

    Source: kubelet_pods.go, v1.32.10, validateContainerLogStatus.
    """
    status = _container(pod, name).status
    instance = NO_CONTAINER
    waits_for = ""
    if status is not None:
        last = status.last_state
        ended = last.container_id if isinstance(last, Terminated) else ""
        if is_previous:
            instance = ContainerID(ended)
        elif isinstance(status.state, Waiting):
            instance, waits_for = ContainerID(ended), status.state.reason
        else:
            instance = ContainerID(status.container_id)
    if instance:
        return instance
    of_pod = f'container "{name}" in pod "{pod.pod.name}"'
    if is_previous:
        raise NoSuchInstanceError(f"previous terminated {of_pod} not found")
    raise NoSuchInstanceError(
        f"{of_pod} is waiting to start: {waits_for or 'ContainerCreating'}"
    )
