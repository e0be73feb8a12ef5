"""`probetui down`: pods stopped and removed."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from probetui.cli.options import filename_options, program_options, runtime_options
from probetui.cli.parameters import Command, examples, option


@click.command(
    "down",
    cls=Command,
    epilog=examples(
        "probetui down -f pod.yaml",
        "probetui down --all",
        "probetui down --all --all-users",
    ),
)
@filename_options
@option("--all", "takes_all", section="Pods", is_flag=True, help="All pods of yours.")
@option(
    "--all-users",
    section="Pods",
    is_flag=True,
    help="Also pods that probetuis of other users, or with other state folders, made.",
)
@option(
    "--unverified",
    section="Pods",
    is_flag=True,
    help="Also pods that only look as if version 0.1 made them: it noted nothing.",
)
@runtime_options
@program_options
def command(*, takes_all: bool, **params: Any) -> int:
    """Stop and remove the pods of -f, or --all, that your probetui has left behind.

    Pods that a running probetui looks after are left to it, and those that another
    user's made unless --all-users is given. Containers that probetui did not create are
    never touched.
    """
    if takes_all == bool(params["filenames"]):
        raise click.UsageError("say which pods: -f FILE or --all")
    # Late: `probetui down --help` and completion need none of it.
    from probetui.cli.removal import remove  # noqa: PLC0415

    return asyncio.run(remove(params))
