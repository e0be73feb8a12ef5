"""`probetui ls`: the pods that are on the runtimes."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from probetui.cli.options import program_options, runtime_options, table_options
from probetui.cli.parameters import Command, examples


@click.command(
    "ls",
    cls=Command,
    epilog=examples(
        "probetui ls",
        "probetui ls --runtime docker -o json",
    ),
)
@table_options
@runtime_options
@program_options
def command(**params: Any) -> int:
    """List the pods that probetui runs or has left behind, on every runtime.

    RUN-BY is the process that looks after a pod; without one, `probetui down` removes
    it and `probetui run` of the same manifest takes it over.
    """
    # Late: `probetui ls --help` and completion need none of it.
    from probetui.cli.listing import list_pods  # noqa: PLC0415

    return asyncio.run(list_pods(params))
