"""Warnings of what an API server asks for and of what of it is not read."""

from __future__ import annotations

from probetui.cli.printing import Notes
from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError


def warn_of_waits(client: ApiClient, notes: Notes) -> None:
    """Warn each time that a request waits, and of objects that are left out.

    Args:
        client: sends the requests; a session notes it in its journal instead.
        notes: prints.
    """
    left_out: set[str] = set()

    def warn_once(error: ClusterError) -> None:
        if str(error) not in left_out:
            left_out.add(str(error))
            notes.warning(f"left out: {error}")

    client.on_left_out = warn_once
    client.on_wait = lambda error: notes.warning(
        f"{error}; asked again in {error.retry_after or 0:.0f}s"
    )
