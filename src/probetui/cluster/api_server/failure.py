"""Errors of the API server: a `Status` object with its HTTP status code.

Source: k8s.io/apimachinery pkg/api/errors/errors.go, v0.36.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from probetui.cluster.serving.http_server import HttpResponse
from probetui.k8s.api.codec import Json


class ApiFailure(Exception):  # noqa: N818  # it is an answer
    """A request that is refused.

    Args:
        code: the HTTP status.
        reason: the machine's word for it, such as `NotFound`.
        message: what kubectl prints.
        details: the object that it is about, its causes.
        retry_after: seconds, also as a header.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Json | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after

    def status(self) -> Json:
        """Return the `Status` object."""
        details = dict(self.details or {})
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if details or self.details is not None:
            status["details"] = details
        return {**status, "code": self.code}

    def response(self) -> HttpResponse:
        """Return the answer."""
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        if self.code == HTTPStatus.FORBIDDEN:
            headers["X-Content-Type-Options"] = "nosniff"
        body = msgspec.json.encode(self.status()) + b"\n"
        return HttpResponse(self.code, body, headers=headers)


def not_found(resource: str, name: str, group: str = "") -> ApiFailure:
    """Return what an object that is not there is answered with."""
    message = f'{_qualified(resource, group)} "{name}" not found'
    return ApiFailure(404, "NotFound", message, _details(resource, name, group))


def already_exists(resource: str, name: str, group: str = "") -> ApiFailure:
    """Return what a second object of a name is answered with."""
    message = f'{_qualified(resource, group)} "{name}" already exists'
    return ApiFailure(409, "AlreadyExists", message, _details(resource, name, group))


def conflict(resource: str, name: str, why: str, group: str = "") -> ApiFailure:
    """Return what a write that is based on something else is answered with."""
    message = (
        "Operation cannot be fulfilled on "
        f'{_qualified(resource, group)} "{name}": {why}'
    )
    return ApiFailure(409, "Conflict", message, _details(resource, name, group))


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
    qualified = f"{kind}.{group}" if group else kind
    return ApiFailure(
        422, "Invalid", f'{qualified} "{name}" is invalid: {joined}', details
    )


def bad_request(message: str) -> ApiFailure:
    """Return what a request that cannot be understood is answered with."""
    return ApiFailure(400, "BadRequest", message)


def expired(message: str) -> ApiFailure:
    """Return what a resourceVersion that is no longer known is answered with."""
    return ApiFailure(410, "Expired", message)


def _qualified(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


def _details(resource: str, name: str, group: str) -> dict[str, Any]:
    named: dict[str, Any] = {"name": name} if name else {}
    return {**named, **({"group": group} if group else {}), "kind": resource}
