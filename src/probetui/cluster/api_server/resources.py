"""The resources that are served.

Source: k8s.io/api, v0.36.2, and what a server of 1.36.2 says of them.
"""

from __future__ import annotations

from msgspec import Struct

READING = ("get", "list", "watch")
WRITING = ("create", "delete", "deletecollection", "patch", "update")
ALL_VERBS = tuple(sorted((*READING, *WRITING)))


class Subresource(Struct, frozen=True):
    """What stands below an object: `pods/status`. `kind` as `GROUP/VERSION/KIND`."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class ApiResource(Struct, frozen=True):
    """A kind of object in one version of one group.

    `stored_as` is the plural under which objects are kept: events of both groups are
    the same objects. Without `counts_generation` a change of spec has no number.
    """

    plural: str
    kind: str
    group: str = ""
    version: str = "v1"
    is_namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    counts_generation: bool = False
    is_stored: bool = True

    @property
    def group_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def has(self, subresource: str) -> bool:
        """Return whether objects have a subresource."""
        return any(found.name == subresource for found in self.subresources)


def _status(kind: str) -> Subresource:
    return Subresource("status", kind, ("get", "patch", "update"))


def _streamed(name: str, options: str) -> Subresource:
    return Subresource(name, options, ("create", "get"))


_PROXY_VERBS = ("create", "delete", "get", "patch", "update")
PODS = ApiResource(
    "pods",
    "Pod",
    short_names=("po",),
    categories=("all",),
    subresources=(
        _streamed("attach", "PodAttachOptions"),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        _streamed("exec", "PodExecOptions"),
        Subresource("log", "Pod", ("get",)),
        _streamed("portforward", "PodPortForwardOptions"),
        _status("Pod"),
    ),
    counts_generation=True,
)
NODES = ApiResource(
    "nodes",
    "Node",
    is_namespaced=False,
    short_names=("no",),
    subresources=(
        Subresource("proxy", "NodeProxyOptions", _PROXY_VERBS),
        _status("Node"),
    ),
)
NAMESPACES = ApiResource(
    "namespaces",
    "Namespace",
    is_namespaced=False,
    short_names=("ns",),
    verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
)
EVENTS = ApiResource("events", "Event", short_names=("ev",))
EVENTS_V1 = ApiResource("events", "Event", "events.k8s.io", short_names=("ev",))
LEASES = ApiResource("leases", "Lease", "coordination.k8s.io")
CONFIG_MAPS = ApiResource("configmaps", "ConfigMap", short_names=("cm",))
SECRETS = ApiResource("secrets", "Secret")
SERVICES = ApiResource("services", "Service", short_names=("svc",), categories=("all",))
SERVICE_ACCOUNTS = ApiResource("serviceaccounts", "ServiceAccount", short_names=("sa",))
_AUTHORIZATION = "authorization.k8s.io"
ACCESS_REVIEWS = ApiResource(
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    _AUTHORIZATION,
    is_namespaced=False,
    verbs=("create",),
    is_stored=False,
)
RULES_REVIEWS = ApiResource(
    "selfsubjectrulesreviews",
    "SelfSubjectRulesReview",
    _AUTHORIZATION,
    is_namespaced=False,
    verbs=("create",),
    is_stored=False,
)
SUBJECT_REVIEWS = ApiResource(
    "subjectaccessreviews",
    "SubjectAccessReview",
    _AUTHORIZATION,
    is_namespaced=False,
    verbs=("create",),
    is_stored=False,
)
TOKEN_REVIEWS = ApiResource(
    "tokenreviews",
    "TokenReview",
    "authentication.k8s.io",
    is_namespaced=False,
    verbs=("create",),
    is_stored=False,
)
SERVED: tuple[ApiResource, ...] = (
    CONFIG_MAPS, EVENTS, NAMESPACES, NODES, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES,
    LEASES, EVENTS_V1, TOKEN_REVIEWS, ACCESS_REVIEWS, RULES_REVIEWS, SUBJECT_REVIEWS,
)  # fmt: skip
