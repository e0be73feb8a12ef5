"""Errors of Docker, recognized by type and status code, never by their text."""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import docker.errors
import requests
import urllib3.exceptions
from msgspec import Struct

from probetui.errors import ContainerRuntimeError

SDK_ERRORS = (
    docker.errors.DockerException,
    docker.errors.StreamParseError,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    # Also requests.RequestException, which is an OSError.
    OSError,
)
"""All errors that the SDK and the HTTP libraries below it raise."""

NOT_FOUND = 404
CONFLICT = 409
SERVER_ERROR = 500


class DockerStatusError(ContainerRuntimeError):
    """Docker answered with an HTTP error status.

    Args:
        message: the daemon's own message.
        status: the HTTP status code.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def ignore_status(*statuses: int) -> Iterator[None]:
    """Leave the block silently if Docker answers with one of these statuses."""
    try:
        yield
    except DockerStatusError as error:
        if error.status not in statuses:
            raise


def to_runtime_error(error: Exception) -> ContainerRuntimeError:
    """Convert an error of the SDK or the HTTP libraries."""
    if isinstance(error, docker.errors.APIError) and error.response is not None:
        return DockerStatusError(error.explanation or str(error), error.status_code)
    if _is_connection_error(error):
        return ContainerRuntimeError(
            f"Docker does not answer: {_root_cause(error)}", unreachable=True
        )
    return ContainerRuntimeError(str(error))


def refuse_undecodable(texts: Iterable[str]) -> None:
    """Raise `ContainerRuntimeError` for text with surrogates, which is not UTF-8.

    Docker's API is JSON and would replace such bytes; the CRI refuses them too.
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise ContainerRuntimeError(
            "the command is not UTF-8, which Docker's API requires"
        ) from error


def _is_connection_error(error: Exception) -> bool:
    if isinstance(error, requests.RequestException):
        return isinstance(
            error,
            requests.ConnectionError
            | requests.Timeout
            | requests.exceptions.ChunkedEncodingError,
        )
    return isinstance(
        error,
        urllib3.exceptions.HTTPError | http.client.HTTPException | OSError,
    )


class DockerDiagnosis(Struct, frozen=True):
    """Why an endpoint does not answer, and what a person can do about it."""

    outcome: str
    advice: str


START_DOCKER = "start Docker (systemctl start docker, or open Docker Desktop)"
JOIN_GROUP = (
    "join the group docker (sudo usermod -aG docker $USER, then log in again) "
    "or run as root"
)
CHECK_TLS = "check DOCKER_TLS_VERIFY, DOCKER_CERT_PATH and the certificates"


def diagnose(error: Exception) -> DockerDiagnosis:
    """Return why connecting failed, by the types and codes in the chain of causes."""
    chain = _chain(error)
    for exception in chain:
        if isinstance(exception, ssl.SSLError | requests.exceptions.SSLError):
            return DockerDiagnosis(f"TLS: {_message(exception)}", CHECK_TLS)
        if isinstance(exception, docker.errors.TLSParameterError):
            return DockerDiagnosis(f"TLS: {exception.msg}", CHECK_TLS)
        if (
            isinstance(exception, docker.errors.APIError)
            and exception.response is not None
        ):
            return DockerDiagnosis(
                f"answers with HTTP status {exception.status_code}, not as Docker does",
                "check the address, and whether it wants TLS",
            )
    for exception in chain:
        if (
            isinstance(exception, OSError)
            and (diagnosis := _of_os_error(exception)) is not None
        ):
            return diagnosis
    return DockerDiagnosis(_message(error), "check the address")


def _of_os_error(error: OSError) -> DockerDiagnosis | None:
    """Diagnose an operating system error; None for one without a number."""
    match error:
        case socket.gaierror():
            return DockerDiagnosis("the host name is not known", "check the address")
        case FileNotFoundError() | NotADirectoryError():
            return DockerDiagnosis("no such socket", START_DOCKER)
        case ConnectionRefusedError():
            return DockerDiagnosis("nobody listens there", START_DOCKER)
        case PermissionError():
            return DockerDiagnosis("permission denied", JOIN_GROUP)
        case TimeoutError() | requests.Timeout():
            return DockerDiagnosis(
                "no answer in time", "check the address and the network"
            )
        case OSError(errno=errno.ENOTSOCK):
            return DockerDiagnosis("not a socket", "check the address")
        case OSError(errno=int()):
            return DockerDiagnosis(_message(error), "check the address and the network")
        case _:
            return None


def _root_cause(error: Exception) -> str:
    """Return the message of the operating system, or else that of the library."""
    numbered = (
        exception
        for exception in _chain(error)
        if isinstance(exception, OSError) and exception.errno is not None
    )
    return _message(next(numbered, error))


def _message(error: BaseException) -> str:
    """Return the text of an error without its number."""
    if isinstance(error, OSError) and error.strerror:
        return str(error.strerror)
    return str(error) or type(error).__name__


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, outermost first.

    requests and urllib3 keep a cause among the arguments as often as in `__cause__`.
    """
    chain: list[BaseException] = []
    queue = [error]
    while queue:
        cause = queue.pop(0)
        if cause in chain:
            continue
        chain.append(cause)
        inside = [arg for arg in cause.args if isinstance(arg, BaseException)]
        reason = getattr(cause, "reason", None)
        linked = (cause.__cause__, reason, *inside, cause.__context__)
        queue += [cause for cause in linked if isinstance(cause, BaseException)]
    return chain
