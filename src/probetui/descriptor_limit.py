"""RLIMIT_NOFILE: raised for this process, restored for the processes it starts.

Each probe under way has a descriptor, and systems allow 256 or 1,024 unless they are
asked for more.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator

from probetui.errors import UsageError

WANTED = 65536
"""As many as 10,000 probes a second at a time-out of some seconds need."""

LEAST = 32
"""With fewer a session of one pod cannot open what it has to."""

_SPARE = 128
"""How many descriptors other threads may open while a process is started."""

_ORIGINAL = resource.getrlimit(resource.RLIMIT_NOFILE)
"""What this process was started with."""


def raise_descriptor_limit() -> None:
    """Raise the soft limit towards the hard one, as far as the system lets us.

    Raises:
        UsageError: the hard limit is too low for any session.
    """
    soft, hard = _ORIGINAL
    if 0 <= hard < LEAST:
        raise UsageError(
            f"this process may open {hard} files at once (`ulimit -Hn`): a session "
            f"needs at least {LEAST}"
        )
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    # macOS refuses more than its own limit, whatever the hard one says.
    for limit in (wanted, 10240):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
            return


@contextlib.contextmanager
def original_descriptor_limit() -> Iterator[None]:
    """Have processes that are started in the block begin with the original limit.

    Programs take the limit for a size of tables, or use `select`. Nothing is changed
    while more descriptors are open than the original limit allows: then the process
    could not be started.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == _ORIGINAL[0] or not _fits(_ORIGINAL[0]):
        yield
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (_ORIGINAL[0], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _fits(limit: int) -> bool:
    """Return whether what is open, and some more, is within a limit."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor + _SPARE < limit
