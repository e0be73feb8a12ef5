"""The resources that are served.

Source: k8s.io/api, v0.36.2, and what a server of 1.36.2 says of them.
"""

from __future__ import annotations

from msgspec import Struct

READING = ("get", "list", "watch")


class Subresource(Struct, frozen=True):
    """A subresource of an object, such as `pods/status`.

    One without verbs is known only to be refused with the reason.
    """

    name: str
    kind: str = ""
    verbs: tuple[str, ...] = ()
    group: str = ""
    version: str = ""


class ApiResource(Struct, frozen=True):
    """A kind of object in one version of one group.

    Objects are stored by their plural: events of both groups are the same objects.
    """

    plural: str
    kind: str
    group: str = ""
    version: str = "v1"
    is_namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = READING
    subresources: tuple[Subresource, ...] = ()
    is_stored: bool = True

    @property
    def group_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def has(self, subresource: str) -> bool:
        """Return whether objects have a subresource."""
        return any(known.name == subresource for known in self.subresources)


PODS = ApiResource(
    "pods",
    "Pod",
    short_names=("po",),
    categories=("all",),
    subresources=(
        Subresource("attach"),
        Subresource("binding"),
        Subresource("ephemeralcontainers"),
        Subresource("eviction"),
        Subresource("exec"),
        Subresource("log", "Pod", ("get",)),
        Subresource("portforward"),
        Subresource("resize"),
        Subresource("status", "Pod", ("get",)),
    ),
)
NODES = ApiResource(
    "nodes",
    "Node",
    is_namespaced=False,
    short_names=("no",),
    subresources=(
        Subresource("proxy", "NodeProxyOptions", ("get",)),
        Subresource("status", "Node", ("get",)),
    ),
)
NAMESPACES = ApiResource(
    "namespaces", "Namespace", is_namespaced=False, short_names=("ns",)
)
EVENTS = ApiResource("events", "Event", short_names=("ev",))
EVENTS_V1 = ApiResource("events", "Event", "events.k8s.io", short_names=("ev",))
LEASES = ApiResource("leases", "Lease", "coordination.k8s.io")
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
USER_REVIEWS = ApiResource(
    "selfsubjectreviews",
    "SelfSubjectReview",
    "authentication.k8s.io",
    is_namespaced=False,
    verbs=("create",),
    is_stored=False,
)
SERVED = (
    PODS, EVENTS, EVENTS_V1, NODES, NAMESPACES, LEASES, USER_REVIEWS, ACCESS_REVIEWS,
    RULES_REVIEWS,
)  # fmt: skip
