"""Transports of the client that need no socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2


class Pieces(httpx2.AsyncByteStream):
    """A body that comes in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


class AnsweringTransport(httpx2.AsyncBaseTransport):
    """Answers with what a function returns, unread, as a socket's transport does."""

    def __init__(self, answer: Callable[[httpx2.Request], httpx2.Response]) -> None:
        self._answer = answer

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        response = self._answer(request)
        if not response.is_closed:
            return response
        body = Pieces(response.content)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=body
        )
