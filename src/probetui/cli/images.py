"""`probetui images`: the images that probetui pulled, and their collection."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import click
from click.core import ParameterSource

from probetui.cli.options import (
    docker_options,
    image_table_options,
    program_options,
)
from probetui.cli.parameters import Command, Duration, option

_COLLECTION = "Collection"


class _Images(Command, click.Group):
    """A command with another one below it."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options, then the commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group("images", cls=_Images, invoke_without_command=True)
@image_table_options
@docker_options
@program_options
@click.pass_context
def command(ctx: click.Context, /, **params: Any) -> int:
    """List the images that probetui has pulled, with who uses them.

    An image that was here before, or that somebody else has given a name, is not among
    them or is marked; `probetui images gc` never removes it.
    """
    if ctx.invoked_subcommand is not None:
        _refuse_options_before(ctx)
        return 0
    # Late: `probetui images --help` and completion need none of it.
    from probetui.cli.image_commands import list_images  # noqa: PLC0415

    return asyncio.run(list_images(params))


@command.command("gc", cls=Command)
@option(
    "--dry-run",
    section=_COLLECTION,
    is_flag=True,
    help="Say what would be removed, and remove nothing.",
)
@option(
    "--all",
    "everything",
    section=_COLLECTION,
    is_flag=True,
    help="All that are not in use, however full the disk is.",
)
@option(
    "--high",
    section=_COLLECTION,
    type=click.IntRange(1, 100),
    metavar="PERCENT",
    help="Begin at this use of the disk.  [default: 85]",
)
@option(
    "--low",
    section=_COLLECTION,
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="Go on down to this use of the disk.  [default: 80]",
)
@option(
    "--min-age",
    section=_COLLECTION,
    type=Duration(),
    default=timedelta(minutes=2),
    metavar="DUR",
    help="Leave images alone that were pulled more recently.  [default: 2m]",
)
@option(
    "--max-age",
    section=_COLLECTION,
    type=Duration(),
    default=timedelta(),
    metavar="DUR",
    help="Remove images that were not used for longer, however full the disk is.  "
    "[default: never]",
)
@docker_options
@program_options
def collect(**params: Any) -> int:
    """Remove images that probetui has pulled and nobody uses, as the kubelet would.

    Nothing happens unless the disk with the images is fuller than --high. Then those
    that were not used for longest go first, until --low is reached. An image that any
    container has, dead or alive, stays.
    """
    # Late: `probetui images gc --help` and completion need none of it.
    from probetui.cli.image_commands import collect_images  # noqa: PLC0415

    return asyncio.run(collect_images(params))


def _refuse_options_before(ctx: click.Context) -> None:
    """Refuse options of the list in front of the other command: they would be lost."""
    for each in ctx.command.params:
        given = ctx.get_parameter_source(str(each.name))
        if given is ParameterSource.COMMANDLINE:
            name = max(each.opts, key=len)
            raise click.UsageError(f"{name}: write it after {ctx.invoked_subcommand}")
