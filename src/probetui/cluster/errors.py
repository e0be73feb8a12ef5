"""Errors of requests to an API server, each with what to do about it.

    ClusterError                      the cluster cannot be used; what to do (3)
    ├── ApiError                      the API server refused one request
    │   ├── ForbiddenError            403: the missing right, the command that shows it
    │   ├── UnauthorizedError         401: the credentials are not accepted
    │   └── ExpiredError              410: a resourceVersion that is too old
    └── ServerUnreachableError        no response, or an invalid one

Texts of a server are made safe here, at the one place where they become messages.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from probetui.errors import ProbetuiError
from probetui.safe_text import safe_line

_LONGEST_MESSAGE = 1000


class ClusterError(ProbetuiError):
    """The cluster cannot be used; the message says what to do."""

    exit_status = 3


class ServerUnreachableError(ClusterError):
    """The server did not respond, or not as an API server does."""


class ApiError(ClusterError):
    """The API server refused one request.

    Args:
        message: one line for people.
        code: the HTTP status.
        reason: the machine-readable reason of the server's Status, as `NotFound`.
        retry_after: seconds to wait before the next attempt, if the server says so.
        details: the rest of the server's Status object.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        retry_after: float | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after
        self.details = details or {}


class ForbiddenError(ApiError):
    """A right is missing."""


class UnauthorizedError(ApiError):
    """The credentials are missing, wrong or expired."""


class ExpiredError(ApiError):
    """A resourceVersion or a continue token is too old: list again."""


class Access(Struct, frozen=True):
    """A right: a verb on a resource, as RBAC names it.

    `resource` is `pods` or `pods/log`, with a group `deployments.apps`. `namespace` is
    empty for all namespaces and for cluster-scoped resources.
    """

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    is_namespaced: bool = True

    @property
    def command(self) -> str:
        """The command that shows whether the right is granted."""
        resource, _, subresource = self.resource.partition("/")
        command = ["kubectl auth can-i", self.verb]
        command.append(f"{resource}/{self.name}" if self.name else resource)
        if subresource:
            command.append(f"--subresource={subresource}")
        if self.namespace:
            command.append(f"-n {self.namespace}")
        elif self.is_namespaced:
            command.append("-A")
        return " ".join(command)

    @property
    def description(self) -> str:
        """The right as text: `watch pods in namespace shop`."""
        right = f"{self.verb} {self.resource}{f' {self.name!r}' if self.name else ''}"
        if self.namespace:
            return f"{right} in namespace {self.namespace}"
        return f"{right} in all namespaces" if self.is_namespaced else right


def missing_right(access: Access) -> str:
    """Describe a missing right and the command that shows it."""
    return f"not allowed to {access.description}; `{access.command}` shows it"


def api_error(
    code: int, status: Any, access: Access, *, retry_after: str | None = None
) -> ApiError:
    """Return the error for a response outside 2xx.

    Args:
        code: the HTTP status, or the code of the Status in a watch.
        status: the decoded body; a Status object, from an API server.
        access: the right that the request needed.
        retry_after: the Retry-After header; seconds.
    """
    details: dict[str, Any] = status if isinstance(status, dict) else {}
    text = safe_line(str(details.get("message") or ""), limit=_LONGEST_MESSAGE)
    reason = safe_line(str(details.get("reason") or ""), limit=100)
    options: dict[str, Any] = {
        "code": code,
        "reason": reason,
        "retry_after": _seconds(retry_after),
        "details": details,
    }
    reply = f" (the server says: {text})" if text else ""
    match code:
        case 401:
            return UnauthorizedError(
                f"the API server does not accept the credentials{reply}; they may have "
                "expired: `kubectl auth whoami` shows who you are",
                **options,
            )
        case 403:
            return ForbiddenError(f"{missing_right(access)}{reply}", **options)
        case 410:
            return ExpiredError(text or "the resourceVersion is too old", **options)
        case 429:
            return ApiError(f"the API server has too many requests{reply}", **options)
        case _:
            return ApiError(
                text or f"HTTP {code} to the request to {access.description}", **options
            )


def _seconds(header: str | None) -> float | None:
    """Parse Retry-After in seconds; None for a date, which no API server sends.

    The result is between a second and ten minutes, so that a server can neither cause a
    busy loop nor stop the requests for ever.
    """
    if header is None or not header.strip().isascii() or not header.strip().isdigit():
        return None
    return float(min(max(int(header.strip()[:9]), 1), 600))
