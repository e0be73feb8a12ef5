"""RequestInfo: the verb, resource and object of a request, and its representation.

Source: k8s.io/apiserver pkg/endpoints/request/requestinfo.go, v0.36.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from probetui.cluster.api_server.failure import ApiFailure, bad_request
from probetui.cluster.api_server.resources import READING, ApiResource
from probetui.cluster.serving.http_server import (
    LARGEST_NUMBER,
    HttpRequest,
    ParameterError,
)

_VERBS: Mapping[str, str] = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_CONNECTING = frozenset({"exec", "attach", "portforward"})
_META = "meta.k8s.io"


class RequestInfo(Struct, frozen=True):
    """A request as an authorizer sees it; `resource` is None for other paths.

    `rest` is the path after the subresource, for a proxy.
    """

    verb: str
    resource: ApiResource | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""

    @property
    def is_write(self) -> bool:
        """Whether it changes something, or could."""
        return self.verb not in READING


def read_flag(request: HttpRequest, name: str) -> bool:
    """Return whether a query parameter is true."""
    return request.parameter(name) in _TRUE


def read_number(
    request: HttpRequest, name: str, most: int = LARGEST_NUMBER
) -> int | None:
    """Parse an integer parameter; None if it is absent.

    Raises:
        ApiFailure: it is no integer, or too large.
    """
    try:
        return request.number(name, most)
    except ParameterError as error:
        raise bad_request(str(error)) from None


def parse_request_info(
    request: HttpRequest, served: Sequence[ApiResource]
) -> RequestInfo:
    """Parse a request.

    Raises:
        ApiFailure: there is no such resource.
    """
    verb = _VERBS.get(request.method, "")
    parts = [part for part in request.path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > len(("api", "v1")):
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > len(("apis", "group", "v1")):
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return RequestInfo(verb)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > len(("namespaces", "default")):
        is_below = rest[2] in {"status", "finalize"}
        if not is_below:
            namespace, rest = rest[1], rest[2:]
    resource = next(
        (
            candidate
            for candidate in served
            if (candidate.plural, candidate.group, candidate.version)
            == (rest[0], group, version)
        ),
        None,
    )
    if resource is None or (namespace and not resource.is_namespaced):
        raise unknown_path()
    name, subresource, *below = [*rest[1:], "", ""][: max(len(rest) - 1, 2)]
    if subresource and not resource.has(subresource):
        raise unknown_path()
    if subresource in _CONNECTING:
        verb = "create"
    elif not name and verb == "get":
        verb = "watch" if read_flag(request, "watch") else "list"
    elif not name and verb == "delete":
        verb = "deletecollection"
    return RequestInfo(verb, resource, namespace, name, subresource, "/".join(below))


def unknown_path() -> ApiFailure:
    """Return the error for an unknown path."""
    message = "the server could not find the requested resource"
    return ApiFailure(404, "NotFound", message, {})


class Representation(Struct, frozen=True):
    """The representation of a response; `as_kind` is `Table` or the like, or empty."""

    as_kind: str = ""


def negotiate(request: HttpRequest) -> Representation:
    """Return the first supported representation of the Accept header.

    Raises:
        ApiFailure: none is supported.
    """
    accepted = request.headers.get("accept", "") or "*/*"
    for offer in accepted.split(","):
        kind, *parameters = (part.strip() for part in offer.split(";"))
        options = dict(part.split("=", 1) for part in parameters if "=" in part)
        if kind not in {"application/json", "*/*", "application/*"}:
            continue
        as_kind = options.get("as", "")
        if not as_kind:
            return Representation()
        is_known = as_kind in {
            "Table", "PartialObjectMetadata", "PartialObjectMetadataList",
        }  # fmt: skip
        if is_known and (options.get("g"), options.get("v")) == (_META, "v1"):
            return Representation(as_kind)
    message = (
        "only the following media types are accepted: application/json, "
        "application/json;stream=watch"
    )
    raise ApiFailure(406, "NotAcceptable", message, {})
