"""The configuration file: settings by the names of their options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from probetui.cli.config_files import read_config_file
from probetui.cli.folders import config_file
from probetui.cli.parameters import KeymapSource, Option, nearest
from probetui.errors import ManifestError, UsageError


def load_settings(
    path: Path | None, *, known: Sequence[Option], wanted: Sequence[click.Parameter]
) -> dict[str, Any]:
    """Return the defaults that the configuration file has for a command.

    Args:
        path: a file that must exist; None reads the usual one if it is there.
        known: every setting there is.
        wanted: the command's own options; other settings are checked and left out.

    Raises:
        UsageError: the file cannot be read or is not a mapping.
        ManifestError: keys or values that cannot be used, all of them.
    """
    content = _read(path)
    if content is None:
        return {}
    name, settings = content
    options = {each.key: each for each in known}
    names = {each.name for each in wanted}
    problems, defaults = [], {}
    for key, value in settings.items():
        option = options.get(key)
        if option is None:
            hint = nearest(str(key), list(options))
            problems.append(f'{name}: "{key}" is not a setting{hint}')
        elif problem := _problem(option, value):
            problems.append(f"{name}: {key}: {problem}")
        elif option.name in names:
            defaults[str(option.name)] = value
    if problems:
        raise ManifestError(problems)
    return defaults


def _read(path: Path | None) -> tuple[Path, dict[Any, Any]] | None:
    name = path or config_file()
    if path is None and not name.exists():
        return None
    content = read_config_file(name, f"--config {name}")
    if content is None:
        return None
    if not isinstance(content, dict):
        raise UsageError(f"{name}: is not a mapping of settings to values")
    return name, content


def _problem(option: Option, value: object) -> str:
    """Return what is wrong with a value, empty if nothing is.

    A value is of the kind that YAML makes of it: click reads text, as command lines
    have it, and would take a number for a path, or `true` for a name.
    """
    if value is None:
        return "has no value"
    if unlike := _unlike(option, value):
        return f'"{_as_written(value)}" {unlike}'
    if isinstance(option.type, click.Path) and "\0" in str(value):
        return "is not a path"
    context = click.Context(click.Command("probetui"))
    try:
        option.type_cast_value(context, value)
    except click.BadParameter as error:
        return error.message
    return ""


def _unlike(option: Option, value: object) -> str:
    """Return why a value is of another kind than the setting, empty if it is not."""
    if option.is_flag:
        return "" if isinstance(value, bool) else "is not true or false"
    match option.type:
        case click.Choice() | KeymapSource():
            return ""  # They say themselves what they take.
        case click.IntRange():
            is_number = isinstance(value, int) and not isinstance(value, bool)
            return "" if is_number else "is not a whole number"
        case _:
            return "" if isinstance(value, str) else "is not text; put it in quotes"


def _as_written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
