"""`probetui info`: what probetui finds on this machine."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from probetui.cli.options import program_options, runtime_options
from probetui.cli.parameters import Command


@click.command("info", cls=Command)
@runtime_options
@program_options
def command(**params: Any) -> int:
    """Print versions, the runtimes looked for, folders and what the terminal is."""
    # Late: `probetui info --help` and completion need none of it.
    from probetui.cli.facts import print_facts  # noqa: PLC0415

    return asyncio.run(print_facts(params))
