"""Recognition of commands that failed to start for a missing executable.

runc and crun have no code for that, only a message, which engines pass on: containerd
with the code UNKNOWN, Docker with exit code 126, as for any program that cannot be
executed. So this error alone is recognized by its text; with another OCI runtime it is
reported as a general error.
"""

from __future__ import annotations

import re

from probetui.errors import ContainerRuntimeError, ExecutableMissingError

_MISSING = re.compile(
    r"executable file [^:]{0,4096}not found in \$PATH"
    r"|exec: \".{1,4096}\": stat .{1,4096}: no such file or directory",
    re.DOTALL,
)


def is_missing(message: str) -> bool:
    """Return whether an error of a runtime means that an executable does not exist."""
    return _MISSING.search(message) is not None


def command_error(message: str) -> ContainerRuntimeError:
    """Return the error for a command that could not be started."""
    kind = ExecutableMissingError if is_missing(message) else ContainerRuntimeError
    return kind(message)
