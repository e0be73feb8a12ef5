"""Authorization of the kubelet's API: by the API server, with a cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.node.authorization import (
    KubeletAuthorization,
    RefusedError,
    client_authority,
)
from probetui.cluster.serving.http_server import HttpRequest
from tests.cluster.transports import AnsweringTransport
from tests.fakes import FakeClock

Review = dict[str, Any]
CERTIFICATE = {
    "subject": (
        (("organizationName", "system:masters"),),
        (("commonName", "kube-apiserver-kubelet-client"),),
    )
}


class ReviewServer:
    """An API server that answers reviews; `reviews` has the received ones."""

    def __init__(self, is_allowed: Callable[[Review], bool]) -> None:
        self.reviews: list[Review] = []
        self._is_allowed = is_allowed

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        review = json.loads(request.content)
        self.reviews.append(review)
        spec = review["spec"]
        if review["kind"] == "TokenReview":
            is_authenticated = spec["token"] == "good"
            user = {"username": "jane", "groups": ["dev"]}
            status: Review = {"authenticated": is_authenticated, "user": user}
        else:
            status = {"allowed": self._is_allowed(spec)}
        return httpx2.Response(201, json={**review, "status": status})


def _request(path: str = "/pods", **fields: Any) -> HttpRequest:
    token = fields.pop("token", "")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return HttpRequest("GET", path, (), headers, **fields)


async def _check(
    server: ReviewServer, *requests: HttpRequest, clock: FakeClock | None = None
) -> None:
    clock = clock or FakeClock()
    access = ClusterAccess(
        "test", "default", ApiServerInfo("https://api.test"), UserCredentials()
    )
    transport = AnsweringTransport(server.answer)
    async with ApiClient(access, clock, transport=transport) as api:
        authorization = KubeletAuthorization(api, "demo", clock)
        for request in requests:
            await authorization.check(request)
            await clock.advance(timedelta(seconds=1))


async def test_a_certificate_has_the_user_and_the_groups() -> None:
    server = ReviewServer(lambda _spec: True)
    await _check(server, _request(certificate=CERTIFICATE))
    (review,) = server.reviews
    assert review["spec"]["user"] == "kube-apiserver-kubelet-client"
    assert review["spec"]["groups"] == ["system:masters"]


async def test_a_token_is_reviewed_once_for_several_requests() -> None:
    server = ReviewServer(lambda _spec: True)
    await _check(server, _request(token="good"), _request(token="good"))
    assert [review["kind"] for review in server.reviews] == [
        "TokenReview",
        "SubjectAccessReview",
    ]


@pytest.mark.parametrize("fields", [{}, {"token": "bad"}])
async def test_an_unknown_user_is_refused(fields: dict[str, Any]) -> None:
    server = ReviewServer(lambda _spec: True)
    with pytest.raises(RefusedError, match="Unauthorized") as refused:
        await _check(server, _request(**fields))
    assert refused.value.status == 401


@pytest.mark.parametrize(
    ("path", "subresources"),
    [
        ("/metrics/probes", ["metrics"]),
        ("/exec/default/web/app", ["proxy"]),
        ("/containerLogs/default/web/app", ["proxy"]),
        ("/pods", ["pods", "proxy"]),
        ("/healthz", ["healthz", "proxy"]),
    ],
)
async def test_a_path_needs_a_right_to_a_subresource_of_the_node(
    path: str, subresources: list[str]
) -> None:
    server = ReviewServer(lambda _spec: False)
    with pytest.raises(RefusedError, match="Forbidden") as refused:
        await _check(server, _request(path, certificate=CERTIFICATE))
    assert refused.value.status == 403
    rights = [review["spec"]["resourceAttributes"] for review in server.reviews]
    assert [right["subresource"] for right in rights] == subresources
    assert {(right["resource"], right["name"]) for right in rights} == {
        ("nodes", "demo")
    }


@pytest.mark.parametrize(
    ("status", "data", "expected"),
    [
        pytest.param(200, {"client-ca-file": "CLIENTS"}, "SERVERS\nCLIENTS", id="told"),
        pytest.param(200, {}, "SERVERS", id="clients have no certificates"),
        pytest.param(403, {}, "SERVERS", id="may not be asked"),
        pytest.param(404, {}, "SERVERS", id="not told"),
    ],
)
async def test_clients_may_have_certificates_of_an_authority_of_their_own(
    status: int, data: dict[str, str], expected: str
) -> None:
    paths = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(status, json={"data": data})

    access = ClusterAccess(
        "tests", "default", ApiServerInfo("http://api.test"), UserCredentials()
    )
    transport = AnsweringTransport(answer)
    async with ApiClient(access, FakeClock(), transport=transport) as api:
        authority = await client_authority(api, "SERVERS")

    assert authority == expected
    assert paths == [
        "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    ]
