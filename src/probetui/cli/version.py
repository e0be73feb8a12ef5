"""`probetui version`."""

from __future__ import annotations

import click

from probetui import __version__
from probetui.cli.printing import print_line


@click.command("version")
def command() -> None:
    """Print the version."""
    print_line(f"probetui {__version__}")
