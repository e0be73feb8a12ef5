"""Put the man pages into a wheel, if they were made: `python -m tools.release man`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface[Any]):
    """Adds what is in build/man; a checkout that nobody releases has none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the pages, and where an installation has them."""
        del version
        for page in Path(self.root, "build", "man").glob("*.1"):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"
