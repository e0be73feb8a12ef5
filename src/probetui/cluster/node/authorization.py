"""Authentication and authorization of requests to the kubelet API, by the API server.

A client is authenticated by a certificate that the cluster's authority signed, or by a
token (TokenReview). It is authorized by a SubjectAccessReview for subresources of the
node.

Source: pkg/kubelet/server/auth.go, v1.36.2; cmd/kubelet/app/auth.go.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from probetui.cluster.client import ApiClient, Object, Resource
from probetui.cluster.errors import ApiError, ClusterError
from probetui.cluster.serving.http_server import HttpRequest
from probetui.ports import Clock

log = logging.getLogger(__name__)

TOKEN_REVIEWS = Resource("tokenreviews", "authentication.k8s.io", is_namespaced=False)
ACCESS_REVIEWS = Resource(
    "subjectaccessreviews", "authorization.k8s.io", is_namespaced=False
)
TOKEN_SECONDS = 120
ALLOWED_SECONDS, REFUSED_SECONDS = 300, 30
"""How long an answer counts.

Source: apis/config/v1beta1/defaults.go, v1.32.10, SetDefaults_KubeletConfiguration.
"""

_MOST_KEPT = 1000
_VERBS = {
    "GET": "get", "HEAD": "get", "POST": "create", "PUT": "update",
    "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip
_SUBRESOURCES = {"metrics": ("metrics",), "healthz": ("healthz",), "pods": ("pods",)}
_FINE_GRAINED = frozenset({"healthz", "pods"})
"""RequestInfo for first; who may use the whole API may do these, too."""


AUTHENTICATION = ("kube-system", "extension-apiserver-authentication")
"""The ConfigMap in which an API server publishes how it authenticates clients."""


async def client_authority(api: ApiClient, fallback: str | None) -> str | None:
    """Return the PEM text of the authorities that sign the cluster's clients.

    They may differ from those of the API server's own certificate.

    Args:
        api: the API server.
        fallback: the authorities if the API server names none.
    """
    try:
        config_map = await api.get(Resource("configmaps"), *AUTHENTICATION)
    except ApiError as error:
        log.info("the authority of clients: %s", error)
        return fallback
    authority = (config_map.get("data") or {}).get("client-ca-file")
    return f"{fallback or ''}\n{authority}".strip() if authority else fallback


class RefusedError(Exception):
    """A client is not authenticated, or not authorized.

    Args:
        status: 401 or 403.
        text: the message.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Client(Struct, frozen=True):
    """The authenticated user of a request."""

    name: str
    groups: tuple[str, ...] = ()


class KubeletAuthorization:
    """Authorizes requests by the API server's answers, which it caches for a while."""

    def __init__(self, api: ApiClient, node_name: str, clock: Clock) -> None:
        self._api = api
        self._node_name = node_name
        self._clock = clock
        self._clients: dict[str, tuple[datetime, Client | None]] = {}
        self._allowed: dict[tuple[Client, str, str], tuple[datetime, bool]] = {}

    async def check(self, request: HttpRequest) -> None:
        """Check that a request is allowed.

        Raises:
            RefusedError: it is not.
        """
        client = await self._client(request)
        verb = _VERBS.get(request.method, "")
        subresources = list(_rights(request.path))
        for subresource in subresources:
            if await self._is_allowed(client, verb, subresource):
                return
        raise RefusedError(
            403,
            f"Forbidden (user={client.name}, verb={verb}, resource=nodes, "
            f"subresource(s)=[{' '.join(subresources)}])",
        )

    async def _client(self, request: HttpRequest) -> Client:
        if (client := _certified(request.certificate)) is not None:
            return client
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            client = await self._by_token(token)
            if client is not None:
                return client
        raise RefusedError(401, "Unauthorized")

    async def _by_token(self, token: str) -> Client | None:
        now = self._clock.now()
        if (kept := self._clients.get(token)) is not None and kept[0] > now:
            return kept[1]
        review: Object = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        status = await self._submit_review(TOKEN_REVIEWS, review)
        client = None
        if status.get("authenticated") is True:
            user = status.get("user") or {}
            client = Client(user.get("username", ""), tuple(user.get("groups") or ()))
        _keep(self._clients, token, (now + timedelta(seconds=TOKEN_SECONDS), client))
        return client

    async def _is_allowed(self, client: Client, verb: str, subresource: str) -> bool:
        now = self._clock.now()
        key = client, verb, subresource
        if (kept := self._allowed.get(key)) is not None and kept[0] > now:
            return kept[1]
        review: Object = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": client.name,
                "groups": list(client.groups),
                "resourceAttributes": {
                    "verb": verb,
                    "version": "v1",
                    "resource": "nodes",
                    "subresource": subresource,
                    "name": self._node_name,
                },
            },
        }
        status = await self._submit_review(ACCESS_REVIEWS, review)
        is_allowed = status.get("allowed") is True
        seconds = ALLOWED_SECONDS if is_allowed else REFUSED_SECONDS
        _keep(self._allowed, key, (now + timedelta(seconds=seconds), is_allowed))
        return is_allowed

    async def _submit_review(
        self, resource: Resource, review: Object
    ) -> Mapping[str, Any]:
        try:
            answer = await self._api.create(resource, "", review)
        except ClusterError as error:
            raise RefusedError(401, f"the API server was not asked: {error}") from error
        status = answer.get("status")
        return status if isinstance(status, dict) else {}


def _rights(path: str) -> Iterator[str]:
    """Yield the node subresources, any of which allows a path."""
    first = path.strip("/").partition("/")[0]
    yield from _SUBRESOURCES.get(first, ())
    if first in _FINE_GRAINED or first not in _SUBRESOURCES:
        yield "proxy"


def _certified(certificate: Mapping[str, Any] | None) -> Client | None:
    """Return the user of a certificate that TLS has verified; None without one."""
    subject: dict[str, list[str]] = {}
    for part in (certificate or {}).get("subject", ()):
        for name, value in part:
            subject.setdefault(name, []).append(value)
    names = subject.get("commonName")
    if not names:
        return None
    return Client(names[0], tuple(subject.get("organizationName", ())))


def _keep(answers: dict[Any, Any], key: object, answer: object) -> None:
    """Cache an answer, up to a limit."""
    if len(answers) >= _MOST_KEPT:
        answers.clear()
    answers[key] = answer
