"""`probetui schema`: the formats of probetui's files, for programs."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli.parameters import OneOf
from probetui.cli.printing import print_json


def _record() -> Any:
    # Late, as in the others: each needs what the others do not.
    from probetui.drive.record_schema import record_schema  # noqa: PLC0415

    return record_schema()


def _config() -> Any:
    from probetui.cli.config_schema import config_schema  # noqa: PLC0415

    return config_schema()


def _state() -> Any:
    from probetui.presentation.state_schema import state_schema  # noqa: PLC0415

    return state_schema()


_SCHEMAS = {
    "record": _record,
    "config": _config,
    "state": _state,
}


@click.command("schema")
@click.argument("name", type=OneOf(tuple(_SCHEMAS)), default="record")
def command(name: str) -> int:
    """Print the JSON Schema of a record's line, the configuration, or a state."""
    print_json(_SCHEMAS[name]())
    return 0
