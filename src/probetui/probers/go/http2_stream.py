"""One request over HTTP/2, on a connection of its own.

h2 parses the frames. Received data is parsed in small slices within the connection's
CPU budget, as a frame takes a thousand times as long to parse as to send.

Difference: a head over HTTP/2 has at most 64 KiB, in 64 frames; Go takes 10 MiB, and of
gRPC 16. The settings frame says so to the server.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from probetui.errors import GoError
from probetui.probers.go.dial import Connection

if TYPE_CHECKING:
    from hyperframe.frame import Frame, GoAwayFrame

_CONFIG = h2.config.H2Configuration(
    client_side=True,
    header_encoding=None,
    # The kubelet's headers are sent unchanged, and received ones are not validated.
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
    validate_inbound_headers=False,
    logger=None,
)
# A frame of nine bytes takes 20 µs to read: a slice of them takes 2 ms.
_SLICE_BYTES = 1 << 10
_HEAD_TOO_LONG = "http2: response header list larger than advertised limit"
_STREAM_ID = 1
_RESET_BY_PEER = "connection reset by peer"

Headers = list[tuple[bytes, bytes]]


class StreamResetError(GoError):
    """The server reset the stream before its response was complete.

    Args:
        code: the HTTP/2 error code.
    """

    def __init__(self, code: ErrorCodes | int | None) -> None:
        self.code = code
        name = error_name(code)
        super().__init__(f"stream error: stream ID 1; {name}; received from peer")


class ConnectionEndedError(GoError):
    """The connection ended before the response was complete."""


HTTP_2_ERROR = "http2: "
"""How the errors begin of a server that answers and breaks the protocol."""

_HTTP_1 = b"HTTP/"
_LOOKS_LIKE_HTTP_1 = "note that the frame header looked like an HTTP/1.1 header"


class _Connection(h2.connection.H2Connection):
    """A client connection that continues after GOAWAY.

    h2 treats GOAWAY as the end of the connection. It only ends new streams: a server
    still answers the accepted ones, as in any graceful shutdown.
    """

    def _receive_goaway_frame(
        self, frame: GoAwayFrame
    ) -> tuple[list[Frame], list[h2.events.Event]]:
        event = h2.events.ConnectionTerminated()
        event.error_code = frame.error_code
        event.last_stream_id = frame.last_stream_id
        return [], [event]


class HTTP2Stream:
    """The only stream of a connection; its methods raise `GoError`.

    Args:
        connection: connected and unused.
        leaves_write_errors: whether to ignore write errors and keep reading, until that
            fails; grpc-go does so, Go's own client does not.
    """

    def __init__(
        self, connection: Connection, *, leaves_write_errors: bool = False
    ) -> None:
        self._connection = connection
        self._leaves_write_errors = leaves_write_errors
        self._write_error = ""
        self._h2 = _Connection(config=_CONFIG)
        # As in Go: pushed responses would be stored.
        self._h2.local_settings[SettingCodes.ENABLE_PUSH] = 0
        self._h2.local_settings.acknowledge()
        self._h2.initiate_connection()
        self._has_settings = False
        self._head: Headers | None = None
        self._pieces: deque[bytes] = deque()
        self._is_over = False
        self.trailers: Headers | None = None

    async def receive_settings(self) -> None:
        """Start the connection and wait for the server's settings."""
        await self._flush()
        while not self._has_settings:
            await self._receive()

    async def send_request(
        self, headers: Iterable[tuple[bytes, bytes]], body: bytes = b""
    ) -> None:
        """Send a whole request, as fast as the server's flow control allows.

        The rest of the body is dropped once the response is complete.
        """
        while self._h2.remote_settings.max_concurrent_streams < 1:
            await self._receive()
        self._h2.send_headers(_STREAM_ID, headers, end_stream=not body)
        await self._flush()
        unsent = memoryview(body)
        while unsent and not self._is_over and not self._write_error:
            length = min(
                len(unsent),
                self._h2.local_flow_control_window(_STREAM_ID),
                self._h2.max_outbound_frame_size,
            )
            if length <= 0:
                await self._receive()
                continue
            piece, unsent = unsent[:length], unsent[length:]
            self._h2.send_data(_STREAM_ID, bytes(piece), end_stream=not unsent)
            await self._flush()

    async def receive_head(self) -> Headers:
        """Return the headers of the response; skip interim ones."""
        while self._head is None:
            await self._receive()
        return self._head

    async def receive(self) -> bytes:
        """Return a piece of the body; empty at the end, when `trailers` are set."""
        while not self._pieces and not self._is_over:
            await self._receive()
        return self._pieces.popleft() if self._pieces else b""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def _receive(self) -> None:
        data = await self._connection.receive()
        if not data and self._write_error.endswith(_RESET_BY_PEER):
            # A socket reports this error once; a waiting reader gets it first.
            raise GoError(self._write_error.replace("write", "read"))
        if not data:
            raise ConnectionEndedError("unexpected EOF")
        if not self._has_settings and data.startswith(_HTTP_1):
            # Its first bytes are the length of a frame of megabytes.
            raise GoError(f"{HTTP_2_ERROR}frame too large, {_LOOKS_LIKE_HTTP_1}")
        for start in range(0, len(data), _SLICE_BYTES):
            if self._is_over:
                return
            await self._connection.give_way()
            self._read_frames(data[start : start + _SLICE_BYTES])
            await self._flush()

    def _read_frames(self, data: bytes) -> None:
        try:
            events = self._h2.receive_data(data)
        except h2.exceptions.DenialOfServiceError as error:
            raise GoError(_HEAD_TOO_LONG) from error
        except h2.exceptions.ProtocolError as error:
            raise GoError(f"{HTTP_2_ERROR}{error}") from error
        for event in events:
            self._handle_event(event)

    def _handle_event(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived(headers=headers):
                self._head = headers
            case h2.events.TrailersReceived(headers=headers):
                self.trailers = headers
            case h2.events.DataReceived(data=data, flow_controlled_length=length):
                self._h2.acknowledge_received_data(length, _STREAM_ID)
                if data:
                    self._pieces.append(data)
            case h2.events.StreamEnded():
                self._is_over = True
            case h2.events.RemoteSettingsChanged():
                self._has_settings = True
            case h2.events.StreamReset(error_code=code, remote_reset=True):
                raise StreamResetError(code)
            case h2.events.ConnectionTerminated(last_stream_id=0, error_code=code) if (
                not self._is_over
            ):
                raise ConnectionEndedError(
                    "http2: server sent GOAWAY and closed the connection; "
                    f'LastStreamID=0, ErrCode={error_name(code)}, debug=""'
                )
            case _:
                pass  # pings and interim responses, which h2 handles

    async def _flush(self) -> None:
        data = self._h2.data_to_send()
        if not data or self._write_error:
            return
        try:
            await self._connection.send(data)
        except GoError as error:
            if not self._leaves_write_errors:
                raise
            self._write_error = str(error)


def error_name(code: ErrorCodes | int | None) -> str:
    """Return Go's name of an HTTP/2 error code."""
    return code.name if isinstance(code, ErrorCodes) else f"unknown error code {code}"
