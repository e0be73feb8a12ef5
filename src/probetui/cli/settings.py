"""The configuration file: read, checked against the settings, and its JSON Schema.

A setting has the name of its option.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from probetui.cli.files import read_file
from probetui.cli.folders import config_file
from probetui.cli.option_groups import options_of
from probetui.cli.options import (
    AutosaveOptions,
    CommonSessionOptions,
    EngineOptions,
    PodOptions,
    RunningOptions,
)
from probetui.cli.parameters import (
    ByteCount,
    Duration,
    KeymapSource,
    KubeletVersion,
    Option,
)
from probetui.errors import ManifestError, UsageError
from probetui.kubelet_rules import VERSIONS
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapNode,
    ScalarNode,
    YamlNode,
    is_null,
)
from probetui.manifest.yaml.parser import parse_yaml
from probetui.suggestions import nearest_hint

JsonSchema = dict[str, Any]

_GROUPS = (
    PodOptions,
    EngineOptions,
    RunningOptions,
    AutosaveOptions,
    CommonSessionOptions,
)
_OPTIONS = dict.fromkeys(option for kind in _GROUPS for option in options_of(kind))
ALL_SETTINGS = tuple(option for option in reversed(_OPTIONS) if option.is_setting)
"""All settings, in the order of the JSON Schema."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def load_settings(
    path: Path | None,
    *,
    known: Sequence[Option] = ALL_SETTINGS,
    wanted: Sequence[click.Parameter],
) -> dict[str, Any]:
    """Return the defaults that the configuration file has for a command.

    A value is taken as it is written, as the same text on the command line or in the
    environment: `kubelet: 1.20` is no number there.

    Args:
        path: a file that must exist; None reads the usual one if it is there.
        known: every setting there is.
        wanted: the command's own options; other settings are checked and left out.

    Raises:
        UsageError: the file cannot be read or is not a mapping.
        ManifestError: keys or values that cannot be used, all of them.
    """
    name = path or config_file()
    if path is None and not name.exists():
        return {}
    root = _read_root(name, f"--config {name}")
    if root is None or is_null(root):
        return {}
    if not isinstance(root, MapNode):
        raise UsageError(f"{root.position}: is not a mapping of settings to values")
    options = {option.key: option for option in known}
    names = {parameter.name for parameter in wanted}
    problems, defaults = [], {}
    for entry in root.entries:
        option = options.get(entry.key)
        if option is None:
            hint = nearest_hint(entry.key, options)
            problems.append(f'{entry.position}: "{entry.key}" is not a setting{hint}')
            continue
        value = _as_written(entry.value)
        if problem := _problem(option, value):
            problems.append(f"{entry.position}: {entry.key}: {problem}")
        elif option.name in names:
            defaults[str(option.name)] = value
    if problems:
        raise ManifestError(problems)
    return defaults


def _as_written(node: YamlNode) -> object:
    if isinstance(node, ScalarNode) and node.value is not None:
        return node.text
    return _value_of(node)


def _problem(option: Option, value: object) -> str:
    """Return what is wrong with a value, empty if nothing is."""
    if value is None:
        return "has no value"
    if isinstance(value, list | dict) and not isinstance(option.type, KeymapSource):
        return f"is a {'list' if isinstance(value, list) else 'mapping'}, not a value"
    if isinstance(option.type, click.Path) and "\0" in str(value):
        return "is not a path"
    context = click.Context(click.Command("probetui"))
    try:
        option.type_cast_value(context, value)
    except click.BadParameter as error:
        return error.message.rstrip(".")
    return ""


def read_config_file(path: Path) -> object:
    """Return what a YAML file says, None if it says nothing.

    It is read as manifests are, with the same limits.

    Args:
        path: the file.

    Raises:
        UsageError: it cannot be read, is no YAML, goes beyond a limit, or has more
            than one document.
    """
    root = _read_root(path)
    return None if root is None else _value_of(root)


def _read_root(path: Path, label: str = "") -> YamlNode | None:
    try:
        source = read_file(path)
    except OSError as error:
        raise UsageError(f"{label or path}: {error.strerror or error}") from error
    parsed = parse_yaml(source)
    if parsed.problems:
        problem = parsed.problems[0]
        raise UsageError(f"{problem.position}: {problem.message}")
    roots = [document.root for document in parsed.documents]
    if len(roots) > 1:
        raise UsageError(f"{roots[1].position}: a second document; only one is allowed")
    return roots[0] if roots else None


def _value_of(node: YamlNode) -> object:
    match node:
        case ScalarNode(value=bool(), text="y" | "Y" | "n" | "N" as key):
            # Kubernetes takes them for true and false; here they are keys to press.
            return key
        case ScalarNode(value=value):
            return value
        case ListNode(items=items):
            return [_value_of(item) for item in items]
        case MapNode(entries=entries):
            return {entry.key: _value_of(entry.value) for entry in entries}


def config_schema(settings: Sequence[Option] = ALL_SETTINGS) -> JsonSchema:
    """Return the schema; an unknown key is an error there as it is in the program."""
    return {
        "$schema": DIALECT,
        "title": "The configuration of probetui",
        "type": "object",
        "properties": {setting.key: _schema_of(setting) for setting in settings},
        "additionalProperties": False,
    }


def _schema_of(setting: Option) -> JsonSchema:
    schema: JsonSchema = {"description": setting.help or ""}
    if setting.is_flag:
        return schema | {"type": "boolean", "default": setting.default is True}
    match setting.type:
        case click.Choice(choices=choices):
            schema["enum"] = list(choices)
        case click.IntRange(min=least, max=most):
            schema["type"] = "integer"
            schema |= {} if least is None else {"minimum": least}
            schema |= {} if most is None else {"maximum": most}
        case KubeletVersion():
            schema["anyOf"] = _version_schemas()
        case Duration():
            schema |= {"type": ["string", "integer"], "pattern": Duration.pattern}
            schema |= {"minimum": 0, "maximum": 10**8 - 1}
        case ByteCount():
            schema |= {"type": ["string", "integer"], "pattern": ByteCount.pattern}
            schema |= {"minimum": 0, "maximum": 10**15 - 1}
        case KeymapSource():
            schema |= _keymap_schema()
        case _:
            schema["type"] = "string"
    if isinstance(setting.default, bool | int | str):
        schema["default"] = setting.default
    return schema


def _version_schemas() -> list[JsonSchema]:
    minors = "|".join(version.removeprefix("1.") for version in VERSIONS)
    # To JSON the number 1.20 is 1.2, so quotes are advised for it.
    numbers = [float(version) for version in VERSIONS if not version.endswith("0")]
    return [
        {"type": "string", "pattern": rf"^v?1\.({minors})(\.[0-9]{{1,4}})?$"},
        {"enum": numbers},
    ]


def _keymap_schema() -> JsonSchema:
    """Return the schema of a file of keys, or of keys themselves, action by action."""
    # Late: the table of actions imports the screen's library.
    from probetui.tui.actions.table import ACTIONS

    keys = {"type": ["string", "array"], "items": {"type": "string"}}
    return {
        "type": ["string", "object"],
        "properties": {
            action.id: {"description": action.tooltip, **keys, "default": action.keys}
            for action in ACTIONS
        },
        "additionalProperties": False,
    }
