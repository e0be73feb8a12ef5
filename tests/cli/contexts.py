"""Contexts of commands, as the program makes them."""

from __future__ import annotations

import click

from probetui.cli.main import group


def context_of(command: click.Command, *args: str) -> click.Context:
    """Return the context of a command with arguments, and the settings of the program.

    click keeps the help option that a command had first: in another context it would
    be another one for all later tests of the process.
    """
    return command.make_context(command.name, list(args), **group.context_settings)
