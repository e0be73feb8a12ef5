"""Exec: a command in a container with its streams on a client.

The streams are channels of a WebSocket (`v5.channel.k8s.io`, `v4.channel.k8s.io`) or
SPDY/3.1 streams. The runner of the command gets plain asynchronous streams.

Source: k8s.io/kubelet pkg/cri/streaming/remotecommand, v0.36.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import TypeAlias

import msgspec
from msgspec import Struct

from probetui.cluster.serving.http_server import HttpAnswer, HttpRequest, HttpTunnel
from probetui.cluster.serving.websocket import (
    WebSocket,
    choose_protocol,
    is_websocket,
    websocket_tunnel,
)
from probetui.ports import CommandStreams, TerminalSize
from probetui.runtimes.streaming.exit_status import V4, V5, exit_status
from probetui.runtimes.streaming.input_pipe import InputPipe
from probetui.runtimes.streaming.spdy_streams import (
    SpdyStream,
    SpdyStreams,
    UpgradedConnection,
    run_beside,
)

STREAMS_SECONDS = 30
"""How long a SPDY client has to open its streams."""

_CLOSE = 255
_INPUTS = frozenset({"stdin", "resize"})
_TRUE = frozenset({"1", "true"})


class Channel(IntEnum):
    """The channels of a WebSocket."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    RESIZE = 4


class RemoteCommand(Struct, frozen=True):
    """A command, and the streams that the client requested."""

    command: tuple[str, ...]
    container: str = ""
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


class RemoteCommandError(Exception):
    """A command cannot be run at all; the message says why."""


RemoteStreams: TypeAlias = CommandStreams
"""The client's ends of a command's streams; what it did not ask for is dropped."""

CommandRunner: TypeAlias = Callable[[RemoteCommand, RemoteStreams], Awaitable[int]]
"""Runs a command and returns its exit code; it is cancelled if the client is gone.

Raises `RemoteCommandError` where it cannot be run.
"""


def read_remote_command(request: HttpRequest) -> RemoteCommand:
    """Parse the parameters of an exec request.

    The API server has `stdin`, `stdout`, `stderr`; the kubelet `input`, `output`,
    `error`.
    """

    def is_set(*names: str) -> bool:
        return any(request.parameter(name) in _TRUE for name in names)

    tty = is_set("tty")
    return RemoteCommand(
        command=tuple(request.parameters("command")),
        container=request.parameter("container"),
        stdin=is_set("stdin", "input"),
        stdout=is_set("stdout", "output"),
        stderr=is_set("stderr", "error") and not tty,
        tty=tty,
    )


def answer_exec(
    request: HttpRequest, command: RemoteCommand, run: CommandRunner
) -> HttpAnswer | None:
    """Return the response that runs a command, None if no upgrade was requested."""
    if is_websocket(request):
        protocol = choose_protocol(request, (V5, V4))
        if protocol is None:
            return None

        async def over_websocket(socket: WebSocket) -> None:
            await _serve_websocket(socket, command, run)

        return websocket_tunnel(request, protocol, over_websocket)
    if request.headers.get("upgrade", "").lower() == "spdy/3.1":

        async def over_spdy(
            unread: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            connection = UpgradedConnection(unread, reader, writer)
            await _SpdyCommand(connection, command).serve(run)

        return spdy_tunnel(request, (V5, V4), over_spdy)
    return None


def spdy_tunnel(
    request: HttpRequest,
    protocols: tuple[str, ...],
    serve: Callable[
        [bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]
    ],
) -> HttpTunnel | None:
    """Return the response that upgrades a connection to SPDY/3.1.

    None if the client supports none of the protocols.
    """
    asked = request.headers.get("x-stream-protocol-version", protocols[-1])
    offered = [name.strip() for name in asked.split(",")]
    chosen = next((name for name in protocols if name in offered), None)
    if chosen is None:
        return None
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "SPDY/3.1",
        "X-Stream-Protocol-Version": chosen,
    }
    return HttpTunnel(serve, headers=headers)


async def _outcome(
    command: RemoteCommand, streams: RemoteStreams, run: CommandRunner
) -> bytes:
    """Run a command and return its status as JSON."""
    try:
        status = exit_status(await run(command, streams))
    except RemoteCommandError as error:
        message = f"Internal error occurred: error executing command: {error}"
        status = {
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": "InternalError",
            "details": {"causes": [{"message": str(error)}]},
            "code": 500,
        }
    return msgspec.json.encode(status)


def _read_size(data: bytes) -> TerminalSize | None:
    try:
        return msgspec.json.decode(data, type=TerminalSize)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


async def _serve_websocket(
    socket: WebSocket, command: RemoteCommand, run: CommandRunner
) -> None:
    streams = _WebSocketStreams(socket, command)

    async def work() -> None:
        await streams.announce()
        status = await _outcome(command, streams, run)
        await socket.send(bytes([Channel.ERROR]) + status)
        await socket.close()

    await run_beside(work(), streams.receive_input())


class _Sizes(asyncio.Queue[TerminalSize]):
    """A queue of one: the newest terminal size that was not read yet."""

    def replace(self, size: TerminalSize) -> None:
        """Replace the queued size."""
        if not self.empty():
            self.get_nowait()
        self.put_nowait(size)


class _WebSocketStreams:
    """Streams as channels: the first byte of each message is the channel."""

    def __init__(self, socket: WebSocket, command: RemoteCommand) -> None:
        self.stdin = InputPipe()
        self.sizes = _Sizes()
        self._socket = socket
        if not command.stdin:
            self.stdin.discard()
        self._wanted = {Channel.STDOUT: command.stdout, Channel.STDERR: command.stderr}

    async def announce(self) -> None:
        """Send the empty message that announces readiness."""
        wanted = [channel for channel in self._wanted if self._wanted[channel]]
        await self._socket.send(bytes([(*wanted, Channel.ERROR)[0]]))

    async def write(self, data: bytes, *, is_stderr: bool = False) -> None:
        """Send output."""
        channel = Channel.STDERR if is_stderr else Channel.STDOUT
        if data and self._wanted[channel]:
            await self._socket.send(bytes([channel]) + data)

    async def receive_input(self) -> None:
        """Receive input as fast as it is read, until the client disconnects."""
        is_open = True
        while (message := await self._socket.receive()) is not None:
            if not message:
                continue
            channel, data = message[0], message[1:]
            if channel == Channel.STDIN and is_open:
                await self.stdin.feed(data)
            elif channel == Channel.RESIZE and (size := _read_size(data)):
                self.sizes.replace(size)
            elif channel == _CLOSE and data == bytes([Channel.STDIN]):
                is_open = False
                self.stdin.feed_eof()
        if is_open:
            self.stdin.feed_eof()


class _SpdyCommand:
    """SPDY streams, each with its type in its headers."""

    def __init__(self, connection: UpgradedConnection, command: RemoteCommand) -> None:
        self.stdin = InputPipe()
        self.sizes = _Sizes()
        self._command = command
        self._spdy = SpdyStreams(connection, self._open)
        self._streams: dict[str, SpdyStream] = {}
        self._wanted = {"error"} | {
            name
            for name, is_wanted in (
                ("stdin", command.stdin),
                ("stdout", command.stdout),
                ("stderr", command.stderr),
                ("resize", command.tty),
            )
            if is_wanted
        }
        self._is_complete = asyncio.Event()

    async def serve(self, run: CommandRunner) -> None:
        await run_beside(self._work(run), self._spdy.run())

    async def write(self, data: bytes, *, is_stderr: bool = False) -> None:
        """Send output."""
        stream = self._streams.get("stderr" if is_stderr else "stdout")
        if stream is not None:
            await stream.write(data)

    def _open(self, stream: SpdyStream) -> None:
        name = stream.headers.get("streamtype", "")
        if name in self._wanted:  # a client could open and reset others without end
            self._streams[name] = stream
        if name not in _INPUTS or name not in self._wanted:
            stream.incoming.discard()
        elif name == "stdin":
            self.stdin = stream.incoming
        if self._streams.keys() >= self._wanted:
            self._is_complete.set()

    async def _work(self, run: CommandRunner) -> None:
        async with asyncio.timeout(STREAMS_SECONDS):
            await self._is_complete.wait()
        sizes = asyncio.ensure_future(self._take_sizes())
        try:
            status = await _outcome(self._command, self, run)
        finally:
            sizes.cancel()
        await self._streams["error"].write(status)
        for stream in self._streams.values():
            await stream.finish()

    async def _take_sizes(self) -> None:
        if (stream := self._streams.get("resize")) is None:
            return
        try:
            while line := await stream.incoming.readline():
                if size := _read_size(line):
                    self.sizes.replace(size)
        except ValueError:
            stream.incoming.discard()  # the line is too long
