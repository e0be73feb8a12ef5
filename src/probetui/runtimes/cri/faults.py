"""What goes wrong with a CRI runtime, told apart by type and code, never by words."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import grpc
import grpc.aio

from probetui.errors import ContainerRuntimeError

GONE = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})
"""What a call comes to when the runtime goes away: it is not there, or gives up."""


class RefusedError(ContainerRuntimeError):
    """The runtime answered with an error.

    Args:
        message: the runtime's own words.
        code: gRPC's status code.
    """

    def __init__(self, message: str, code: grpc.StatusCode) -> None:
        super().__init__(message)
        self.code = code


class NoAnswerError(ContainerRuntimeError):
    """The runtime took a call and did not answer for as long as we waited."""

    def __init__(self, call: str, limit: timedelta) -> None:
        seconds = int(limit.total_seconds())
        message = f"the runtime did not answer {call} within {seconds} s"
        super().__init__(message, unreachable=True)


def runtime_error(error: grpc.aio.AioRpcError) -> ContainerRuntimeError:
    """Return what gRPC's error means to a caller of a runtime."""
    words = error.details() or error.code().name
    if error.code() in GONE:
        message = f"the container runtime does not answer: {words}"
        return ContainerRuntimeError(message, unreachable=True)
    return RefusedError(words, error.code())


@contextmanager
def system_refusals() -> Iterator[None]:
    """Turn what the system refuses into what a runtime refuses."""
    try:
        yield
    except OSError as error:
        raise ContainerRuntimeError(str(error)) from error


@contextmanager
def text_refusals() -> Iterator[None]:
    """Refuse text that stands for bytes that are not UTF-8: the CRI takes no other."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ContainerRuntimeError(
            "it is not UTF-8, and the CRI takes no other text"
        ) from error


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why an endpoint is of no use, and what a person can do about it."""

    outcome: str
    advice: str


START_RUNTIME = (
    "start a CRI runtime (systemctl start containerd), or name its socket with "
    "--runtime-endpoint"
)
BE_ALLOWED = "run as root, or as a user who may open that socket"
CHECK_ADDRESS = "check the address, as in unix:///run/containerd/containerd.sock"
SPEAKS_NO_CRI = Diagnosis(
    "answers, but does not speak the CRI",
    "check that it is the socket of a CRI runtime",
)
HAS_NO_CRI = Diagnosis(
    "answers, but has no CRI v1 (runtime.v1)",
    "switch on the runtime's CRI plugin (disabled_plugins in containerd's config.toml)",
)
IS_TOO_OLD = Diagnosis(
    "speaks the CRI v1alpha2 only, and v1 is needed",
    "upgrade the runtime (containerd 1.6, CRI-O 1.23 or newer)",
)
HAS_NO_IMAGES = Diagnosis(
    "has no image service (runtime.v1.ImageService)",
    "name the socket that has it with IMAGE_SERVICE_ENDPOINT, or as image-endpoint in "
    "crictl's configuration",
)
MAKE_NETWORK = (
    "give it a CNI configuration, in /etc/cni/net.d unless it reads another folder"
)


def diagnose_socket(error: OSError) -> Diagnosis:
    """Tell why a socket cannot be connected to."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return Diagnosis("no such socket", START_RUNTIME)
        case ConnectionRefusedError():
            return Diagnosis("nobody listens there", START_RUNTIME)
        case PermissionError():
            return Diagnosis("permission denied", BE_ALLOWED)
        case OSError(errno=errno.ENOTSOCK):
            return Diagnosis("not a socket", CHECK_ADDRESS)
        case _:
            return Diagnosis(error.strerror or str(error), CHECK_ADDRESS)


def diagnose_call(error: ContainerRuntimeError) -> Diagnosis:
    """Tell why a runtime's first answer is of no use."""
    match error:
        case RefusedError(code=grpc.StatusCode.UNIMPLEMENTED):
            return HAS_NO_CRI
        case RefusedError() | NoAnswerError():
            return Diagnosis(str(error), "look into the runtime's log")
        case _:
            return SPEAKS_NO_CRI
