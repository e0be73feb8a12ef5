"""Connections to the ports of a cluster's pod, as `kubectl port-forward` makes them.

All connections share one tunnel: SPDY inside a WebSocket, or SPDY alone where the API
server has no such WebSocket or does not allow it. A connection is two streams.

Source: k8s.io/client-go tools/portforward/portforward.go, v0.36.2, handleConnection.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from probetui.cluster.attach.upgrade import LONGEST_BACKLOG, open_spdy, open_websocket
from probetui.cluster.client import PODS, ApiClient
from probetui.cluster.errors import ApiError, ClusterError, ServerUnreachableError
from probetui.cluster.serving.port_forward import PORT_FORWARD, TUNNELED
from probetui.errors import ContainerRuntimeError, ForwardRefusedError
from probetui.runtimes.streaming.spdy_streams import (
    ByteConnection,
    SpdyStream,
    SpdyStreams,
)
from probetui.safe_text import safe_line

OPEN_SECONDS = 10
LEAST_QUIET_SECONDS = 0.5
_LONGEST_TEXT = 1000
_REASON_SECONDS = 1.0
"""How long after the end of a stream its reason may come."""

_PERHAPS_BY_SPDY = frozenset({400, 403, 405, 501})
_BROKEN = "the connection to the API server broke"


class PortForward:
    """Opens connections to ports of one pod.

    A tunnel that breaks ends its connections; the next connection opens a new one.

    Args:
        client: the API server.
        namespace: the pod's.
        pod: its name.
    """

    def __init__(self, client: ApiClient, namespace: str, pod: str) -> None:
        self._client = client
        self._path = PODS.path(namespace, pod, "portforward")
        self._access = PODS.access("create", namespace, pod, "portforward")
        self._tunnel: _Tunnel | None = None
        self._lock = asyncio.Lock()

    async def close(self) -> None:
        """Close the tunnel and its connections."""
        if self._tunnel is not None:
            await self._tunnel.close()

    async def connect(self, port: int) -> ForwardedStream:
        """Open a connection to a port at 127.0.0.1 in the pod.

        Raises:
            ContainerRuntimeError: the tunnel cannot be opened.
        """
        try:
            async with self._lock:
                if self._tunnel is None or self._tunnel.has_ended:
                    self._tunnel = _Tunnel(self._connection())
                tunnel = self._tunnel
            # A probe that is cancelled must not cancel the tunnel for the others.
            await asyncio.shield(tunnel.opened)
        except ClusterError as error:
            gone = isinstance(error, ServerUnreachableError)
            raise ContainerRuntimeError(str(error), unreachable=gone) from error
        return await tunnel.connect(port)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[ByteConnection]:
        try:
            async with open_websocket(
                self._client, self._path, self._access, (TUNNELED,)
            ) as socket:
                yield socket
                return
        except ApiError as error:
            if error.code not in _PERHAPS_BY_SPDY:
                raise
        async with open_spdy(
            self._client, self._path, self._access, (PORT_FORWARD,)
        ) as connection:
            yield connection


class _Tunnel:
    """A SPDY connection to the API server that carries the forwarded ones."""

    def __init__(self, connection: AbstractAsyncContextManager[ByteConnection]) -> None:
        self._connection = connection
        self._numbers = itertools.count()
        self._streams: SpdyStreams | None = None
        self.quiet_seconds = LEAST_QUIET_SECONDS
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._run())

    @property
    def has_ended(self) -> bool:
        """Whether the tunnel is broken or closed."""
        return self._task.done()

    async def close(self) -> None:
        """Close it."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def connect(self, port: int) -> ForwardedStream:
        """Open the streams of a connection."""
        if self._streams is None or self.has_ended:
            raise ContainerRuntimeError(_BROKEN, unreachable=True)
        headers = {"port": str(port), "requestid": str(next(self._numbers))}
        errors = await self._streams.open({"streamtype": "error", **headers})
        await errors.finish()
        data = await self._streams.open({"streamtype": "data", **headers})
        return ForwardedStream(data, errors, self)

    async def _run(self) -> None:
        began_at = asyncio.get_running_loop().time()
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(OPEN_SECONDS):
                    connection = await stack.enter_async_context(self._connection)
                taken = asyncio.get_running_loop().time() - began_at
                self.quiet_seconds = LEAST_QUIET_SECONDS + taken
                self._streams = SpdyStreams(connection, longest_backlog=LONGEST_BACKLOG)
                self.opened.set_result(None)
                await self._streams.run()
        except TimeoutError:
            self._fail(
                ServerUnreachableError(f"no port-forward tunnel within {OPEN_SECONDS}s")
            )
        except ClusterError as error:
            self._fail(error)
        finally:
            self.opened.cancel()

    def _fail(self, error: ClusterError) -> None:
        """Raise the error in the callers that await the tunnel."""
        if not self.opened.done():
            self.opened.set_exception(error)
            # The caller may have been cancelled.
            self.opened.exception()


class ForwardedStream:
    """One forwarded connection; implements `ports.ForwardedConnection`."""

    def __init__(self, data: SpdyStream, errors: SpdyStream, tunnel: _Tunnel) -> None:
        self._data = data
        self._tunnel = tunnel
        self._refusal = asyncio.ensure_future(errors.read())
        self._ending: asyncio.Future[None] | None = None

    @property
    def quiet_seconds(self) -> float:
        """Seconds without a refusal after which the far end has probably connected."""
        return self._tunnel.quiet_seconds

    @property
    def has_ended(self) -> bool:
        """Whether the pod sends nothing more."""
        return self._data.has_ended

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        self._check()
        await self._data.write(data)

    async def receive(self) -> bytes:
        """Return received bytes; empty at the end."""
        reading = asyncio.ensure_future(self._data.read())
        try:
            await asyncio.wait(
                {reading, self._refusal}, return_when=asyncio.FIRST_COMPLETED
            )
            if not reading.done():
                self._check()
            if data := await reading:
                return data
        finally:
            reading.cancel()
        await asyncio.wait({self._refusal}, timeout=_REASON_SECONDS)
        self._check()
        return b""

    async def finish_sending(self) -> None:
        """Close the sending side."""
        self._check()
        await self._data.finish()

    def close(self) -> None:
        """Reset the stream."""
        self._refusal.cancel()
        if self._ending is None and not self._tunnel.has_ended:
            self._ending = asyncio.ensure_future(self._data.reset())

    def _check(self) -> None:
        """Raise the error that the far end or the tunnel reported."""
        refusal = b""
        if self._refusal.done() and not self._refusal.cancelled():
            refusal = self._refusal.result()
        if refusal:
            raise ForwardRefusedError(
                safe_line(refusal.decode(errors="replace"), limit=_LONGEST_TEXT)
            )
        if self._tunnel.has_ended:
            raise ContainerRuntimeError(_BROKEN, unreachable=True)
