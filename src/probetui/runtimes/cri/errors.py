"""Errors of a CRI runtime, classified by gRPC status code or errno, never by text."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import grpc
import grpc.aio
from msgspec import Struct

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.cri.go_status import go_code_name, go_description

UNREACHABLE_CODES = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})
"""Status codes of a call during which the runtime went away."""


class CriStatusError(ContainerRuntimeError):
    """The runtime answered with an error.

    Args:
        message: the runtime's own text.
        code: the gRPC status code.
    """

    def __init__(self, message: str, code: grpc.StatusCode) -> None:
        super().__init__(message)
        self.code = code

    def with_code(self) -> CriStatusError:
        """Return the error with its code in the text, as Go prints a status.

        A kubelet prints it so, except where it creates and starts containers.
        """
        name = go_code_name(self.code)
        return CriStatusError(f"rpc error: code = {name} desc = {self}", self.code)


class CriTimeoutError(ContainerRuntimeError):
    """The runtime accepted a call and did not answer within the time limit."""

    def __init__(self, call: str, limit: timedelta) -> None:
        seconds = int(limit.total_seconds())
        message = f"the runtime did not answer {call} within {seconds} s"
        super().__init__(message, unreachable=True)


def to_runtime_error(error: grpc.aio.AioRpcError, socket: str) -> ContainerRuntimeError:
    """Return the `ContainerRuntimeError` for an error of gRPC.

    Args:
        error: what the call raised.
        socket: the path of the socket that was called.
    """
    code = error.code()
    text = go_description(code, error.details() or code.name, socket)
    status = CriStatusError(text, code)
    if code in UNREACHABLE_CODES:
        return ContainerRuntimeError(str(status.with_code()), unreachable=True)
    return status


@contextmanager
def wrap_encoding_errors() -> Iterator[None]:
    """Raise `ContainerRuntimeError` for text that cannot be encoded as UTF-8."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ContainerRuntimeError(
            "the text is not UTF-8, which the CRI requires"
        ) from error


class CriDiagnosis(Struct, frozen=True):
    """Why an endpoint is unusable, and what to do about it."""

    outcome: str
    advice: str


START_RUNTIME = (
    "start a CRI runtime (systemctl start containerd), or name its socket with "
    "--runtime-endpoint"
)
BE_ALLOWED = "run as root or as a user who may open that socket"
CHECK_ADDRESS = "check the address, as in unix:///run/containerd/containerd.sock"
SPEAKS_NO_CRI = CriDiagnosis(
    "answers, but does not speak the CRI",
    "check that it is the socket of a CRI runtime",
)
HAS_NO_CRI = CriDiagnosis(
    "answers, but has no CRI v1 (runtime.v1)",
    "enable the runtime's CRI plugin (disabled_plugins in containerd's config.toml)",
)
IS_TOO_OLD = CriDiagnosis(
    "speaks the CRI v1alpha2 only, and v1 is needed",
    "upgrade the runtime (containerd 1.6, CRI-O 1.23 or newer)",
)
HAS_NO_IMAGES = CriDiagnosis(
    "has no image service (runtime.v1.ImageService)",
    "name the socket that has it with IMAGE_SERVICE_ENDPOINT, or as image-endpoint in "
    "crictl's configuration",
)
MAKE_NETWORK = (
    "give it a CNI configuration, in /etc/cni/net.d unless it reads another folder"
)


def diagnose_socket(error: OSError) -> CriDiagnosis:
    """Return why a socket cannot be connected to."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return CriDiagnosis("no such socket", START_RUNTIME)
        case ConnectionRefusedError():
            return CriDiagnosis("nobody listens there", START_RUNTIME)
        case PermissionError():
            return CriDiagnosis("permission denied", BE_ALLOWED)
        case OSError(errno=errno.ENOTSOCK):
            return CriDiagnosis("not a socket", CHECK_ADDRESS)
        case _:
            return CriDiagnosis(error.strerror or str(error), CHECK_ADDRESS)


def diagnose_call(error: ContainerRuntimeError) -> CriDiagnosis:
    """Return why a runtime's first response makes it unusable."""
    match error:
        case CriStatusError(code=grpc.StatusCode.UNIMPLEMENTED):
            return HAS_NO_CRI
        case CriStatusError() | CriTimeoutError():
            return CriDiagnosis(str(error), "see the runtime's log")
        case _:
            return SPEAKS_NO_CRI
