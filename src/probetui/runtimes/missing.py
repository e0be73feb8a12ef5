"""Whether a command could not be run because its executable is not there.

runc and crun say it in words, which engines pass on without a code for it: containerd
answers UNKNOWN, Docker has exit code 126, as for what may not be executed. So this
alone is known by words; of a runtime with other words less is told, nothing wrong.
"""

from __future__ import annotations

import re

from probetui.errors import ContainerRuntimeError, ExecutableMissingError

_MISSING = re.compile(
    r"executable file [^:]{0,4096}not found in \$PATH"
    r"|exec: \".{1,4096}\": stat .{1,4096}: no such file or directory",
    re.DOTALL,
)


def is_missing(words: str) -> bool:
    """Tell whether a runtime says that an executable is not there."""
    return _MISSING.search(words) is not None


def refused_command(words: str) -> ContainerRuntimeError:
    """Return the error for a command that could not be run."""
    kind = ExecutableMissingError if is_missing(words) else ContainerRuntimeError
    return kind(words)
