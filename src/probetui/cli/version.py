"""`probetui version`."""

from __future__ import annotations

import click

from probetui import __version__


@click.command("version")
def command() -> None:
    """Print the version."""
    click.echo(f"probetui {__version__}")
