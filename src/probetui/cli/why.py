"""`probetui why`: what ended the containers of a session, from its record."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli.options import program_options
from probetui.cli.parameters import Command, examples


@click.command(
    "why",
    cls=Command,
    epilog=examples(
        "probetui why",
        "probetui why session.jsonl shop/web",
    ),
)
@click.argument("arguments", nargs=-1, metavar="[FILE.jsonl] [POD/CONTAINER]")
@program_options
def command(**params: Any) -> int:
    """Say why containers were killed, and why they waited, tick by tick.

    It reads the record of a session, that of the last one if no file is named, and
    tells of the containers that ended, or of the one that is named.
    """
    # Late: `probetui why --help` and completion need none of it.
    from probetui.cli.why_report import print_report  # noqa: PLC0415

    return print_report(params["arguments"])
