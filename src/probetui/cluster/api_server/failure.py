"""Errors of the API server: a `Status` object with its HTTP status code.

Source: k8s.io/apimachinery pkg/api/errors/errors.go, v0.36.2.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from probetui.cluster.serving.http_server import HttpResponse
from probetui.k8s.api.codec import Json


class ApiFailure(Exception):  # noqa: N818  # it is an answer
    """An error response of the API server.

    Args:
        code: the HTTP status.
        reason: machine-readable, such as `NotFound`.
        message: printed by kubectl.
        details: the object concerned, and the causes.
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
    """Return the error for an object that does not exist."""
    message = f'{qualified(resource, group)} "{name}" not found'
    return ApiFailure(404, "NotFound", message, object_details(resource, name, group))


def bad_request(message: str) -> ApiFailure:
    """Return the error for a malformed request."""
    return ApiFailure(400, "BadRequest", message)


def expired(message: str) -> ApiFailure:
    """Return the error for an expired resourceVersion."""
    return ApiFailure(410, "Expired", message)


def qualified(resource: str, group: str) -> str:
    """Return a resource with its group, as messages name it."""
    return f"{resource}.{group}" if group else resource


def object_details(resource: str, name: str, group: str) -> Json:
    """Return the `details` of a `Status` about an object."""
    named: Json = {"name": name} if name else {}
    return {**named, **({"group": group} if group else {}), "kind": resource}
