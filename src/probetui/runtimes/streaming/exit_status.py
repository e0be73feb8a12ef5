"""The exit status of a command, from the last message of its error stream.

Source: k8s.io/client-go tools/remotecommand, v0.36.2, v4.go, errorDecoderV4.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from probetui.k8s.api.codec import Json
from probetui.runtimes.missing_executable import command_error
from probetui.safe_text import safe_line

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
"""Protocols of streams with such a status; the newer one signals the end of input."""

LONGEST_STATUS = 1 << 16
_LONGEST_TEXT = 1000


def exit_status(exit_code: int) -> Json:
    """Build the `Status` that ends a command's streams."""
    if exit_code == 0:
        return {"metadata": {}, "status": "Success"}
    message = (
        "command terminated with non-zero exit code: "
        f"command terminated with exit code {exit_code}"
    )
    cause = {"reason": "ExitCode", "message": str(exit_code)}
    return {
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "NonZeroExitCode",
        "details": {"causes": [cause]},
    }


def exit_code(status: bytes) -> int:
    """Parse the exit code in the `Status` of a command.

    Raises:
        ContainerRuntimeError: the command could not be run.
    """
    decoded = _decoded(status)
    if decoded.get("status") == "Success":
        return 0
    details = decoded.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    if decoded.get("reason") == "NonZeroExitCode" and isinstance(causes, list):
        for cause in causes:
            if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
                with suppress(ValueError):
                    return int(str(cause.get("message")))
    message = str(decoded.get("message") or "no reason given")
    raise command_error(safe_line(message, limit=_LONGEST_TEXT))


def _decoded(status: bytes) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(status)
    except (msgspec.DecodeError, RecursionError, ValueError):
        # A kubelet before 1.5 wrote plain text; so does a server that cuts it off.
        decoded = status.decode(errors="replace")
    return decoded if isinstance(decoded, dict) else {"message": decoded}
