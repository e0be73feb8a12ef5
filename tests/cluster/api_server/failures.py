"""Errors of writes.

Source: k8s.io/apimachinery pkg/api/errors/errors.go, v0.36.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from probetui.cluster.api_server.failure import ApiFailure, object_details, qualified
from probetui.k8s.api.codec import Json


def already_exists(resource: str, name: str, group: str = "") -> ApiFailure:
    """Return what a second object of a name is answered with."""
    message = f'{qualified(resource, group)} "{name}" already exists'
    return ApiFailure(
        409, "AlreadyExists", message, object_details(resource, name, group)
    )


def conflict(resource: str, name: str, why: str, group: str = "") -> ApiFailure:
    """Return what a write that is based on something else is answered with."""
    message = (
        f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    )
    return ApiFailure(409, "Conflict", message, object_details(resource, name, group))


def modified(resource: str, name: str, group: str = "") -> ApiFailure:
    """Return what an old resourceVersion is answered with."""
    why = (
        "the object has been modified; "
        "please apply your changes to the latest version and try again"
    )
    return conflict(resource, name, why, group)


def invalid(
    kind: str, name: str, causes: Sequence[tuple[str, str, str]], group: str = ""
) -> ApiFailure:
    """Return what an object that may not be so is answered with.

    Args:
        kind: the object's kind.
        name: its name.
        causes: reason, message and field of each.
        group: the kind's group.
    """
    texts = list(dict.fromkeys(f"{field}: {text}" for _, text, field in causes))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: Json = {"name": name}
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [
        {"reason": reason, "message": text, "field": field}
        for reason, text, field in causes
    ]
    return ApiFailure(
        422,
        "Invalid",
        f'{qualified(kind, group)} "{name}" is invalid: {joined}',
        details,
    )
