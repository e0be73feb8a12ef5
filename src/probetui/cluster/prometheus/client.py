"""A client of the HTTP API that Prometheus, Thanos, Mimir and VictoriaMetrics have.

Raw samples come from range selectors of instant queries, with the times at which they
were scraped; `query_range` would resample them, `increase()` extrapolate.

Source: prometheus.io/docs/prometheus/2.42/querying/api, "Instant queries".
"""

from __future__ import annotations

import base64
import math
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import httpx2
import msgspec
from msgspec import Struct

from probetui import __version__
from probetui.cluster.bounded_responses import TooLargeError, read_body
from probetui.cluster.client import refuse_cookies
from probetui.cluster.credentials import make_tls_context
from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import ApiServerInfo
from probetui.safe_text import safe_line
from probetui.untrusted_files import read_settings

_QUERY_PATH = "api/v1/query"
_LARGEST_ANSWER = 128 * 2**20
_LARGEST_FILE = 2**20
_LONGEST_TEXT = 300
_TIMEOUT = httpx2.Timeout(150, connect=10)
"""Prometheus itself gives up after two minutes."""

_LARGEST_NUMBER = 2.0**53
"""No count and no instant is larger, and each whole number up to it is exact."""

_LATEST = 253_402_214_400.0
"""The last day of the year 9999, the last that has a date."""

_OK = 200
_METHOD_NOT_ALLOWED = 405
_TOO_MUCH = frozenset({413, 422})
_WHO = (
    "the credentials of the kubeconfig may have expired: `kubectl auth whoami` shows "
    "who you are"
)
_REDIRECTS = range(300, 400)
_HIDDEN = "***"
_SHORTEST_SECRET = 4
_PUBLIC_HEADERS = frozenset({"User-Agent", "Accept-Encoding"})


class StoreError(ClusterError):
    """A store cannot be asked, or refuses; the message says what was tried.

    `reason` is the part of the message that does not tell the query.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


class LostStoreError(StoreError):
    """Nobody answers, so that it is of no use to ask for the rest."""


class TooMuchError(StoreError):
    """A store refuses one query, mostly for its limits: less may be asked for."""


class StoreAccess(Struct, frozen=True):
    """Where a store is, and how it is asked.

    Attributes:
        url: with the prefix of its API, as http://127.0.0.1:9090/prometheus.
        headers: sent with each request, besides `token`.
        token: of the header Authorization, empty for none.
        ca_data: PEM text of the authorities of its certificate, None for the system's.
        certificate: the client's certificate and key as PEM texts.
        insecure: whether its certificate is not verified.
        transport: makes another way to it, as through an API server; such a way is
            asked by GET, for which the least right is needed.
        refusal: what to say where that API server refuses.
        other_way: how it is reached without that API server.
        hidden: credentials of that way, which no message may have.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    token: str = ""
    ca_data: str | None = None
    certificate: tuple[str, str] | None = None
    insecure: bool = False
    transport: Callable[[], httpx2.AsyncBaseTransport] | None = None
    refusal: str = ""
    other_way: str = ""
    hidden: tuple[str, ...] = ()


class Series(Struct, frozen=True):
    """A series of an answer: its labels, and its samples by time.

    Attributes:
        labels: without its name.
        name: of the metric, empty where the query has none.
        values: pairs of Unix seconds and a finite value, by time.
        dropped: how many samples were no number that a count or an instant has.
    """

    name: str
    labels: Mapping[str, str]
    values: Sequence[tuple[float, float]]
    dropped: int = 0


class _Result(Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None
    values: list[tuple[float, str]] = []
    histogram: msgspec.Raw | None = None
    histograms: list[msgspec.Raw] = []


class _Data(Struct, rename="camel"):
    result_type: str
    result: list[_Result]


class _QueryAnswer(Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error: str = ""
    error_type: str = ""
    warnings: list[str] = []
    kind: str = ""
    message: str = ""

    @property
    def is_of_api_server(self) -> bool:
        """Whether it is no answer of a store, but a Status of an API server."""
        return self.kind == "Status"


class StoreClient:
    """Asks one store; an asynchronous context manager.

    Args:
        access: the store and the credentials.
        transport: another way to it, for tests.

    Attributes:
        on_query: called with each query before it is sent.
        warnings: what the store said beside its answers, each once.
        told_at: the instant that its last answer names as its own, None if none does.
    """

    def __init__(
        self,
        access: StoreAccess,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._access = access
        self._http: httpx2.AsyncClient | None = None
        self._method = "POST" if access.transport is None else "GET"
        self.on_query: Callable[[str, float], None] = _do_nothing
        self.warnings: dict[str, None] = {}
        self.told_at: datetime | None = None
        parts = urlsplit(access.url)
        host = parts.netloc.rpartition("@")[2]
        path = parts.path if parts.path.endswith("/") else f"{parts.path}/"
        self.shown_url = safe_line(urlunsplit((parts.scheme, host, path, "", "")))
        """The URL without what may be secret."""
        self._query = parts.query
        self._url = urlunsplit((parts.scheme, host, path + _QUERY_PATH, "", ""))
        self._headers = _headers(access)
        self._secrets = _secrets(access, self._headers)
        self._opens: Callable[[], httpx2.AsyncBaseTransport] = self._direct
        if transport is not None:
            self._opens = lambda: transport
        elif access.transport is not None:
            self._opens = access.transport

    async def __aenter__(self) -> Self:
        """Open the client; nothing is sent yet."""
        self._http = httpx2.AsyncClient(
            headers=self._headers,
            cookies=refuse_cookies(),
            transport=self._opens(),
            timeout=_TIMEOUT,
            follow_redirects=False,  # the credentials are for this server alone
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close all connections."""
        if self._http is not None:
            await self._http.aclose()

    def _direct(self) -> httpx2.AsyncBaseTransport:
        access = self._access
        cluster = ApiServerInfo(access.url, access.ca_data, access.insecure)
        context: ssl.SSLContext | bool = False
        if access.url.startswith("https:"):
            context = make_tls_context(cluster, access.certificate)
        return httpx2.AsyncHTTPTransport(verify=context, trust_env=False)

    async def query(self, promql: str, at: float) -> list[Series]:
        """Evaluate a query at an instant in Unix seconds.

        Raises:
            TooMuchError: it asks for more than the store allows.
            StoreError: there is no answer that can be used.
        """
        self.on_query(promql, at)
        fields = {"query": promql, "time": f"{at:.3f}"}
        status, body = await self._send(fields)
        if status == _METHOD_NOT_ALLOWED and self._method == "POST":
            self._method = "GET"
            status, body = await self._send(fields)
        return self._read(status, body, promql)

    async def _send(self, fields: Mapping[str, str]) -> tuple[int, bytes]:
        if self._http is None:
            raise StoreError(f"{self.shown_url}: the client is closed")
        url = f"{self._url}?{self._query}" if self._query else self._url
        if self._method == "POST":
            request = self._http.build_request("POST", url, data=dict(fields))
        else:
            asked = urlencode([*parse_qsl(self._query), *fields.items()])
            request = self._http.build_request("GET", f"{self._url}?{asked}")
        try:
            response = await self._http.send(request, stream=True)
            try:
                body = bytes(await read_body(response, _LARGEST_ANSWER))
            finally:
                await response.aclose()
        except TooLargeError as error:
            raise TooMuchError(f"{self.shown_url}: {error}") from error
        except ClusterError as error:
            # Of the API server that is asked to pass it on.
            raise LostStoreError(self._hide(str(error))) from error
        except (httpx2.HTTPError, OSError) as error:
            text = self._hide(str(error) or type(error).__name__)
            hint = ""
            if isinstance(error, httpx2.ConnectError) and not self._access.other_way:
                hint = "; `kubectl port-forward` makes one of a cluster reachable"
            if "CERTIFICATE_VERIFY_FAILED" in text and not self._access.other_way:
                hint = "; --prometheus-ca names the authority that signed it"
            raise LostStoreError(
                f"{self.shown_url} cannot be asked: {text}{hint}"
            ) from None
        with suppress(ValueError):
            self.told_at = parsedate_to_datetime(response.headers.get("Date", ""))
        return response.status_code, body

    def _read(self, status: int, body: bytes, promql: str) -> list[Series]:
        try:
            answer = msgspec.json.decode(body, type=_QueryAnswer)
        except (msgspec.DecodeError, ValueError, RecursionError):
            answer = None
        if status != _OK or answer is None or answer.status != "success":
            raise self._refusal(status, answer, promql)
        for warning in answer.warnings:
            self.warnings[self._hide(warning)] = None
        data = answer.data
        if data is None or data.result_type not in {"vector", "matrix"}:
            kind = "nothing" if data is None else data.result_type
            raise StoreError(
                f"{self.shown_url}: the answer to `{safe_line(promql)}` is no vector "
                f"but {safe_line(kind)}"
            )
        return [_series(result) for result in data.result]

    def _refusal(
        self, status: int, answer: _QueryAnswer | None, promql: str
    ) -> StoreError:
        """Return the error for an answer that has no result."""
        is_of_api_server = answer is not None and answer.is_of_api_server
        tried = f"`{safe_line(promql, limit=_LONGEST_TEXT)}`"
        where = self.shown_url
        text = "" if answer is None else answer.error or answer.message
        said = self._hide(text) if text else ""
        reply = f": {said}" if said else ""
        if self._access.other_way and is_of_api_server:
            why = {401: _WHO, 403: self._access.refusal}.get(status)
            return StoreError(
                f"{where} cannot be asked (HTTP {status}){reply}; "
                f"{why or self._access.other_way}"
            )
        if self._access.other_way and status in {401, 403}:
            return StoreError(
                f"{where} has a log-in of its own (HTTP {status}){reply}, and the API "
                f"server passes no credentials on; {self._access.other_way}"
            )
        if status in {401, 403}:
            return StoreError(
                f"{where} does not take the credentials (HTTP {status}){reply}; "
                "--prometheus-token-file, --prometheus-header and --prometheus-cert "
                "give others"
            )
        if status in _TOO_MUCH:
            return TooMuchError(
                f"{where} refuses {tried} (HTTP {status}){reply}; a shorter time or a "
                "namespace asks for less",
                f"(HTTP {status}){reply}",
            )
        if status in _REDIRECTS:
            return StoreError(
                f"{where} sends elsewhere (HTTP {status}), mostly to a page to log in: "
                "the credentials are not sent there"
            )
        if status == 404 or (answer is None and status < 500):  # noqa: PLR2004
            return StoreError(
                f"{where}{_QUERY_PATH} is no API of a Prometheus (HTTP {status})"
                f"{reply}; its URL may need a prefix, as /prometheus or "
                "/select/0/prometheus"
            )
        return StoreError(
            f"{where} cannot answer {tried} (HTTP {status}){reply}",
            f"(HTTP {status}){reply}",
        )

    def _hide(self, text: str) -> str:
        """Return a text of the store that is safe to print, without credentials."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return safe_line(text, limit=_LONGEST_TEXT)


def read_pem(path: Path, what: str) -> str:
    """Return the text of a file with certificates, a key or a token.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        return read_settings(path, _LARGEST_FILE).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{what} {path}: {error}") from error


def _headers(access: StoreAccess) -> list[tuple[str, str]]:
    headers = [
        ("User-Agent", f"probetui/{__version__}"),
        ("Accept-Encoding", "gzip"),
        *access.headers,
    ]
    user = urlsplit(access.url).netloc.rpartition("@")[0]
    if access.token:
        headers.append(("Authorization", f"Bearer {access.token}"))
    elif user:
        pair = base64.b64encode(unquote(user).encode()).decode()
        headers.append(("Authorization", f"Basic {pair}"))
    return headers


def _secrets(access: StoreAccess, headers: Sequence[tuple[str, str]]) -> list[str]:
    """Return what no message may have, the longest first."""
    parts = urlsplit(access.url)
    texts = [value for name, value in headers if name not in _PUBLIC_HEADERS]
    texts += [part for text in texts for part in text.split()]
    texts += [parts.query, *(value for _, value in parse_qsl(parts.query))]
    texts += [parts.password or "", unquote(parts.password or ""), *access.hidden]
    secrets = {text for text in texts if len(text) >= _SHORTEST_SECRET}
    return sorted(secrets, key=len, reverse=True)


def _series(result: _Result) -> Series:
    pairs = result.values if result.value is None else [result.value]
    name = result.metric.get("__name__", "")
    # Of all that is read, exit codes alone may be negative: those of Windows.
    least = -_LARGEST_NUMBER if name.endswith("exitcode") else 0.0
    values = sorted(
        (at, number)
        for at, text in pairs
        if least <= (number := _number(text)) <= _LARGEST_NUMBER and 0 <= at < _LATEST
    )
    labels = {
        name: value for name, value in result.metric.items() if name != "__name__"
    }
    histograms = len(result.histograms) + (result.histogram is not None)
    return Series(name, labels, values, len(pairs) - len(values) + histograms)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _do_nothing(_promql: str, _at: float) -> None:
    """Ignore a query."""
