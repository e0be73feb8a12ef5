"""What goes wrong with Docker, told apart by type and code, never by words."""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass

import docker.errors
import requests
import urllib3.exceptions

from probetui.errors import ContainerRuntimeError

FOREIGN_ERRORS = (
    docker.errors.DockerException,
    docker.errors.StreamParseError,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    # Also requests.RequestException, which is an OSError.
    OSError,
)
"""What the SDK and the HTTP stack below it raise for anything the world can do."""

NOT_FOUND = 404
CONFLICT = 409
SERVER_ERROR = 500


class RefusedError(ContainerRuntimeError):
    """Docker answered with an HTTP error status.

    Args:
        message: the daemon's own words.
        status: the HTTP status code.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def runtime_error(error: Exception) -> ContainerRuntimeError:
    """Return what a foreign error means to a caller of a runtime."""
    if isinstance(error, docker.errors.APIError) and error.response is not None:
        return RefusedError(error.explanation or str(error), error.status_code)
    if _is_connection_trouble(error):
        return ContainerRuntimeError(
            f"Docker does not answer: {_root_cause(error)}", unreachable=True
        )
    return ContainerRuntimeError(str(error))


def refuse_undecodable(texts: Iterable[str]) -> None:
    """Raise `ContainerRuntimeError` if some text stands for bytes that are not UTF-8.

    Docker's API is JSON, in which they would become other letters; the CRI refuses
    them too.
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise ContainerRuntimeError(
            "the command is not UTF-8, and Docker's API takes no other text"
        ) from error


def _is_connection_trouble(error: Exception) -> bool:
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


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why an endpoint does not answer, and what a person can do about it."""

    outcome: str
    advice: str


START_DOCKER = "start Docker (systemctl start docker, or open Docker Desktop)"
JOIN_GROUP = (
    "join the group docker (sudo usermod -aG docker $USER, then log in again) "
    "or run as root"
)
CHECK_TLS = "check DOCKER_TLS_VERIFY, DOCKER_CERT_PATH and the certificates"


def diagnose(error: Exception) -> Diagnosis:
    """Tell why connecting failed, from the types and codes down the chain of causes."""
    chain = _chain(error)
    for each in chain:
        if isinstance(each, ssl.SSLError | requests.exceptions.SSLError):
            return Diagnosis(f"TLS: {_words(each)}", CHECK_TLS)
        if isinstance(each, docker.errors.TLSParameterError):
            return Diagnosis(f"TLS: {each.msg}", CHECK_TLS)
        if isinstance(each, docker.errors.APIError) and each.response is not None:
            return Diagnosis(
                f"answers with HTTP status {each.status_code}, not as Docker does",
                "check the address, and whether it wants TLS",
            )
    for each in chain:
        if isinstance(each, OSError) and (found := _of_os_error(each)) is not None:
            return found
    return Diagnosis(_words(error), "check the address")


def _of_os_error(error: OSError) -> Diagnosis | None:
    """Diagnose an operating system error; None for one without a number."""
    match error:
        case socket.gaierror():
            return Diagnosis("the host name is not known", "check the address")
        case FileNotFoundError() | NotADirectoryError():
            return Diagnosis("no such socket", START_DOCKER)
        case ConnectionRefusedError():
            return Diagnosis("nobody listens there", START_DOCKER)
        case PermissionError():
            return Diagnosis("permission denied", JOIN_GROUP)
        case TimeoutError() | requests.Timeout():
            return Diagnosis("no answer in time", "check the address and the network")
        case OSError(errno=errno.ENOTSOCK):
            return Diagnosis("not a socket", "check the address")
        case OSError(errno=int()):
            return Diagnosis(_words(error), "check the address and the network")
        case _:
            return None


def _root_cause(error: Exception) -> str:
    """Return what the operating system said, or else what the library says."""
    numbered = (
        each
        for each in _chain(error)
        if isinstance(each, OSError) and each.errno is not None
    )
    return _words(next(numbered, error))


def _words(error: BaseException) -> str:
    """Return an error's text, without the number that Python puts before it."""
    if isinstance(error, OSError) and error.strerror:
        return str(error.strerror)
    return str(error) or type(error).__name__


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and what caused it, outermost first.

    requests and urllib3 keep the cause among their arguments as often as in
    `__cause__`.
    """
    found: list[BaseException] = []
    queue = [error]
    while queue:
        each = queue.pop(0)
        if each in found:
            continue
        found.append(each)
        inside = [arg for arg in each.args if isinstance(arg, BaseException)]
        reason = getattr(each, "reason", None)
        linked = (each.__cause__, reason, *inside, each.__context__)
        queue += [one for one in linked if isinstance(one, BaseException)]
    return found
