"""The Service of a cluster's Prometheus, asked through the API server's proxy.

The proxy needs the right to get `services/proxy`. It takes the Authorization header of
a request for itself, so that a store with a log-in of its own cannot be asked this way.

Source: kube-prometheus-stack templates/prometheus/service.yaml; prometheus-operator
pkg/prometheus/server/statefulset.go (`prometheus-operated`); kube-prometheus
manifests/prometheus-service.yaml; prometheus templates/service.yaml and _helpers.tpl;
kube-thanos examples/all/manifests/thanos-query-service.yaml; bitnami/thanos
templates/query/service.yaml; mimir-distributed templates/gateway/gateway-svc.yaml;
victoria-metrics-operator VMSingle.SelectorLabels, VMCluster.VMSelectSelectorLabels;
victoria-metrics-single and -cluster templates/service.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from probetui.cluster.client import ApiClient, Object, Resource
from probetui.cluster.errors import Access, ApiError, ForbiddenError, missing_right
from probetui.cluster.prometheus.client import StoreAccess, StoreError
from probetui.errors import UsageError
from probetui.safe_text import safe_line

AUTO = "auto"
_SERVICES = Resource("services")
_NAMED = re.compile(
    r"auto:(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9-]+)"
    r"(?::(?P<port>[a-z0-9-]+))?(?P<prefix>/[^?#]*)?"
)
_NAME = "app.kubernetes.io/name"
_COMPONENT = "app.kubernetes.io/component"
_NOT_FOUND = 404
_MOST_NAMED = 5

_PORTS = (
    *("http-web", "web", "http", "http-metrics", "http-query", "https-web", "https"),
    "",
)
"""Names of the port of the API, the likeliest first; the operator's has any name."""


class _Kind(NamedTuple):
    """A kind of store: the labels of its Service, and the prefix of its API."""

    title: str
    prefix: str
    labels: tuple[Mapping[str, str], ...]


_OPERATED = {"operated-prometheus": "true"}
"""Of the operator's own Service, beside which a chart has mostly another."""

_KINDS = (
    _Kind(
        "Thanos",
        "",
        (
            {_NAME: "thanos-query"},
            {_NAME: "thanos", _COMPONENT: "query"},
            {"app": "thanos-query"},
        ),
    ),
    _Kind(
        "Mimir",
        "prometheus",
        (
            {_NAME: "mimir", _COMPONENT: "gateway"},
            {_NAME: "mimir", _COMPONENT: "nginx"},
        ),
    ),
    _Kind(
        "VictoriaMetrics",
        "select/0/prometheus",
        ({_NAME: "vmselect"}, {"app": "vmselect"}),
    ),
    _Kind(
        "VictoriaMetrics",
        "",
        ({_NAME: "vmsingle"}, {_NAME: "victoria-metrics-single"}),
    ),
    _Kind(
        "Prometheus",
        "",
        (
            {"app": "kube-prometheus-stack-prometheus"},
            {"app": "rancher-monitoring-prometheus"},
            {"app": "prometheus-operator-prometheus"},
            {_NAME: "prometheus", _COMPONENT: "prometheus"},
            {_NAME: "prometheus", _COMPONENT: "server"},
            {"app": "prometheus", "component": "server"},
            _OPERATED,
        ),
    ),
)
"""What keeps more and longer comes first."""


class StoreService(Struct, frozen=True):
    """A Service of a store, and how its API is reached.

    Attributes:
        rank: the place of its kind; the least is taken.
        title: of its kind.
        scheme: `https:` or empty, as paths of the proxy have it.
        port: name or number.
        prefix: of the API, without slashes around it.
        is_operated: whether it is the operator's own.
    """

    rank: int
    title: str
    namespace: str
    name: str
    scheme: str
    port: str
    prefix: str
    is_operated: bool = False

    @property
    def path(self) -> str:
        """The path of the API at the API server."""
        name = f"{self.scheme}{self.name}:{self.port}"
        path = _SERVICES.path(self.namespace, name, "proxy")
        return f"{path}/{self.prefix}".rstrip("/")

    @property
    def option(self) -> str:
        """The option that names it."""
        return f"--prometheus {AUTO}:{self.namespace}/{self.name}"

    @property
    def description(self) -> str:
        """As in `Prometheus monitoring/prometheus-k8s`."""
        return f"{self.title} {self.namespace}/{self.name}"

    @property
    def refusal(self) -> str:
        """What to do about a missing right."""
        access = Access(
            "get", "services/proxy", self.namespace, f"{self.name}:{self.port}"
        )
        return f"{missing_right(access)}; {self.other_way}"

    @property
    def other_way(self) -> str:
        """How else it is reached."""
        return (
            f"`kubectl port-forward -n {self.namespace} service/{self.name} "
            f"9090:{self.port}` and --prometheus http://127.0.0.1:9090"
            f"{f'/{self.prefix}' if self.prefix else ''} are another way"
        )


class ServiceNotFoundError(StoreError):
    """A cluster has no Service of a store, or none may be listed."""


async def choose_store(client: ApiClient, asked: str) -> tuple[StoreService, str]:
    """Return the Service that is meant, and what to say of the choice.

    Args:
        client: of the cluster.
        asked: `auto`, or `auto:NAMESPACE/NAME[:PORT][/PREFIX]`.

    Raises:
        UsageError: it is neither, or several are as good.
        StoreError: there is none, or no right to look for one.
        ClusterError: the cluster cannot be asked.
    """
    if asked != AUTO:
        service = await _named(client, asked)
        return service, f"{service.description} is asked by the API server's proxy"
    services = await _find(client)
    best = [one for one in services if one.rank == services[0].rank]
    if len(best) > 1:
        named = " or ".join(one.option for one in best[:_MOST_NAMED])
        more = len(best) - _MOST_NAMED
        raise UsageError(
            f"--prometheus auto: {len(best)} Services are of a {best[0].title}: "
            f"name one with {named}{f' or {more} more' if more > 0 else ''}"
        )
    others = services[1:]
    also = ""
    if others:
        listed = ", ".join(one.description for one in others[:_MOST_NAMED])
        also = f"; there is {listed}, too, for which {others[0].option} would do"
    text = f"{best[0].description} is asked by the API server's proxy{also}"
    return best[0], text


async def _named(client: ApiClient, asked: str) -> StoreService:
    match = _NAMED.fullmatch(asked)
    if match is None:
        raise UsageError(
            f'--prometheus "{safe_line(asked)}": a Service is named '
            "auto:NAMESPACE/NAME, auto:NAMESPACE/NAME:PORT or "
            "auto:NAMESPACE/NAME:PORT/PREFIX"
        )
    namespace, name, port = match["namespace"], match["name"], match["port"] or ""
    prefix = None if match["prefix"] is None else match["prefix"].strip("/")
    try:
        json = await client.get(_SERVICES, namespace, name)
    except ForbiddenError as error:
        if port:
            return StoreService(0, "Service", namespace, name, "", port, prefix or "")
        raise ServiceNotFoundError(
            f"--prometheus {asked}: {error}; with its port, as in "
            f"auto:{namespace}/{name}:9090, it need not be looked up"
        ) from error
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        raise ServiceNotFoundError(
            f"--prometheus {asked}: namespace {namespace} has no such Service; "
            f"`kubectl get services -n {namespace}` lists them"
        ) from error
    found = _store_service(json, port)
    if found is None:
        raise UsageError(
            f"--prometheus {asked}: the Service has no port for HTTP: name one, as in "
            f"auto:{namespace}/{name}:9090"
        )
    return found if prefix is None else replace(found, prefix=prefix)


async def _find(client: ApiClient) -> list[StoreService]:
    """Return the Services of stores, the best first."""
    where, refused = "", ""
    try:
        listed = await client.list(_SERVICES)
    except ForbiddenError as error:
        where = client.access.namespace
        refused = str(error)
        try:
            listed = await client.list(_SERVICES, where)
        except ForbiddenError:
            raise ServiceNotFoundError(
                f"--prometheus auto: {refused}; neither in namespace {where}. "
                f"{_NEXT_STEP}"
            ) from error
    found = [
        service
        async for json in listed.objects()
        if (service := _store_service(json)) is not None and service.title != _OTHER
    ]
    own = {one.namespace for one in found if one.rank == _LAST and not one.is_operated}
    services = [one for one in found if not (one.is_operated and one.namespace in own)]
    if not services:
        titles = ", ".join(dict.fromkeys(kind.title for kind in _KINDS))
        place = f"in namespace {where} ({refused})" if where else "in any namespace"
        raise ServiceNotFoundError(
            f"--prometheus auto: no Service {place} has the labels of {titles}. "
            f"{_NEXT_STEP}"
        )
    return sorted(services, key=lambda one: (one.rank, one.namespace, one.name))


_LAST = len(_KINDS) - 1
_OTHER = "Service"
_NEXT_STEP = (
    "--prometheus auto:NAMESPACE/NAME names its Service; `kubectl port-forward` and "
    "--prometheus http://127.0.0.1:9090 are another way"
)


def _store_service(json: Object, port: str = "") -> StoreService | None:
    """Return how a Service is asked; None if it has no port for that."""
    metadata, spec = _mapping(json, "metadata"), _mapping(json, "spec")
    labels = _mapping(metadata, "labels")
    namespace, name = str(metadata.get("namespace")), str(metadata.get("name"))
    rank = next(
        (place for place, kind in enumerate(_KINDS) if _is_of(kind, labels)), None
    )
    ports = [entry for entry in spec.get("ports") or () if isinstance(entry, dict)]
    found = _choose_port(ports, port)
    if found is None:
        return None
    annotations = _mapping(metadata, "annotations")
    is_secure = (
        str(found.get("name", "")).startswith("https")
        or found.get("appProtocol") == "https"
        or "service.beta.openshift.io/serving-cert-secret-name" in annotations
    )
    kind = _Kind(_OTHER, "", ()) if rank is None else _KINDS[rank]
    return StoreService(
        len(_KINDS) if rank is None else rank,
        kind.title,
        namespace,
        name,
        "https:" if is_secure else "",
        str(found.get("port")),
        kind.prefix,
        is_operated=_has(labels, _OPERATED),
    )


def _choose_port(
    ports: Sequence[Mapping[str, Any]], asked: str
) -> Mapping[str, Any] | None:
    if asked:
        named = (
            port for port in ports if asked in {port.get("name"), str(port.get("port"))}
        )
        return next(named, {"port": asked})
    by_name = {str(port.get("name") or ""): port for port in ports}
    for name in _PORTS:
        if name in by_name:
            return by_name[name]
    # The name of the operator's port is a setting.
    return ports[0] if len(ports) == 1 and "grpc" not in next(iter(by_name)) else None


def _is_of(kind: _Kind, labels: Mapping[str, Any]) -> bool:
    return any(_has(labels, wanted) for wanted in kind.labels)


def _has(labels: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in wanted.items())


def _mapping(json: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = json.get(key)
    return value if isinstance(value, dict) else {}


class ServiceTransport(httpx2.AsyncBaseTransport):
    """Sends the requests to a store with the credentials of a cluster.

    Args:
        client: of the cluster; opened by the first request.
    """

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._is_open = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; its response is not read yet."""
        if not self._is_open:
            self._is_open = True
            await self._client.__aenter__()
        return await self._client.forward(request)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.__aexit__()


def service_access(
    client: ApiClient, service: StoreService, headers: Sequence[tuple[str, str]]
) -> StoreAccess:
    """Return how a store is asked through the API server's proxy.

    Args:
        client: makes the requests; it is not to be open yet.
        service: of the store.
        headers: sent with each request, besides the credentials.
    """
    user, server = client.access.user, client.access.cluster.server
    return StoreAccess(
        f"{server.rstrip('/')}{service.path}",
        tuple(headers),
        transport=lambda: ServiceTransport(client),
        refusal=service.refusal,
        other_way=service.other_way,
        hidden=tuple(filter(None, (user.token, user.password))),
    )
