"""`probetui schema`: the formats of probetui's files, for programs."""

from __future__ import annotations

import json

import click

from probetui.cli.parameters import OneOf


@click.command("schema")
@click.argument("name", type=OneOf(("record", "config")), default="record")
def command(name: str) -> int:
    """Print the JSON Schema of a line of a record, or of the configuration file."""
    # Late: each needs what the other does not.
    if name == "config":
        from probetui.cli.config_schema import config_schema  # noqa: PLC0415

        schema = config_schema()
    else:
        from probetui.drive.record_schema import record_schema  # noqa: PLC0415

        schema = record_schema()
    click.echo(json.dumps(schema, indent=2))
    return 0
