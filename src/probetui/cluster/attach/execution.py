"""Commands in a cluster's containers, as `kubectl exec` runs them.

Over a WebSocket, else over SPDY: an API server before 1.35 asks for the right to `get`
`pods/exec` with the one, to `create` it with the other.

Difference: what runs too long is left running. The kubelet has the runtime kill it; who
asks through the API can only turn away.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeAlias
from urllib.parse import urlencode

from probetui.cluster.attach.upgrade import LONGEST_BACKLOG, open_spdy, open_websocket
from probetui.cluster.client import PODS, ApiClient
from probetui.cluster.errors import ApiError, ClusterError, ServerUnreachableError
from probetui.cluster.serving.remote_command import Channel
from probetui.cluster.serving.websocket import WebSocket
from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.ports import ExecResult
from probetui.runtimes.streaming.exit_status import LONGEST_STATUS, V4, V5, exit_code
from probetui.runtimes.streaming.spdy_streams import SpdyStream, SpdyStreams

KEPT_BYTES = 16 << 10
"""Of each stream; the kubelet looks at 10 KiB of both."""

OPEN_SECONDS = 10
_PERHAPS_BY_SPDY = frozenset({400, 403, 405, 501})
_STREAM_TYPES = {
    Channel.ERROR: "error",
    Channel.STDOUT: "stdout",
    Channel.STDERR: "stderr",
}
_END = (-1, b"")

_Messages: TypeAlias = AsyncIterator[tuple[int, bytes]]
_Begin: TypeAlias = AbstractAsyncContextManager[_Messages]


class _Output:
    """The bounded output of a command, and its status."""

    def __init__(self) -> None:
        self._parts = {channel: bytearray() for channel in Channel}

    def add(self, channel: int, data: bytes) -> None:
        """Append output, up to the limit."""
        limit = LONGEST_STATUS if channel == Channel.ERROR else KEPT_BYTES
        if channel in self._parts:
            part = self._parts[Channel(channel)]
            part += data[: limit - len(part)]

    @property
    def has_ended(self) -> bool:
        """Whether the command's status has arrived."""
        return bool(self._parts[Channel.ERROR])

    def result(self) -> ExecResult:
        """Return the command's result; raises `ContainerRuntimeError`."""
        code = exit_code(bytes(self._parts[Channel.ERROR]))
        out, err = self._parts[Channel.STDOUT], self._parts[Channel.STDERR]
        return ExecResult(code, bytes(out), bytes(err))


class ClusterCommands:
    """Runs commands in the containers of one pod.

    Args:
        client: the API server.
        namespace: the pod's.
        pod: its name.
    """

    def __init__(self, client: ApiClient, namespace: str, pod: str) -> None:
        self._client = client
        self._path = PODS.path(namespace, pod, "exec")
        self._access = PODS.access("create", namespace, pod, "exec")
        self._uses_spdy = False

    async def run(
        self, container: str, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        """Run a command; the limit counts from its start, and 0 seconds is none.

        Raises:
            ExecTimeoutError: it ran longer; it is left running.
            ContainerRuntimeError: it could not be run, or its status is unknown.
        """
        path = f"{self._path}?{_query(container, command)}"
        try:
            return await self._run(path, timeout_seconds)
        except ClusterError as error:
            gone = isinstance(error, ServerUnreachableError)
            raise ContainerRuntimeError(str(error), unreachable=gone) from error

    async def _run(self, path: str, timeout_seconds: int) -> ExecResult:
        if not self._uses_spdy:
            try:
                return await self._run_over(
                    self._begin_on_websocket(path), timeout_seconds
                )
            except ApiError as refusal:
                if refusal.code not in _PERHAPS_BY_SPDY:
                    raise
                first = refusal
            try:
                begin = self._begin_on_spdy(path)
                result = await self._run_over(begin, timeout_seconds)
            except ApiError:
                raise first from None
            self._uses_spdy = True
            return result
        return await self._run_over(self._begin_on_spdy(path), timeout_seconds)

    async def _run_over(self, begin: _Begin, timeout_seconds: int) -> ExecResult:
        output = _Output()
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(OPEN_SECONDS):
                    messages = await stack.enter_async_context(begin)
            except TimeoutError as error:
                raise ServerUnreachableError(
                    f"{self._client.access.cluster.server} did not start the command "
                    f"within {OPEN_SECONDS}s"
                ) from error
            try:
                async with asyncio.timeout(timeout_seconds or None):
                    async for channel, data in messages:
                        output.add(channel, data)
                        if output.has_ended:
                            return output.result()
            except TimeoutError as error:
                raise ExecTimeoutError(
                    f"the command did not end within {timeout_seconds}s", killed=False
                ) from error
        raise ServerUnreachableError(
            "the connection to the API server broke before the command ended"
        )

    @asynccontextmanager
    async def _begin_on_websocket(self, path: str) -> AsyncIterator[_Messages]:
        async with open_websocket(self._client, path, self._access, (V5, V4)) as socket:
            yield _websocket_messages(socket)

    @asynccontextmanager
    async def _begin_on_spdy(self, path: str) -> AsyncIterator[_Messages]:
        async with open_spdy(self._client, path, self._access, (V5, V4)) as connection:
            streams = SpdyStreams(connection, longest_backlog=LONGEST_BACKLOG)
            opened = {
                channel: await streams.open({"streamtype": name})
                for channel, name in _STREAM_TYPES.items()
            }
            running = asyncio.ensure_future(streams.run())
            try:
                yield _spdy_messages(opened)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


async def _websocket_messages(socket: WebSocket) -> _Messages:
    while (message := await socket.receive()) is not None:
        if message:
            yield message[0], message[1:]


async def _spdy_messages(streams: Mapping[Channel, SpdyStream]) -> _Messages:
    """Yield the data of the streams; the status comes last."""
    messages: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue(maxsize=1)

    async def read(channel: Channel) -> None:
        while data := await streams[channel].read():
            await messages.put((channel, data))

    async def read_all() -> None:
        await asyncio.gather(read(Channel.STDOUT), read(Channel.STDERR))
        await read(Channel.ERROR)
        await messages.put(_END)

    reading = asyncio.ensure_future(read_all())
    try:
        while (message := await messages.get()) is not _END:
            yield message
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def _query(container: str, command: tuple[str, ...]) -> str:
    parameters = [("container", container), ("stdout", "true"), ("stderr", "true")]
    parameters += [("command", word) for word in command]
    return urlencode(parameters, errors="surrogateescape")
