"""Discovery: what the server is, and which resources it has.

Source: k8s.io/api apidiscovery/v2/types.go, v0.36.2; k8s.io/apiserver
pkg/endpoints/discovery.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import msgspec

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.request_info import unknown_path
from probetui.cluster.api_server.resources import ApiResource
from probetui.cluster.serving.http_server import HttpRequest, HttpResponse
from probetui.k8s.api.codec import Json

PUBLIC_PATHS = frozenset({"/livez", "/readyz", "/version"})
"""For anybody."""

_HEALTH = frozenset({"healthz", "livez", "readyz"})
_AGGREGATED = frozenset({"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"})
_AGGREGATED_TYPE = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)


def answer_path(
    request: HttpRequest, served: Sequence[ApiResource], version: str
) -> HttpResponse:
    """Answer a non-resource request.

    Raises:
        ApiFailure: there is no such path.
    """
    if request.method not in {"GET", "HEAD"}:
        raise not_allowed()
    first, *rest = [part for part in request.path.split("/") if part] or [""]
    if first in _HEALTH:
        return _health(
            first, is_verbose=any(key == "verbose" for key, _ in request.query)
        )
    if first == "version":
        return json_answer(_version_object(version))
    if first == "openapi" and rest[:1] == ["v3"]:
        if len(rest) == 1:
            return json_answer(_openapi_index(served))
        return json_answer(_openapi(served, "/".join(rest[2:])))
    if first in {"api", "apis"}:
        return _answer_discovery(request, served, rest, is_core=first == "api")
    raise unknown_path()


def _answer_discovery(
    request: HttpRequest,
    served: Sequence[ApiResource],
    rest: Sequence[str],
    *,
    is_core: bool,
) -> HttpResponse:
    """Answer below `/api` and `/apis`."""
    if rest:
        listed = _resource_list(served, "/".join(rest))
        groups = {resource.group: resource.version for resource in served}
        if listed is None and len(rest) == 1 and rest[0] in groups and not is_core:
            group = _group(rest[0], groups[rest[0]])
            return json_answer({"kind": "APIGroup", "apiVersion": "v1", **group})
        if listed is None or is_core is ("/" in listed["groupVersion"]):
            raise unknown_path()
        return json_answer(listed)
    for offer in request.headers.get("accept", "").replace(" ", "").split(","):
        if set(offer.split(";")) >= _AGGREGATED:
            return _answer_aggregated(request, _aggregated(served, is_core=is_core))
    if not is_core:
        return json_answer(_group_list(served))
    address = request.headers.get("host", "")
    return json_answer(
        {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
            ],
        }
    )


def _answer_aggregated(request: HttpRequest, discovery: Json) -> HttpResponse:
    """Answer aggregated discovery, which clients cache by its ETag.

    Source: k8s.io/apiserver pkg/endpoints/discovery/aggregated/etag.go, v0.36.2.
    """
    body = msgspec.json.encode(discovery) + b"\n"
    tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
    headers = {"Cache-Control": "public", "Etag": tag, "Vary": "Accept"}
    if request.headers.get("if-none-match") == tag:
        return HttpResponse(304, b"", _AGGREGATED_TYPE, headers)
    return HttpResponse(200, body, _AGGREGATED_TYPE, headers)


def _health(check: str, *, is_verbose: bool) -> HttpResponse:
    """Answer a health check, as for `kubectl get --raw '/readyz?verbose'`."""
    text = f"[+]ping ok\n{check} check passed\n" if is_verbose else "ok"
    headers = {"X-Content-Type-Options": "nosniff"}
    return HttpResponse(200, text.encode(), "text/plain; charset=utf-8", headers)


def json_answer(value: Json, code: int = 200) -> HttpResponse:
    """Return a JSON response."""
    return HttpResponse(code, msgspec.json.encode(value) + b"\n")


def not_allowed() -> ApiFailure:
    """Return the error for a method that a path does not allow."""
    message = "the server does not allow this method on the requested resource"
    return ApiFailure(405, "MethodNotAllowed", message, {})


def _version_object(version: str) -> Json:
    major, minor, *_ = version.split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{version}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def _by_group_version(
    resources: Iterable[ApiResource],
) -> list[tuple[str, str, list[ApiResource]]]:
    ordered = sorted(resources, key=lambda resource: (resource.group, resource.version))
    return [
        (group, version, list(members))
        for (group, version), members in groupby(
            ordered, lambda resource: (resource.group, resource.version)
        )
    ]


def _resource_list(resources: Iterable[ApiResource], group_version: str) -> Json | None:
    """Return the `APIResourceList` of a group and version, None if it has none."""
    rows: list[Json] = []
    for resource in resources:
        if resource.group_version != group_version:
            continue
        rows.append(
            {
                "name": resource.plural,
                "singularName": resource.singular or resource.kind.lower(),
                "namespaced": resource.is_namespaced,
                "kind": resource.kind,
                "verbs": list(resource.verbs),
                **_names(resource),
            }
        )
        rows += (
            {
                "name": f"{resource.plural}/{below.name}",
                "singularName": "",
                "namespaced": resource.is_namespaced,
                **({"group": below.group} if below.group else {}),
                **({"version": below.version} if below.version else {}),
                "kind": below.kind,
                "verbs": list(below.verbs),
            }
            for below in resource.subresources
            if below.verbs
        )
    if not rows:
        return None
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if "/" in group_version else {}),
        "groupVersion": group_version,
        "resources": rows,
    }


def _names(resource: ApiResource) -> Json:
    listed = {
        "shortNames": resource.short_names,
        "categories": resource.categories,
    }
    return {key: list(names) for key, names in listed.items() if names}


def _group_list(resources: Iterable[ApiResource]) -> Json:
    """Return the `APIGroupList`: the groups that have a name."""
    groups = [
        _group(group, version)
        for group, version, _ in _by_group_version(resources)
        if group
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _group(group: str, version: str) -> Json:
    """Return an `APIGroup` of one version, without its kind."""
    named = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [named], "preferredVersion": named}


def _aggregated(resources: Iterable[ApiResource], *, is_core: bool) -> Json:
    """Return the `APIGroupDiscoveryList` of the core group, or of all others."""
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": [_discovered(resource) for resource in members],
                    "freshness": "Current",
                }
            ],
        }
        for group, version, members in _by_group_version(resources)
        if is_core is (not group)
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _discovered(resource: ApiResource) -> Json:
    below = [
        {
            "subresource": subresource.name,
            "responseKind": {
                "group": subresource.group,
                "version": subresource.version,
                "kind": subresource.kind,
            },
            "verbs": list(subresource.verbs),
        }
        for subresource in resource.subresources
        if subresource.verbs
    ]
    return {
        "resource": resource.plural,
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": "Namespaced" if resource.is_namespaced else "Cluster",
        "singularResource": resource.singular or resource.kind.lower(),
        "verbs": list(resource.verbs),
        **_names(resource),
        **({"subresources": below} if below else {}),
    }


_OPENAPI: Mapping[str, str] = {"openapi": "3.0.0"}


def _openapi_index(resources: Iterable[ApiResource]) -> Json:
    """Return the index of OpenAPI v3 documents, one for a group and version."""
    paths = [
        f"apis/{group}/{version}" if group else f"api/{version}"
        for group, version, _ in _by_group_version(resources)
    ]
    return {
        "paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}
    }


def _openapi(resources: Iterable[ApiResource], group_version: str) -> Json:
    """Return an OpenAPI v3 document that has no types.

    It says that each kind's fields are validated here, which is all that kubectl asks
    before it creates or patches one.
    """
    paths: Json = {}
    for resource in resources:
        if resource.group_version != group_version:
            continue
        root = f"/apis/{group_version}" if resource.group else f"/api/{group_version}"
        scope = "/namespaces/{namespace}" if resource.is_namespaced else ""
        operation = {
            "parameters": [
                {
                    "name": name,
                    "in": "query",
                    "schema": {"type": "string", "uniqueItems": True},
                }
                for name in ("dryRun", "fieldValidation")
            ],
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": {
                "group": resource.group,
                "kind": resource.kind,
                "version": resource.version,
            },
            "responses": {"200": {"description": "OK"}},
        }
        paths[f"{root}{scope}/{resource.plural}/{{name}}"] = {"patch": operation}
    info = {"title": "Kubernetes", "version": "unversioned"}
    return {**_OPENAPI, "info": info, "paths": paths, "components": {}}
