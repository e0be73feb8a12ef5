"""The client of a store: raw samples, refusals in a sentence, no credentials told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qsl

import httpx2
import pytest

from probetui.cluster.prometheus.client import (
    Series,
    StoreAccess,
    StoreClient,
    StoreError,
    TooMuchError,
)
from probetui.cluster.prometheus.selectors import is_one_of, quoted, selector
from tests.cluster.prometheus.server import matrix, refusal, vector
from tests.cluster.transports import AnsweringTransport

_URL = "http://store.test/prometheus"
Handler = Callable[[httpx2.Request], httpx2.Response]


def _ask(handler: Handler, access: StoreAccess | None = None) -> list[Series]:
    async def ask() -> list[Series]:
        transport = AnsweringTransport(handler)
        async with StoreClient(
            access or StoreAccess(_URL), transport=transport
        ) as client:
            return await client.query("up[1m]", 60.0)

    return asyncio.run(ask())


def _told(status: int, body: bytes) -> Handler:
    return lambda _request: httpx2.Response(status, content=body)


def test_samples_come_with_their_own_times() -> None:
    body = matrix(({"__name__": "up", "job": "kubelet"}, [(1.5, "1"), (31.25, "0")]))

    (series,) = _ask(_told(200, body))

    assert series.name == "up"
    assert series.labels == {"job": "kubelet"}
    assert series.values == [(1.5, 1.0), (31.25, 0.0)]


def test_what_is_no_number_is_left_out_and_counted() -> None:
    body = matrix(({}, [(1.0, "NaN"), (2.0, "+Inf"), (3.0, "x"), (4.0, "2")]))

    (series,) = _ask(_told(200, body))

    assert series.values == [(4.0, 2.0)]
    assert series.dropped == 3


def test_the_query_goes_below_the_prefix() -> None:
    asked: list[tuple[str, str, dict[str, str]]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        fields = dict(parse_qsl(request.content.decode()))
        asked.append((request.method, request.url.path, fields))
        return httpx2.Response(200, content=vector())

    _ask(answer)
    _ask(answer, StoreAccess(f"{_URL}/"))

    assert asked == 2 * [
        ("POST", "/prometheus/api/v1/query", {"query": "up[1m]", "time": "60.000"})
    ]


def test_a_proxy_without_posts_is_asked_by_get() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            return httpx2.Response(405)
        assert request.url.params["query"] == "up[1m]"
        return httpx2.Response(200, content=vector(({"a": "b"}, "1")))

    assert [series.labels for series in _ask(answer)] == [{"a": "b"}]


def test_what_a_url_asks_for_goes_with_each_query() -> None:
    asked: list[dict[str, str]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(dict(request.url.params))
        status = 405 if request.method == "POST" else 200
        return httpx2.Response(status, content=vector())

    _ask(answer, StoreAccess(f"{_URL}?tenant=a"))

    assert asked[0] == {"tenant": "a"}
    assert asked[1] == {"tenant": "a", "query": "up[1m]", "time": "60.000"}


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        pytest.param(401, b"", "does not take the credentials", id="401"),
        pytest.param(403, b"<html>", "does not take the credentials", id="403"),
        pytest.param(404, b"not found", "may need a prefix", id="wrong prefix"),
        pytest.param(200, b"<html>Log in</html>", "may need a prefix", id="page"),
        pytest.param(302, b"", "to a page to log in", id="redirect"),
        pytest.param(400, refusal("bad_data", "parse error"), "parse error", id="400"),
        pytest.param(503, refusal("unavailable", "not ready"), "not ready", id="503"),
        pytest.param(503, b"upstream", "cannot answer", id="503 of a proxy"),
        pytest.param(
            200,
            b'{"status":"success","data":{"resultType":"scalar","result":[]}}',
            "is no vector but scalar",
            id="scalar",
        ),
    ],
)
def test_a_refusal_is_one_sentence(status: int, body: bytes, told: str) -> None:
    with pytest.raises(StoreError, match=told) as refused:
        _ask(_told(status, body))

    assert "\n" not in str(refused.value)
    assert "store.test" in str(refused.value)


@pytest.mark.parametrize("status", [413, 422])
def test_limits_are_told_from_other_refusals(status: int) -> None:
    body = refusal("execution", "query processing would load too many samples")

    with pytest.raises(TooMuchError, match="too many samples"):
        _ask(_told(status, body))


def test_a_store_that_nothing_answers_for_is_named() -> None:
    def refuse(_request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("connection refused")

    with pytest.raises(StoreError, match=r"store\.test/prometheus/ cannot be asked"):
        _ask(refuse)


def test_headers_and_credentials_are_sent() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["Authorization"] == "Bearer s3cret-token"
        assert request.headers["X-Scope-OrgID"] == "team-a"
        assert "user" not in str(request.url)
        return httpx2.Response(200, content=vector())

    headers = (("X-Scope-OrgID", "team-a"),)
    _ask(answer, StoreAccess(_URL, headers, token="s3cret-token"))


@pytest.mark.parametrize(
    ("access", "secret"),
    [
        pytest.param(StoreAccess(_URL, token="s3cret"), "s3cret", id="token"),
        pytest.param(
            StoreAccess(_URL, (("X-Api-Key", "s3cret"),)), "s3cret", id="header"
        ),
        pytest.param(
            StoreAccess("http://me:s3cret@store.test/"), "s3cret", id="URL's user"
        ),
        pytest.param(
            StoreAccess("http://store.test/?token=s3cret"), "s3cret", id="URL's query"
        ),
    ],
)
def test_no_message_has_credentials(access: StoreAccess, secret: str) -> None:
    def echo(request: httpx2.Request) -> httpx2.Response:
        said = f"{request.url} {dict(request.headers)} {secret}"
        return httpx2.Response(500, content=refusal("internal", said))

    with pytest.raises(StoreError) as refused:
        _ask(echo, access)

    assert secret not in str(refused.value)


def test_label_values_are_quoted() -> None:
    hostile = 'a"} or up{b="\\\n\x01'

    text = selector("up", [f"pod={quoted(hostile)}"], 90.0)

    assert text == 'up{pod="a\\"} or up{b=\\"\\\\\\n\\x01"}[90000ms]'


def test_names_are_no_regular_expressions() -> None:
    assert is_one_of(["a.b", "c|d"]) == '"a\\\\.b|c\\\\|d"'
