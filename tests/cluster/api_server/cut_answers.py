"""Answers that end in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import h11

from probetui.cluster.serving.http_server import (
    HttpAnswer,
    HttpResponse,
    HttpStream,
    HttpTunnel,
)


def cut_answer(answer: HttpAnswer, after_bytes: int) -> HttpTunnel:
    """Return an answer to a GET that is closed after so many bytes; the head counts.

    0 closes the connection at once, and so does any number of an upgraded one.
    """

    async def serve(
        _left: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        left = after_bytes
        async with aclosing(_pieces(answer)) as pieces:
            async for piece in pieces:
                writer.write(piece[:left])
                await writer.drain()
                left -= len(piece)
                if left <= 0:
                    return

    return HttpTunnel(serve, status=0)


async def _pieces(answer: HttpAnswer) -> AsyncGenerator[bytes]:
    """Yield the bytes of an answer."""
    if isinstance(answer, HttpTunnel):
        return
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    connection.next_event()
    headers = {"Content-Type": answer.content_type, **answer.headers}
    if isinstance(answer, HttpResponse):
        headers["Content-Length"] = str(len(answer.body))
    head = h11.Response(status_code=answer.status, headers=list(headers.items()))
    yield connection.send(head) or b""
    if isinstance(answer, HttpStream):
        async with aclosing(answer.chunks):  # type: ignore[type-var]  # generators all
            async for chunk in answer.chunks:
                yield connection.send(h11.Data(data=chunk)) or b""
    elif answer.body:
        yield connection.send(h11.Data(data=answer.body)) or b""
    yield connection.send(h11.EndOfMessage()) or b""
