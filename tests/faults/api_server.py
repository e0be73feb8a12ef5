"""An API server whose answers are late, lost, cut off, wrong or doubled.

A list and an object are as the server has them while it answers, or was asked: it is
asked without a resourceVersion, which is answered by a quorum. A watch may be late, be
silent, end, and be told that its version is too old.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from random import Random
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import msgspec

from probetui.cluster.api_server.api import ApiServer
from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.serving.http_server import HttpRequest, HttpResponse, HttpStream
from tests.cluster.transports import Pieces
from tests.faults.fates import Schedule
from tests.faults.world import LoopClock


class RequestFate(StrEnum):
    """What becomes of one request."""

    PROMPT = "prompt"
    LATE = "late"
    ANSWERED_LATE = "answered late"
    REFUSED = "refused"
    UNHEARD = "unheard"
    LOST = "lost"
    SWALLOWED = "swallowed"
    TWICE = "twice"
    """It is done twice, as by a proxy that tries again; one of the answers comes."""
    TORN = "torn"
    """It is done, and the answer is cut off."""
    FOREIGN = "foreign"
    """The answer is not from an API server."""


_WEIGHTS = (160, 6, 6, 8, 5, 2, 2, 4, 2, 1)
_DELAYS = (0.01, 0.3, 2.0, 9.0, 45.0, 100.0)
_READ_SECONDS = 30
"""As long a client waits for the next byte."""

_REFUSALS = (
    ApiFailure(401, "Unauthorized", "Unauthorized"),
    ApiFailure(403, "Forbidden", "pods is forbidden: RBAC: no such role"),
    ApiFailure(409, "Conflict", "the object has been modified"),
    ApiFailure(429, "TooManyRequests", "too many requests", retry_after=1),
    ApiFailure(429, "TooManyRequests", "too many requests", retry_after=20),
    ApiFailure(500, "InternalError", "etcdserver: leader changed"),
    ApiFailure(500, "InternalError", "etcdserver: request timed out"),
    ApiFailure(503, "ServiceUnavailable", "apiserver not ready"),
    ApiFailure(504, "Timeout", "request did not complete within requested timeout"),
)
SPELLS = tuple(failure for failure in _REFUSALS if failure.code not in {403, 409})
"""What a server may say to everything for a while."""


class FaultyServerTransport(httpx2.AsyncBaseTransport):
    """The way to an API server.

    Args:
        api: the server.
        random: what the fates are drawn from.
        clock: the time.
        schedule: the faults that happen.
        counts: how many requests had which fate.

    Attributes:
        api: the server.
        are_kind: every request is prompt.
        is_away: nothing listens at the server's address.
        refusal: what every request is answered.
        on_done: called after each request that was done, with its answer.
        on_coming: called before each request is done.
    """

    def __init__(
        self,
        api: ApiServer,
        random: Random,
        clock: LoopClock,
        schedule: Schedule,
        counts: Counter[str],
    ) -> None:
        self.api = api
        self._random = random
        self._clock = clock
        self._schedule = schedule
        self._counts = counts
        self._broken_off = asyncio.Event()
        self.are_kind = self.is_away = False
        self.refusal: ApiFailure | None = None
        self.on_coming: Callable[[HttpRequest], None] = _do_nothing
        self.on_done: Callable[[HttpRequest, HttpResponse], None] = _do_nothing

    def break_off(self) -> None:
        """Break off every connection."""
        self._broken_off.set()
        self._broken_off = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request, or not."""
        if self.is_away:
            raise httpx2.ConnectError("connection refused")
        wanted = await read_request(request)
        name, is_watch = name_of_request(wanted)
        fate = self._draw(name)
        answer = await self._or_broken_off(self._decide(fate, wanted))
        if isinstance(answer, HttpResponse):
            stream: httpx2.AsyncByteStream = Pieces(answer.body)
            if fate is RequestFate.TORN:
                stream = _Torn(answer.body[: len(answer.body) // 2])
            return httpx2.Response(
                answer.status, stream=stream, headers=dict(answer.headers)
            )
        assert isinstance(answer, HttpStream)
        assert is_watch
        return httpx2.Response(answer.status, stream=_Watch(self, answer.chunks, name))

    async def _decide(
        self, fate: RequestFate, wanted: HttpRequest
    ) -> HttpResponse | HttpStream:
        match fate:
            case RequestFate.PROMPT | RequestFate.TORN:
                return await self._do(wanted)
            case RequestFate.LATE:
                await self._wait()
                return await self._do(wanted)
            case RequestFate.ANSWERED_LATE:
                answer = await self._do(wanted)
                await self._wait()
                return answer
            case RequestFate.REFUSED:
                return self._random.choice(_REFUSALS).response()
            case RequestFate.UNHEARD:
                await self._do(wanted)
                raise httpx2.ReadError("connection reset by peer")
            case RequestFate.TWICE:
                answers = [await self._do(wanted), await self._do(wanted)]
                return self._random.choice(answers)
            case RequestFate.FOREIGN:
                return HttpResponse(200, b"<html>log in</html>", "text/html")
            case RequestFate.LOST | RequestFate.SWALLOWED:
                pass
        if fate is RequestFate.SWALLOWED:
            await self._do(wanted)
        await asyncio.sleep(_READ_SECONDS)
        raise httpx2.ReadTimeout("")

    async def _do(self, wanted: HttpRequest) -> HttpResponse | HttpStream:
        if self.refusal is not None:
            return self.refusal.response()
        self.on_coming(wanted)
        answer = await self.api.handle(wanted)
        assert isinstance(answer, HttpResponse | HttpStream)
        if isinstance(answer, HttpResponse):
            self.on_done(wanted, answer)
        return answer

    async def _or_broken_off(self, answer: Awaitable[Any]) -> Any:
        answering = asyncio.ensure_future(answer)
        broken_off = asyncio.ensure_future(self._broken_off.wait())
        try:
            await asyncio.wait(
                {answering, broken_off}, return_when=asyncio.FIRST_COMPLETED
            )
            if not answering.done():
                raise httpx2.ReadError("connection reset by peer")
            return answering.result()
        finally:
            answering.cancel()
            broken_off.cancel()
            await asyncio.wait({answering})  # a generator cannot be closed before

    async def next_of_watch(
        self, chunks: AsyncIterator[bytes], name: str
    ) -> bytes | None:
        """Return what comes next in a watch, None at its end.

        Raises:
            httpx2.HTTPError: the connection is lost.
        """
        chunk: bytes | None = await self._or_broken_off(_next(chunks))
        if chunk is None:
            return None
        match self._draw(name):
            case RequestFate.PROMPT | RequestFate.TWICE | RequestFate.ANSWERED_LATE:
                return chunk
            case RequestFate.LATE:
                await self._or_broken_off(self._wait())
                return chunk
            case RequestFate.LOST | RequestFate.SWALLOWED:
                # As over a connection of which a router has forgotten.
                await self._or_broken_off(asyncio.sleep(10_000))
            case RequestFate.REFUSED:
                status = ApiFailure(410, "Expired", "too old resource version").status()
                return msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n"
            case RequestFate.FOREIGN:
                return b"<html>\n"
            case RequestFate.UNHEARD:
                return None
            case RequestFate.TORN:
                pass
        raise httpx2.ReadError("connection reset by peer")

    def _draw(self, name: str) -> RequestFate:
        fates = tuple(RequestFate)
        fate = RequestFate.PROMPT
        if not self.are_kind:
            fate = self._random.choices(fates, _WEIGHTS)[0]
        is_fault = fate is not RequestFate.PROMPT
        if is_fault and not self._schedule.allows(f"{name}: {fate}", self._clock.now()):
            fate = RequestFate.PROMPT
        self._counts[f"{name}: {fate}"] += 1
        return fate

    async def _wait(self) -> None:
        await asyncio.sleep(self._random.choice(_DELAYS))


class _Torn(httpx2.AsyncByteStream):
    def __init__(self, piece: bytes) -> None:
        self._piece = piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._piece
        raise httpx2.RemoteProtocolError("peer closed connection without all of it")


class _Watch(httpx2.AsyncByteStream):
    def __init__(
        self, server: FaultyServerTransport, chunks: AsyncIterator[bytes], name: str
    ) -> None:
        self._server = server
        self._chunks = chunks
        self._name = name

    async def __aiter__(self) -> AsyncIterator[bytes]:
        next_of_watch = self._server.next_of_watch
        while (chunk := await next_of_watch(self._chunks, self._name)) is not None:
            yield chunk

    async def aclose(self) -> None:
        await self._chunks.aclose()  # type: ignore[attr-defined]  # a generator


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


async def read_request(request: httpx2.Request) -> HttpRequest:
    """Return a request as a server reads it."""
    return HttpRequest(
        request.method,
        request.url.path,
        tuple(parse_qsl(request.url.query.decode())),
        {key.lower(): value for key, value in request.headers.items()},
        await request.aread(),
    )


def name_of_request(wanted: HttpRequest) -> tuple[str, bool]:
    """Return how a request is counted, and whether it is a watch."""
    is_watch = ("watch", "1") in wanted.query
    parts = wanted.path.split("/")[3 if wanted.path.startswith("/api/") else 4 :]
    if parts[0] == "namespaces":
        parts = parts[2:]
    what = parts[0] + "".join(f"/{part}" for part in parts[2:])
    verb = "WATCH" if is_watch else wanted.method
    is_list = verb == "GET" and len(parts) == 1
    return f"{'LIST' if is_list else verb} {what}", is_watch


def _do_nothing(*_: object) -> None:
    """Do nothing."""
