"""HTTP probes: send a GET, follow redirects, map the status to a result.

Difference: a redirect whose Location has more than 16 KiB is a failure; Go follows it,
and sends all of it back.

Source: pkg/probe/http/http.go, v1.32.10, DoHTTPProbe and RedirectChecker;
net/http/client.go, Client.do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx2
from msgspec.structs import replace

from probetui.errors import GoError
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeResult, Redirect
from probetui.kubelet.prober.timeout_text import (
    AWAITING_HEAD,
    READING_BODY,
    http_failure,
)
from probetui.kubelet.runtime.go_format import go_quote, to_text
from probetui.probers.go.errors import DialRefusedError
from probetui.probers.go.http_response import parse_length
from probetui.probers.go.tls import PlainHTTPResponseError
from probetui.probers.go.urls import GoURL
from probetui.probers.http_request import ProbeRequest
from probetui.probers.truncation import (
    quote_received,
    truncate_answer,
    truncate_redirect,
)

MAX_BODY_BYTES = 10 << 10
_MAX_REQUESTS = 10
_MAX_DRAINED_BYTES = 2 << 10
_MAX_LOCATION_BYTES = 16 << 10
_FOLLOWED = frozenset({301, 302, 303, 307, 308})


async def probe_http(
    request: ProbeRequest, time_limit: timedelta, transport: httpx2.AsyncBaseTransport
) -> Attempt:
    """Send a GET request, follow redirects on the same host, map the status.

    A time limit of zero is none. No response is a failure; a response whose body cannot
    be read is an error, whatever its status.
    """
    exchange = _RequestChain(request, transport)
    seconds = time_limit.total_seconds() if time_limit > timedelta() else None
    try:
        async with asyncio.timeout(seconds), exchange.answer() as response:
            body = await _read_at_most(response, MAX_BODY_BYTES)
    except TimeoutError:
        return exchange.timed_out()
    except httpx2.ReadError as error:
        return exchange.body_broke_off(str(error))
    except (GoError, httpx2.TransportError) as error:
        failed = exchange.no_answer(str(error))
        if isinstance(error.__cause__, DialRefusedError):
            return replace(failed, refused_at=error.__cause__.endpoint)
        return failed
    return _judge(exchange.to_answer(response), to_text(body), request.redirect_warning)


async def send_request(
    request: ProbeRequest, transport: httpx2.AsyncBaseTransport
) -> str:
    """Send a GET request, follow redirects and return the answer: `HTTP 500: body`.

    Any answer will do. A short body is read to its end, and none of a longer one.

    Raises:
        GoError: there is no response; `PlainHTTPResponseError` for one without TLS.
    """
    exchange = _RequestChain(request, transport)
    try:
        async with exchange.answer() as response:
            body = to_text(await _drain(response, MAX_BODY_BYTES))
    except (GoError, httpx2.TransportError) as error:
        text = exchange.no_answer(str(error)).output
        if isinstance(error.__cause__, PlainHTTPResponseError):
            raise PlainHTTPResponseError(text) from error
        raise GoError(text) from error
    status = f"HTTP {response.status_code:03}"
    return f"{status}: {body}" if body else status


def _judge(answer: HTTPAnswer, body: str, redirect_warning: str) -> Attempt:
    detail = f"HTTP {answer.status:03}"
    match answer.status // 100:
        case 2:
            return Attempt(ProbeResult.SUCCESS, body, detail=detail, http=answer)
        case 3:
            output = f"{redirect_warning}{body}"
            return Attempt(ProbeResult.WARNING, output, detail=detail, http=answer)
        case _:
            output = f"HTTP probe failed with statuscode: {answer.status}"
            # The kubelet's event hides the body; here it is shown.
            answer = replace(answer, body=body)
            return Attempt(ProbeResult.FAILURE, output, detail=detail, http=answer)


class _RequestChain:
    """One request and its redirects; records its progress, for messages.

    Args:
        request: the first one; redirects are compared with its host.
    """

    def __init__(
        self, request: ProbeRequest, transport: httpx2.AsyncBaseTransport
    ) -> None:
        self._first = request
        self._transport = transport
        self._named = request.named
        self._status: int | None = None
        self._redirects: list[str] = []
        self._followed: list[Redirect] = []

    @asynccontextmanager
    async def answer(self) -> AsyncIterator[httpx2.Response]:
        """Yield the last response of the redirects and close it afterwards.

        Raises `GoError` and httpx2's errors.
        """
        request = self._first
        for count in range(1, _MAX_REQUESTS + 1):
            self._named = request.named
            response = await self._transport.handle_async_request(request.as_sent)
            try:
                location = _location(response)
                target = _target(request.url, location) if location else None
                if target is None or target.hostname != self._first.url.hostname:
                    self._status = response.status_code
                    yield response
                    return
                await _drain(response, _MAX_DRAINED_BYTES)
            finally:
                await response.aclose()
            if count == _MAX_REQUESTS:
                # Quirk, kept: the message has the location as sent.
                self._named = location
                raise GoError(f"stopped after {_MAX_REQUESTS} redirects")
            self._redirects.append(location)
            self._followed.append(
                truncate_redirect(response.status_code, request.named, location)
            )
            request = request.redirected(location, target, self._first)

    def to_answer(self, response: httpx2.Response) -> HTTPAnswer:
        """Return the facts of the response except its body."""
        return truncate_answer(
            response.status_code, tuple(response.headers.raw), tuple(self._redirects)
        )

    def timed_out(self) -> Attempt:
        """Return the result of a time-out: a failure before the head, else an error."""
        if self._status is not None:
            return self.body_broke_off(READING_BODY)
        return self.no_answer(AWAITING_HEAD)

    def no_answer(self, why: str) -> Attempt:
        """Return the result of a request that got no response head."""
        return Attempt(
            ProbeResult.FAILURE,
            http_failure(self._named, why),
            followed=tuple(self._followed),
        )

    def body_broke_off(self, why: str) -> Attempt:
        """Return the result of a response whose body could not be read."""
        detail = f"HTTP {self._status:03}"
        return Attempt(ProbeResult.FAILURE, error=why, detail=detail)


def _location(response: httpx2.Response) -> str:
    """Return the location of a redirect, empty if there is none to follow."""
    if response.status_code not in _FOLLOWED:
        return ""
    location = _header(response, b"location")
    if len(location) > _MAX_LOCATION_BYTES:
        text = f"failed to parse Location header {quote_received(location)}"
        raise GoError(f"{text}: longer than {_MAX_LOCATION_BYTES} bytes")
    return to_text(location)


def _header(response: httpx2.Response, name: bytes) -> bytes:
    """Return the first value of a header, whose name is in lower case."""
    return next(
        (value for key, value in response.headers.raw if key.lower() == name), b""
    )


def _target(url: GoURL, location: str) -> GoURL:
    try:
        return url.join(location)
    except GoError as error:
        text = f"failed to parse Location header {go_quote(location)}: {error}"
        raise GoError(text) from error


async def _drain(response: httpx2.Response, limit: int) -> bytes:
    """Read a short body, as Go does to reuse connections; return what came of it."""
    length = parse_length(_header(response, b"content-length"))
    if length is None or length <= limit:
        try:
            return await _read_at_most(response, limit)
        except httpx2.ReadError:
            return b""
    return b""


async def _read_at_most(response: httpx2.Response, limit: int) -> bytes:
    """Read a body up to a limit; ignore the rest."""
    stream = response.stream
    if not isinstance(stream, httpx2.AsyncByteStream):
        raise TypeError("an asynchronous transport gives asynchronous streams")
    body = b""
    async for piece in stream:
        body += piece
        if len(body) >= limit:
            break
    return body[:limit]
