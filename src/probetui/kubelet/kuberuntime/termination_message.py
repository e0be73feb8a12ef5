"""Termination messages: from a file or from the end of the log.

Source: kuberuntime/kuberuntime_container.go, v1.32.10, convertToKubeContainerStatus,
getTerminationMessage, readLastStringFromContainerLogs.
"""

from __future__ import annotations

MAX_FILE_BYTES = 4096
MAX_LOG_BYTES = 2048
MAX_LOG_LINES = 80

FALLBACK_TO_LOGS_ON_ERROR = "FallbackToLogsOnError"
CANNOT_RUN = "ContainerCannotRun"


def wants_log(policy: str, exit_code: int, reason: str, file: bytes | None) -> bool:
    """Return whether the end of the log replaces the message file.

    Args:
        policy: the container's terminationMessagePolicy.
        exit_code: that of the instance.
        reason: why it ended; an instance that never ran has no log.
        file: the content at terminationMessagePath, None if there is no such file.
    """
    return (
        policy == FALLBACK_TO_LOGS_ON_ERROR
        and exit_code != 0
        and reason != CANNOT_RUN
        and not file
    )


def termination_message(runtime_message: str, own: bytes) -> str:
    """Return the message of an ended container.

    `own` is the container's message, truncated; it is appended to the runtime's. Bytes
    that are not UTF-8 become lone surrogates.
    """
    text = own.decode(errors="surrogateescape")
    if runtime_message and text:
        return f"{runtime_message}: {text}"
    return runtime_message or text


def end_of_file(file: bytes) -> bytes:
    """Return a message file, cut to the limit."""
    return file[-MAX_FILE_BYTES:]


def end_of_log(lines: list[bytes]) -> bytes:
    """Return the end of a log within the limits; lines keep their line ends."""
    return b"".join(lines[-MAX_LOG_LINES:])[-MAX_LOG_BYTES:]
