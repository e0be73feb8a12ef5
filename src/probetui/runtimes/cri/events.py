"""What a CRI runtime tells of by itself, if it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import grpc

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import GET_CONTAINER_EVENTS, Client
from probetui.runtimes.cri.faults import RefusedError


async def happenings(
    client: Client, matters: Callable[[cri.ContainerEventResponse], bool]
) -> AsyncGenerator[None]:
    """Yield once per event that matters; raises when the connection breaks.

    Nothing ever happens on a runtime that does not tell of it.
    """
    events = client.follow(GET_CONTAINER_EVENTS, cri.GetEventsRequest())
    try:
        async with aclosing(events):
            async for event in events:
                if matters(event):
                    yield
    except RefusedError as error:
        if error.code is not grpc.StatusCode.UNIMPLEMENTED:
            raise
        await asyncio.Event().wait()
    raise ContainerRuntimeError("the event stream broke off", unreachable=True)
