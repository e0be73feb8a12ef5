"""Put pages into a wheel: those of the catalogue of causes, and of man.

Man pages are there if they were made: `python -m tools.release man`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Pages(BuildHookInterface[Any]):
    """Adds docs/causes, and what is in build/man: nothing, unless it is a release."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the pages, and where an installation has them."""
        if version != "editable":
            # A checkout is read where it is.
            causes = Path(self.root, "docs", "causes")
            build_data["force_include"][str(causes)] = "probetui/cli/causes"
        for page in Path(self.root, "build", "man").glob("*.1"):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"
