"""Commands with streams, through the streaming server of a runtime.

A call of the CRI prepares a command and returns a URL, which serves the streams by
SPDY. The URL is a secret and is valid for one request.

Source: k8s.io/kubelet pkg/cri/streaming/remotecommand, v0.36.2; client-go
tools/remotecommand, v4.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import msgspec

from probetui.errors import ContainerRuntimeError
from probetui.ports import CommandStreams
from probetui.runtimes.streaming.exit_status import LONGEST_STATUS, V4, exit_code
from probetui.runtimes.streaming.network_bytes import NetworkBytes
from probetui.runtimes.streaming.spdy_streams import (
    SpdyStream,
    SpdyStreams,
    UpgradedConnection,
)

OPEN_SECONDS = 10
_SWITCHING_PROTOCOLS = 101
_CHUNK_BYTES = 1 << 15


async def run_streams(
    url: str, streams: CommandStreams, *, has_stdin: bool, tty: bool
) -> int:
    """Connect streams to those of a URL until these end; return the exit code.

    Raises:
        ContainerRuntimeError: the URL serves none, or their status is unknown.
    """
    async with _opened(url) as connection:
        spdy = SpdyStreams(connection)
        tasks = [asyncio.ensure_future(spdy.run())]
        # In this order; the server waits for all of them.
        errors = await spdy.open({"streamtype": "error"})
        if has_stdin:
            stdin = await spdy.open({"streamtype": "stdin"})
            tasks.append(asyncio.ensure_future(_type(stdin, streams)))
        output = [(await spdy.open({"streamtype": "stdout"}), False)]
        if tty:
            sizes = await spdy.open({"streamtype": "resize"})
            tasks.append(asyncio.ensure_future(_resize(sizes, streams)))
        else:
            output.append((await spdy.open({"streamtype": "stderr"}), True))
        try:
            async with asyncio.TaskGroup() as copying:
                for stream, is_stderr in output:
                    copying.create_task(_copy(stream, streams, is_stderr=is_stderr))
            status = await _whole(errors)
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end
    if not status:
        raise ContainerRuntimeError("the runtime did not say how the command ended")
    return exit_code(status)


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[UpgradedConnection]:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "SPDY/3.1",
        "X-Stream-Protocol-Version": V4,
    }
    # The runtime's certificate is its own; that the URL came from it is what counts.
    async with httpx2.AsyncClient(
        trust_env=False,
        verify=False,  # as above
        timeout=httpx2.Timeout(None, connect=OPEN_SECONDS),
    ) as http:
        try:
            async with http.stream("POST", url, headers=headers) as response:
                if response.status_code != _SWITCHING_PROTOCOLS:
                    text = (await response.aread()).decode(errors="replace").strip()
                    raise ContainerRuntimeError(
                        f"the runtime's streaming server answers {response.status_code}"
                        f": {text}"
                    )
                network = NetworkBytes(response)
                yield UpgradedConnection(b"", network, network)
        except httpx2.HTTPError as error:
            raise ContainerRuntimeError(
                f"the runtime's streaming server: {str(error) or type(error).__name__}"
            ) from error


async def _type(stream: SpdyStream, streams: CommandStreams) -> None:
    """Send the input to its end."""
    while data := await streams.stdin.read(_CHUNK_BYTES):
        await stream.write(data)
    await stream.finish()


async def _resize(stream: SpdyStream, streams: CommandStreams) -> None:
    while True:
        size = await streams.sizes.get()
        await stream.write(msgspec.json.encode(size) + b"\n")


async def _copy(
    stream: SpdyStream, streams: CommandStreams, *, is_stderr: bool
) -> None:
    while data := await stream.read():
        await streams.write(data, is_stderr=is_stderr)


async def _whole(stream: SpdyStream) -> bytes:
    """Read a whole stream, up to the limit of a status."""
    content = bytearray()
    while len(content) < LONGEST_STATUS and (data := await stream.read()):
        content += data
    return bytes(content)
