"""The resources that the tests' API server has, with what can be written of them.

Source: k8s.io/api, v0.36.2, and what a server of 1.36.2 says of them.
"""

from __future__ import annotations

from msgspec.structs import replace

from probetui.cluster.api_server import resources as readable
from probetui.cluster.api_server.resources import (
    ACCESS_REVIEWS,
    READING,
    RULES_REVIEWS,
    ApiResource,
    Subresource,
)

WRITING = ("create", "delete", "deletecollection", "patch", "update")
ALL_VERBS = tuple(sorted((*READING, *WRITING)))
_PROXY_VERBS = ("create", "delete", "get", "patch", "update")


def _status(kind: str) -> Subresource:
    return Subresource("status", kind, ("get", "patch", "update"))


def _streamed(name: str, options: str) -> Subresource:
    return Subresource(name, options, ("create", "get"))


def _writable(resource: ApiResource, *subresources: Subresource) -> ApiResource:
    return replace(resource, verbs=ALL_VERBS, subresources=subresources)


PODS = _writable(
    readable.PODS,
    _streamed("attach", "PodAttachOptions"),
    Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
    _streamed("exec", "PodExecOptions"),
    Subresource("log", "Pod", ("get",)),
    _streamed("portforward", "PodPortForwardOptions"),
    _status("Pod"),
)
NODES = _writable(
    readable.NODES,
    Subresource("proxy", "NodeProxyOptions", _PROXY_VERBS),
    _status("Node"),
)
NAMESPACES = replace(
    readable.NAMESPACES,
    verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
)
EVENTS = _writable(readable.EVENTS)
EVENTS_V1 = _writable(readable.EVENTS_V1)
LEASES = _writable(readable.LEASES)
CONFIG_MAPS = _writable(ApiResource("configmaps", "ConfigMap", short_names=("cm",)))
SECRETS = _writable(ApiResource("secrets", "Secret"))
SERVICES = _writable(
    ApiResource("services", "Service", short_names=("svc",), categories=("all",)),
    Subresource("proxy", "ServiceProxyOptions", _PROXY_VERBS),
    _status("Service"),
)
SERVICE_ACCOUNTS = _writable(
    ApiResource("serviceaccounts", "ServiceAccount", short_names=("sa",))
)
SUBJECT_REVIEWS = replace(
    ACCESS_REVIEWS, plural="subjectaccessreviews", kind="SubjectAccessReview"
)
TOKEN_REVIEWS = replace(
    ACCESS_REVIEWS,
    plural="tokenreviews",
    kind="TokenReview",
    group="authentication.k8s.io",
)
SERVED = (
    CONFIG_MAPS, EVENTS, NAMESPACES, NODES, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES,
    LEASES, EVENTS_V1, TOKEN_REVIEWS, ACCESS_REVIEWS, RULES_REVIEWS, SUBJECT_REVIEWS,
)  # fmt: skip
