"""Calls for any container, ours or not: exec, events, listeners, stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import timedelta

import grpc

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.k8s.runtime import Listeners
from probetui.ports import ExecResult
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import (
    EXEC_SYNC,
    GET_CONTAINER_EVENTS,
    REQUEST_LIMIT,
    CriClient,
)
from probetui.runtimes.cri.errors import (
    CriStatusError,
    CriTimeoutError,
    wrap_encoding_errors,
)
from probetui.runtimes.cri.local_processes import main_pid
from probetui.runtimes.missing_executable import command_error, is_missing
from probetui.runtimes.proc_net import listeners_in_network_of

OUTPUT_LIMIT_BYTES = 64 * 1024
"""How much of each stream is kept; the kubelet looks at 10 KiB."""


async def exec_sync(
    client: CriClient,
    cri_id: str,
    command: tuple[str, ...],
    timeout_seconds: int,
    patience: timedelta,
) -> ExecResult:
    """Run a command in a container; a timeout of 0 seconds is none.

    At the timeout a runtime kills the process it started, not its children. While they
    hold the output open some runtimes do not answer: the call is given up `patience`
    after the timeout, and the command may still run.

    Source: cri-client/pkg/remote_runtime.go, v1.32.10, ExecSync.
    """
    with wrap_encoding_errors():
        request = cri.ExecSyncRequest(
            container_id=cri_id, cmd=command, timeout=timeout_seconds
        )
    limit = timedelta(seconds=timeout_seconds) + patience if timeout_seconds else None
    try:
        answer = await client.call(EXEC_SYNC, request, limit=limit)
    except CriStatusError as error:
        with_code = error.with_code()
        if is_missing(str(error)):
            raise command_error(str(with_code)) from error
        if error.code is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise with_code from error
        raise ExecTimeoutError(_format_timeout(command), killed=True) from error
    except CriTimeoutError as error:
        raise ExecTimeoutError(_format_timeout(command), killed=False) from error
    return ExecResult(
        answer.exit_code,
        answer.stdout[:OUTPUT_LIMIT_BYTES],
        answer.stderr[:OUTPUT_LIMIT_BYTES],
    )


def _format_timeout(command: tuple[str, ...]) -> str:
    return f'command "{" ".join(command)}" timed out'


async def watch_events(
    client: CriClient, matters: Callable[[cri.ContainerEventResponse], bool]
) -> AsyncGenerator[None]:
    """Yield once per container event that `matters`; raises when the stream breaks.

    A runtime without GetContainerEvents never yields.
    """
    events = client.follow(GET_CONTAINER_EVENTS, cri.GetEventsRequest())
    try:
        async with aclosing(events):
            async for event in events:
                if matters(event):
                    yield
    except CriStatusError as error:
        if error.code is not grpc.StatusCode.UNIMPLEMENTED:
            raise
        await asyncio.Event().wait()
    raise ContainerRuntimeError("the event stream ended", unreachable=True)


async def main_process(client: CriClient, cri_id: str) -> int:
    """Return the PID of a container's main process.

    Raises `ContainerRuntimeError` if it does not run, or not on this machine.
    """
    request = cri.ContainerStatusRequest(container_id=cri_id, verbose=True)
    answer = await client.call(calls.CONTAINER_STATUS, request)
    return main_pid(answer.info, cri_id)


async def container_listeners(client: CriClient, cri_id: str) -> Listeners:
    """Return the listening sockets in the network of a container.

    Raises `ContainerRuntimeError` if it does not run, or not on this machine.
    """
    process_id = await main_process(client, cri_id)
    # The kernel may have thousands of sockets to go through.
    return await asyncio.to_thread(listeners_in_network_of, process_id)


async def stop_container(
    client: CriClient, cri_id: str, grace_period_seconds: int
) -> None:
    """Stop a container; one that is gone or does not run is fine."""
    request = cri.StopContainerRequest(
        container_id=cri_id, timeout=grace_period_seconds
    )
    limit = REQUEST_LIMIT + timedelta(seconds=grace_period_seconds)
    await client.call_unless_gone(calls.STOP_CONTAINER, request, limit=limit)
