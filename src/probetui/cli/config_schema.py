"""The JSON Schema of the configuration file, read off the settings there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from probetui.cli.options import ALL_SETTINGS
from probetui.cli.parameters import ByteCount, KeymapSource, Option

JsonSchema = dict[str, Any]

MOST_INTEGER = 2**64 - 1
"""YAML as Kubernetes reads it makes a larger whole number a float."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def config_schema(settings: Sequence[Option] = ALL_SETTINGS) -> JsonSchema:
    """Return the schema; an unknown key is an error there as it is in the program."""
    return {
        "$schema": DIALECT,
        "title": "The configuration of probetui",
        "type": "object",
        "properties": {each.key: _schema_of(each) for each in settings},
        "additionalProperties": False,
    }


def _schema_of(setting: Option) -> JsonSchema:
    schema: JsonSchema = {"description": setting.help or ""}
    if setting.is_flag:
        return schema | {"type": "boolean", "default": False}
    match setting.type:
        case click.Choice(choices=choices):
            schema["enum"] = list(choices)
        case click.IntRange(min=least, max=most):
            schema["type"] = "integer"
            schema |= {} if least is None else {"minimum": least}
            schema["maximum"] = MOST_INTEGER if most is None else most
        case ByteCount():
            schema |= {"type": "string", "pattern": ByteCount.pattern}
        case KeymapSource():
            schema |= _keymap_schema()
        case _:
            schema["type"] = "string"
    if isinstance(setting.default, bool | int | str):
        schema["default"] = setting.default
    return schema


def _keymap_schema() -> JsonSchema:
    """Return the schema of a file of keys, or of keys themselves, action by action."""
    # Late: the table of actions brings the screen's library with it.
    from probetui.tui.actions import ACTIONS  # noqa: PLC0415

    keys = {"type": ["string", "array"], "items": {"type": "string"}}
    return {
        "type": ["string", "object"],
        "properties": {
            each.id: {"description": each.tooltip, **keys, "default": each.keys}
            for each in ACTIONS
        },
        "additionalProperties": False,
    }
