"""The client: lists in chunks, watches, refusals, credentials that expire."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import stat
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.cluster.bounded_responses import (
    LARGEST_OBJECT,
    MOST_VALUES,
    ObjectList,
)
from probetui.cluster.client import PODS, ApiClient, WatchEventType
from probetui.cluster.errors import (
    ApiError,
    ClusterError,
    ExpiredError,
    ForbiddenError,
    ServerUnreachableError,
    UnauthorizedError,
)
from probetui.cluster.kubeconfig import (
    ApiServerInfo,
    ClusterAccess,
    ExecCredential,
    UserCredentials,
)
from tests.cluster.transports import AnsweringTransport, Pieces
from tests.fakes import FakeClock

Handler = Callable[[httpx2.Request], httpx2.Response]


def _client(
    handler: Handler,
    user: UserCredentials | None = None,
    clock: FakeClock | None = None,
) -> ApiClient:
    access = ClusterAccess(
        "test", "default", ApiServerInfo("https://api.test"), user or UserCredentials()
    )
    return ApiClient(
        access, clock or FakeClock(), transport=AnsweringTransport(handler)
    )


def _status(code: int, reason: str, message: str, **headers: str) -> httpx2.Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return httpx2.Response(code, json=body, headers=headers)


async def test_a_list_is_read_in_chunks() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.url.params["limit"] == "500"
        assert request.url.params["labelSelector"] == "app=web"
        if request.url.params.get("continue") == "next":
            return httpx2.Response(
                200,
                json={"metadata": {"resourceVersion": "7"}, "items": [{"n": 2}]},
            )
        return httpx2.Response(
            200, json={"metadata": {"continue": "next"}, "items": [{"n": 1}, "junk"]}
        )

    async with _client(answer) as client:
        found = await client.list(PODS, "shop", label_selector="app=web")

    assert [item async for item in found.objects()] == [{"n": 1}, {"n": 2}]
    assert found.resource_version == "7"


async def test_a_list_that_expires_between_chunks_is_read_as_a_whole() -> None:
    requests: list[tuple[str | None, str | None]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        params = request.url.params
        requests.append((params.get("limit"), params.get("continue")))
        assert params["labelSelector"] == "app=web"
        if params.get("continue"):
            return _status(410, "Expired", "too old")
        token = {"continue": "old"} if params.get("limit") else {}
        return httpx2.Response(200, json={"metadata": token, "items": [{"n": 1}]})

    async with _client(answer) as client:
        found = await client.list(PODS, label_selector="app=web")

    assert requests == [("500", None), ("500", "old"), (None, None)]
    assert [item async for item in found.objects()] == [{"n": 1}]


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_watch_is_cut_into_lines_wherever_the_bytes_are_cut(size: int) -> None:
    lines = b"".join(
        json.dumps({"type": kind, "object": {"metadata": {"name": kind}}}).encode()
        + b"\n"
        for kind in ("ADDED", "MODIFIED", "BOOKMARK", "DELETED")
    )
    cut = lines + b'{"type":"ADDED","obj'
    pieces = [cut[at : at + size] for at in range(0, len(cut), size)]

    async with _client(
        lambda _: httpx2.Response(200, stream=Pieces(*pieces))
    ) as client:
        found = [event async for event in client.watch(PODS, resource_version="3")]

    assert [event.type for event in found] == [
        WatchEventType.ADDED,
        WatchEventType.MODIFIED,
        WatchEventType.BOOKMARK,
        WatchEventType.DELETED,
    ]


async def test_an_expired_version_in_a_watch_is_raised() -> None:
    line = b'{"type":"ERROR","object":{"code":410,"message":"too old","reason":"Gone"}}'

    async with _client(
        lambda _: httpx2.Response(200, stream=Pieces(line + b"\n"))
    ) as client:
        with pytest.raises(ExpiredError, match="too old"):
            await anext(client.watch(PODS, resource_version="1"))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>", id="no JSON"),
        pytest.param(b"[1]", id="a list"),
        pytest.param(b"[" * 100_000, id="nested"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
    ],
)
async def test_an_answer_that_is_no_object_is_an_error(body: bytes) -> None:
    async with _client(lambda _: httpx2.Response(200, content=body)) as client:
        with pytest.raises(ServerUnreachableError, match="not a JSON object"):
            await client.get(PODS, "shop", "web")


async def test_a_missing_right_is_named_with_the_command_that_shows_it() -> None:
    text = "pods is forbidden\x1b[31m"

    async with _client(lambda _: _status(403, "Forbidden", text)) as client:
        with pytest.raises(ForbiddenError) as caught:
            await anext(client.watch(PODS, "shop", resource_version="1"))
        with pytest.raises(ForbiddenError) as everywhere:
            await client.list(PODS)
        with pytest.raises(ForbiddenError) as of_a_log:
            await anext(client.log_lines("shop", "web", {}))

    assert "not allowed to watch pods in namespace shop" in str(caught.value)
    assert "`kubectl auth can-i watch pods -n shop`" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert "`kubectl auth can-i list pods -A`" in str(everywhere.value)
    command = "`kubectl auth can-i get pods/web --subresource=log -n shop`"
    assert command in str(of_a_log.value)


@pytest.mark.parametrize("code", [429, 500, 503, 504])
async def test_a_request_is_repeated_after_the_delay_of_the_server(
    code: int,
) -> None:
    clock = FakeClock()
    asked_at: list[datetime] = []
    errors: list[ApiError] = []

    def answer(_: httpx2.Request) -> httpx2.Response:
        asked_at.append(clock.now())
        if len(asked_at) < 3:
            return _status(code, "Busy", "slow down", **{"Retry-After": "7"})
        return httpx2.Response(200, json={"metadata": {}, "items": [{"n": 1}]})

    async with _client(answer, clock=clock) as client, clock.jumping():
        client.on_wait = errors.append
        found = await client.list(PODS)

    assert [item async for item in found.objects()] == [{"n": 1}]
    waits = [later - earlier for earlier, later in pairwise(asked_at)]
    assert waits == [timedelta(seconds=7)] * 2
    assert [(error.code, error.retry_after) for error in errors] == [(code, 7.0)] * 2


async def test_a_server_that_stays_busy_is_an_error_after_ten_retries() -> None:
    clock, requests = FakeClock(), []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return _status(429, "TooManyRequests", "slow down", **{"Retry-After": "1"})

    async with _client(answer, clock=clock) as client, clock.jumping():
        with pytest.raises(ApiError, match="slow down") as caught:
            await client.list(PODS)

    assert (caught.value.code, caught.value.retry_after) == (429, 1.0)
    assert len(requests) == 11


@pytest.mark.parametrize(
    ("code", "headers"),
    [
        pytest.param(429, {}, id="a-disruption-budget-says-no-time"),
        pytest.param(503, {}, id="a-server-that-ends-says-no-time"),
        pytest.param(429, {"Retry-After": "Fri, 27 Nov 2026"}, id="a-date"),
        pytest.param(404, {"Retry-After": "1"}, id="not-found"),
    ],
)
async def test_only_a_refusal_with_a_delay_is_repeated(
    code: int, headers: dict[str, str]
) -> None:
    requests = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return _status(code, "Refused", "no", **headers)

    async with _client(answer) as client:
        with pytest.raises(ApiError, match="no"):
            await client.list(PODS)

    assert len(requests) == 1


async def test_a_server_that_is_not_there_is_named() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("connection refused", request=request)

    async with _client(answer) as client:
        with pytest.raises(ServerUnreachableError, match=r"api\.test: connection refu"):
            await client.list(PODS)


async def test_a_redirect_is_not_followed() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.url.host == "api.test"
        return httpx2.Response(307, headers={"Location": "https://evil.test/"})

    async with _client(answer, UserCredentials(token="t")) as client:
        with pytest.raises(ApiError, match="HTTP 307"):
            await client.list(PODS)


async def test_a_token_file_is_read_again_after_a_minute_and_after_a_401(
    tmp_path: Path,
) -> None:
    path, clock, tokens = tmp_path / "token", FakeClock(), []
    path.write_text("one\n")

    def answer(request: httpx2.Request) -> httpx2.Response:
        tokens.append(request.headers["Authorization"])
        if tokens[-1] == "Bearer two":
            return _status(401, "Unauthorized", "Unauthorized")
        return httpx2.Response(200, json={})

    async with _client(answer, UserCredentials(token_file=path), clock) as client:
        await client.list(PODS)
        path.write_text("two\n")
        await client.list(PODS)
        await clock.advance(timedelta(seconds=61))
        with pytest.raises(UnauthorizedError, match="may have expired"):
            await client.list(PODS)
        path.write_text("three\n")
        await client.list(PODS)

    assert tokens == [
        f"Bearer {token}" for token in ("one", "one", "two", "two", "three")
    ]


def _plugin(tmp_path: Path, script: str) -> UserCredentials:
    path = tmp_path / "login"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    api_version = "client.authentication.k8s.io/v1"
    plugin = ExecCredential(
        command=str(path),
        args=("a b",),
        env=(("WHO", "me"),),
        api_version=api_version,
        install_hint="install it",
        provides_cluster_info=True,
        is_interactive=False,
    )
    return UserCredentials(exec_credential=plugin)


def _credential(**status: Any) -> str:
    api_version = "client.authentication.k8s.io/v1"
    return json.dumps(
        {"kind": "ExecCredential", "apiVersion": api_version, "status": status}
    )


async def test_a_program_that_prints_credentials_runs_again_when_they_expire(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    until = (clock.now() + timedelta(minutes=5)).isoformat()
    printed = _credential(token="TOKEN", expirationTimestamp=until)
    user = _plugin(
        tmp_path,
        f'echo x >> {tmp_path}/runs; echo "$1 $WHO $KUBERNETES_EXEC_INFO" '
        f"> {tmp_path}/seen; echo '{printed}'",
    )
    tokens = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        tokens.append(request.headers["Authorization"])
        return httpx2.Response(200, json={})

    async with _client(answer, user, clock) as client:
        await client.list(PODS)
        await client.list(PODS)
        assert (tmp_path / "runs").read_text().count("x") == 1
        await clock.advance(timedelta(minutes=5))
        await client.list(PODS)

    assert tokens == ["Bearer TOKEN"] * 3
    assert (tmp_path / "runs").read_text().count("x") == 2
    words = (tmp_path / "seen").read_text()
    assert words.startswith("a b me ")
    assert '"server": "https://api.test"' in words


@pytest.mark.parametrize(
    ("script", "message"),
    [
        pytest.param("echo no >&2; exit 3", "status 3: no", id="status"),
        pytest.param("echo junk", "did not print an ExecCredential", id="junk"),
        pytest.param(
            "printf '{\"x\":'; yes [ | head -50000",
            "did not print an ExecCredential",
            id="nested too deeply",
        ),
        pytest.param(f"echo '{_credential()}'", "neither token", id="empty"),
    ],
)
async def test_a_program_that_prints_no_credentials_is_named(
    tmp_path: Path, script: str, message: str
) -> None:
    client = _client(lambda _: httpx2.Response(200, json={}), _plugin(tmp_path, script))

    with pytest.raises(ClusterError, match=message):
        await client.__aenter__()


async def test_a_program_that_is_missing_is_named_with_its_hint(tmp_path: Path) -> None:
    user = _plugin(tmp_path, "")
    (tmp_path / "login").rename(tmp_path / "gone")
    client = _client(lambda _: httpx2.Response(200, json={}), user)

    with pytest.raises(ClusterError, match=r"No such file.*install it"):
        await client.__aenter__()


async def test_a_program_that_does_not_end_is_ended_with_the_client(
    tmp_path: Path,
) -> None:
    pid_file = tmp_path / "pid"
    os.mkfifo(pid_file)
    user = _plugin(tmp_path, f"echo $$ > {pid_file}; exec sleep 600")
    client = _client(lambda _: httpx2.Response(200, json={}), user)

    opening = asyncio.create_task(client.__aenter__())
    pid = int(await asyncio.to_thread(pid_file.read_text))
    opening.cancel()
    await asyncio.wait([opening])

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


_TEXTS = st.text(st.sampled_from('"\\[]{},: \nitems\u00e9'), max_size=8)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    items=st.lists(_VALUES, max_size=6),
    before=st.dictionaries(_TEXTS, _VALUES, max_size=2),
    after=st.dictionaries(_TEXTS, _VALUES, max_size=2),
    indent=st.none() | st.integers(0, 2),
)
def test_a_page_is_cut_into_its_objects_whatever_is_in_them(
    items: list[Any], before: dict[str, Any], after: dict[str, Any], indent: int | None
) -> None:
    metadata = {"resourceVersion": "7", "continue": 'next "items":['}
    page = {**before, "items": items, **after, "metadata": metadata}
    page["items"] = items

    async def read() -> tuple[str, str, list[Any]]:
        found = ObjectList(lambda _: None)
        text = json.dumps(page, indent=indent, ensure_ascii=False)
        following = await found.add_page(bytearray(text, "utf-8"))
        return following, found.resource_version, [it async for it in found.objects()]

    objects = [item for item in items if isinstance(item, dict)]
    assert asyncio.run(read()) == ('next "items":[', "7", objects)


@pytest.mark.sweep
async def test_an_object_that_is_too_large_is_left_out_and_the_others_are_not() -> None:
    large = {"n": "x" * LARGEST_OBJECT}
    many: dict[str, Any] = {"n": [{}] * MOST_VALUES}
    left_out: list[str] = []
    body = json.dumps({"items": [{"n": 1}, large, many, {"n": 2}]}).encode()
    lines = b"".join(
        json.dumps({"type": "ADDED", "object": item}).encode() + b"\n"
        for item in ({"n": 1}, large, many, {"n": 2})
    )

    def answer(request: httpx2.Request) -> httpx2.Response:
        is_watch = "watch" in request.url.params
        return httpx2.Response(200, content=lines if is_watch else body)

    async with _client(answer) as client:
        client.on_left_out = lambda error: left_out.append(str(error))
        listed = [item async for item in (await client.list(PODS)).objects()]
        watched = [event async for event in client.watch(PODS, resource_version="1")]

    assert listed == [event.object for event in watched] == [{"n": 1}, {"n": 2}]
    assert left_out == 2 * [
        "pods: an object of more than 8 MiB is not read",
        "pods: an object of more than 500000 values is not read",
    ]


async def test_an_answer_may_be_packed_once_by_gzip_alone() -> None:
    packed = gzip.compress(b'{"n": 1}')
    answers = {
        "gzip": packed,
        "GZIP": packed,
        "identity": b'{"n": 1}',
        "gzip, gzip": gzip.compress(packed),
        "br": packed,
        "deflate": packed,
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["Accept-Encoding"] == "gzip"
        encoding = request.url.path.rpartition("/")[2]
        body = Pieces(answers[encoding])
        return httpx2.Response(200, headers={"Content-Encoding": encoding}, stream=body)

    read: dict[str, object] = {}
    async with _client(answer) as client:
        for encoding in answers:
            try:
                read[encoding] = await client.get(PODS, "shop", encoding)
            except ServerUnreachableError as error:
                read[encoding] = "is not read" in str(error)

    object_ = {"n": 1}
    assert read == {
        **dict.fromkeys(("gzip", "GZIP", "identity"), object_),
        **dict.fromkeys(("gzip, gzip", "br", "deflate"), True),
    }


async def test_a_gzip_that_is_cut_or_none_is_an_error() -> None:
    packed = gzip.compress(b'{"n": 1}')
    bodies = [packed[:-4], b'{"n": 1}', b""]

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200,
            headers={"Content-Encoding": "gzip"},
            stream=Pieces(bodies.pop()),
        )

    async with _client(answer) as client:
        while bodies:
            with pytest.raises(ServerUnreachableError, match="an answer's gzip"):
                await client.get(PODS, "shop", "web")


async def test_a_server_does_not_get_back_what_it_sets() -> None:
    cookies: list[str | None] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        cookies.append(request.headers.get("Cookie"))
        return httpx2.Response(200, json={}, headers={"Set-Cookie": "a=1; Path=/"})

    async with _client(answer) as client:
        await client.get(PODS, "shop", "web")
        await client.get(PODS, "shop", "web")

    assert cookies == [None, None]


async def test_a_version_that_is_no_word_is_an_error_of_the_server() -> None:
    async with _client(lambda _: httpx2.Response(200, json={})) as client:
        with pytest.raises(ServerUnreachableError):
            await anext(client.watch(PODS, resource_version="7" * 100_000))
