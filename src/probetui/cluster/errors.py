"""Errors of requests to an API server, each with what to do about it.

    ClusterError                      the cluster cannot be used; what to do (3)
    ├── ApiError                      the API server refused one request
    │   ├── ForbiddenError            403: the missing right, the command that shows it
    │   ├── UnauthorizedError         401: the credentials are not accepted
    │   └── ExpiredError              410: a resourceVersion that is too old
    └── ServerUnreachableError        no answer at all, or one that is none

Texts of a server are made safe here, at the one place where they become messages.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from probetui.errors import ProbetuiError
from probetui.safe_text import safe_line

_LONGEST_MESSAGE = 1000


class ClusterError(ProbetuiError):
    """The cluster cannot be used."""

    exit_status = 3


class ServerUnreachableError(ClusterError):
    """The server did not answer, or its answer is not one of an API server."""


class ApiError(ClusterError):
    """The API server refused one request.

    Args:
        message: one line for people.
        code: the HTTP status.
        reason: the machine-readable reason of the server's Status, as `NotFound`.
        retry_after: seconds to wait before the next try, where the server says it.
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

    `resource` is as `pods` or `pods/log`, with its group as `deployments.apps`.
    `namespace` is empty for all namespaces and for what has none.
    """

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    is_namespaced: bool = True

    @property
    def command(self) -> str:
        """The command that shows whether the right is there."""
        resource, _, subresource = self.resource.partition("/")
        words = ["kubectl auth can-i", self.verb]
        words.append(f"{resource}/{self.name}" if self.name else resource)
        if subresource:
            words.append(f"--subresource={subresource}")
        if self.namespace:
            words.append(f"-n {self.namespace}")
        elif self.is_namespaced:
            words.append("-A")
        return " ".join(words)

    @property
    def words(self) -> str:
        """The right in words: `watch pods in namespace shop`."""
        what = f"{self.verb} {self.resource}{f' {self.name!r}' if self.name else ''}"
        if self.namespace:
            return f"{what} in namespace {self.namespace}"
        return f"{what} in all namespaces" if self.is_namespaced else what


def missing_right(access: Access) -> str:
    """Return which right is missing, and the command that shows it."""
    return f"not allowed to {access.words}; `{access.command}` shows it"


def api_error(
    code: int, status: Any, access: Access, *, retry_after: str | None = None
) -> ApiError:
    """Return the error for an answer that is none of 2xx.

    Args:
        code: the HTTP status, or the code of the Status in a watch.
        status: the decoded body; a Status object, if the server is what it should be.
        access: what was asked for.
        retry_after: the header of that name; seconds.
    """
    found: dict[str, Any] = status if isinstance(status, dict) else {}
    text = safe_line(str(found.get("message") or ""), limit=_LONGEST_MESSAGE)
    reason = safe_line(str(found.get("reason") or ""), limit=100)
    options: dict[str, Any] = {
        "code": code,
        "reason": reason,
        "retry_after": _seconds(retry_after),
        "details": found,
    }
    words = f" (the server says: {text})" if text else ""
    match code:
        case 401:
            return UnauthorizedError(
                f"the API server does not accept the credentials{words}; they may have "
                "expired: `kubectl auth whoami` shows who you are",
                **options,
            )
        case 403:
            return ForbiddenError(f"{missing_right(access)}{words}", **options)
        case 410:
            return ExpiredError(text or "the resourceVersion is too old", **options)
        case 429:
            return ApiError(f"the API server has too many requests{words}", **options)
        case _:
            return ApiError(
                text or f"HTTP {code} to the request to {access.words}", **options
            )


def _seconds(header: str | None) -> float | None:
    """Return what Retry-After says in seconds; a date, which no API server sends, not.

    Between a second and ten minutes: a server must neither have this program ask
    without a pause nor silence it for ever.
    """
    if header is None or not header.strip().isascii() or not header.strip().isdigit():
        return None
    return float(min(max(int(header.strip()[:9]), 1), 600))
