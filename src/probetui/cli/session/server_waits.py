"""What is said while an API server has asked to wait."""

from __future__ import annotations

from probetui.cli.printing import Notes
from probetui.cluster.client import ApiClient


def tell_waits(client: ApiClient, notes: Notes) -> None:
    """Say each time that a request waits, for how long it does.

    Args:
        client: sends the requests; whoever has a session tells it there instead.
        notes: prints.
    """
    client.on_wait = lambda error: notes.warning(
        f"{error}; asked again in {error.retry_after or 0:.0f}s"
    )
