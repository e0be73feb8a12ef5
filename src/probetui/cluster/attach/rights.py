"""Access checks: whether the API server allows what a session needs."""

from __future__ import annotations

from probetui.cluster.client import ApiClient, Object, Resource
from probetui.cluster.errors import Access, ApiError, ForbiddenError, missing_right

_REVIEWS = Resource(
    "selfsubjectaccessreviews", "authorization.k8s.io", is_namespaced=False
)
_FORBIDDEN = 403


async def check_right(client: ApiClient, access: Access, *, or_verb: str = "") -> None:
    """Ask the API server whether it allows something.

    Args:
        client: the API server.
        access: the right.
        or_verb: another verb that is enough.

    Raises:
        ForbiddenError: it does not; the message names the missing right.
        ServerUnreachableError: there is no answer.
    """
    for verb in filter(None, (access.verb, or_verb)):
        try:
            if await _is_allowed(client, access, verb):
                return
        except ApiError:
            # Without the right to ask, the request itself shows what is allowed.
            return
    raise ForbiddenError(missing_right(access), code=_FORBIDDEN, reason="Forbidden")


async def _is_allowed(client: ApiClient, access: Access, verb: str) -> bool:
    resource, _, subresource = access.resource.partition("/")
    plural, _, group = resource.partition(".")
    attributes: Object = {
        "verb": verb,
        "resource": plural,
        "group": group,
        "subresource": subresource,
        "namespace": access.namespace,
        "name": access.name,
    }
    review: Object = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(_REVIEWS, "", review)
    status = answer.get("status")
    return not isinstance(status, dict) or status.get("allowed") is not False
