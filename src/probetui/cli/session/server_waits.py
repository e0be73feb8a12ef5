"""Warnings while an API server asks for time."""

from __future__ import annotations

from probetui.cli.printing import Notes
from probetui.cluster.client import ApiClient


def warn_of_waits(client: ApiClient, notes: Notes) -> None:
    """Warn each time that a request waits, and say for how long.

    Args:
        client: sends the requests; a session notes waits in its journal instead.
        notes: prints.
    """
    client.on_wait = lambda error: notes.warning(
        f"{error}; asked again in {error.retry_after or 0:.0f}s"
    )
