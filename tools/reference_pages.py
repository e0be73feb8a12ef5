"""Generate the parts of `docs/reference/` that come from the program, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from probetui.analysis.causes.pages import PAGES_OF_FINDINGS
from probetui.analysis.findings import FINDING_RULES
from probetui.cli.settings import ALL_SETTINGS, config_schema
from probetui.engine.diagnostics import EXEC_MISSING, REDIRECT
from probetui.kubelet_rules import ROWS, FeatureGate, Rule
from probetui.presentation.tick.marks import ASCII, UNICODE, mark_legend
from probetui.record.format import record_schema
from probetui.tui.actions.action import Action
from probetui.tui.actions.key_labels import GROUPS, key_label
from probetui.tui.actions.table import ACTIONS

Schema = Mapping[str, Any]

_OF_A_RUNNING_CONTAINER = frozenset({EXEC_MISSING, REDIRECT})
_ABOUT_PROBES = frozenset({"host-set", "host-refused"})
_COMMON = ("v", "seq", "ts", "t", "type")
"""The fields of every line of a record."""


def keys() -> Iterator[str]:
    """Yield every action with its keys, in the groups of the help."""
    for group, of_group in groupby(
        sorted(ACTIONS, key=lambda action: list(GROUPS).index(action.group)),
        key=lambda action: action.group,
    ):
        yield from ("", f"## {GROUPS[group].capitalize()}", "")
        yield "| key | what it does | where | typed after `:` | id |"
        yield "|---|---|---|---|---|"
        yield from map(_action, of_group)
    yield from (
        "",
        "## Marks",
        "",
        "| mark | with `--ascii` | meaning |",
        "|---|---|---|",
    )
    for (mark, meaning), (ascii_mark, _) in zip(
        mark_legend(UNICODE), mark_legend(ASCII), strict=True
    ):
        yield _row(mark, ascii_mark, meaning)


def _action(action: Action) -> str:
    pressed = [f"`{key_label(key)}`" for key in action.keys.split(",") if key]
    words = [action.name, *(_argument(argument) for argument in action.arguments)]
    return _row(
        " ".join(pressed),
        action.tooltip,
        ", ".join(context.value for context in action.where),
        f"`{' '.join(words)}`" if action.is_listed else "",
        f"`{action.id}`",
    )


def _argument(argument: Any) -> str:
    name = argument.name.upper()
    return name if argument.is_required else f"[{name}]"


def configuration() -> Iterator[str]:
    """Yield every setting: its three names, its values, its default."""
    schema = config_schema()["properties"]
    for setting in sorted(ALL_SETTINGS, key=lambda setting: setting.key):
        described = schema[setting.key]
        options = ", ".join((*setting.opts, *setting.secondary_opts))
        about, _, default = described["description"].partition("[default: ")
        default = default.removesuffix("]") or _default(described)
        yield from ("", f"### `{setting.key}`", "", about.strip(), "")
        yield f"- Option: `{options}`; variable: `{setting.envvar}`"
        yield f"- Values: {_values(described)}"
        if default:
            yield f"- Default: {default}"


def _default(schema: Schema) -> str:
    default = schema.get("default")
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "" if default is None else f"`{default}`"


def _values(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return "text or a number"
    kind = schema["type"]
    names = [kind] if isinstance(kind, str) else kind
    words = {
        "boolean": "`true`, `false`",
        "string": "text",
        "integer": "a whole number",
        "object": "actions by their ids, with their keys",
    }
    return " or ".join(words[name] for name in names)


def record() -> Iterator[str]:
    """Yield every kind of line of a record, then the values in them."""
    schema = record_schema()
    definitions = schema["$defs"]
    lines = {_name(way): tag for tag, way in schema["discriminator"]["mapping"].items()}
    yield from ("", "## Every line", "")
    yield from _fields(definitions["Session"], _COMMON)
    for name, tag in lines.items():
        yield from ("", f"## `{tag}`", "", _about(definitions[name]), "")
        own = [
            field for field in definitions[name]["properties"] if field not in _COMMON
        ]
        yield from _fields(definitions[name], own)
    yield from ("", "## Values", "")
    for name in sorted(set(definitions) - set(lines)):
        described = definitions[name]
        yield from ("", f"### {name}", "", _about(described), "")
        if "enum" in described:
            yield ", ".join(f"`{value}`" for value in described["enum"])
        else:
            yield from _fields(described, list(described["properties"]))


def _fields(schema: Schema, names: Any) -> Iterator[str]:
    if not names:
        return
    yield "| field | type | | |"
    yield "|---|---|---|---|"
    required = schema.get("required", ())
    for name in names:
        described = schema["properties"][name]
        presence = "" if name in required else "optional"
        about = described.get("description", "")
        yield _row(f"`{name}`", _type(described), presence, about)


def _type(schema: Schema) -> str:
    match schema:
        case {"$ref": way}:
            return f"[{_name(way)}](#{_name(way).lower()})"
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"anyOf": kinds}:
            return " or ".join(map(_type, kinds))
        case {"type": "array", "items": items}:
            return f"list of {_type(items)}"
        case {"type": list(kinds)}:
            return " or ".join(kinds)
        case {"type": kind}:
            return str(kind)
        case _:
            return "any"


def _about(schema: Schema) -> str:
    first: str = schema.get("description", "").partition("\n\n")[0]
    return " ".join(first.split())


def _name(way: str) -> str:
    return way.rpartition("/")[2]


def findings() -> Iterator[str]:
    """Yield every finding under its name, which is a link target."""
    for title, is_in in (
        ("About probes", lambda name: not _is_host_access(name)),
        ("About what a pod may do to this machine", _is_host_access),
    ):
        yield from ("", f"## {title}")
        for name, rule in FINDING_RULES.items():
            if is_in(name):
                where = (
                    "a session and `probe`, once the probe has run"
                    if name in _OF_A_RUNNING_CONTAINER
                    else "`check`, before anything runs"
                )
                yield from ("", f"### {name}", "", rule.about, "")
                yield f"- What to do: {rule.advice}"
                yield f"- Severity: {rule.severity.value}; found by {where}"
                if page := PAGES_OF_FINDINGS.get(name):
                    yield f"- What comes of it: [{page}](../causes/{page}.md)"


def _is_host_access(name: str) -> bool:
    return name.startswith("host-") and name not in _ABOUT_PROBES


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def versions() -> Iterator[str]:
    """Generate the rules of docs/VERSIONS.md."""
    yield ""
    yield "## The rules"
    yield ""
    yield "| field | what one sees | release | gate | shown by | not known |"
    yield "|---|---|---|---|---|---|"
    for field, row in ROWS.items():
        cells = (
            f"`{field}`",
            row.about,
            "; ".join(_changes(row)) or "-",
            "" if row.gate is None else _gate(row.gate),
            row.source,
            row.doubt,
        )
        yield _row(*cells)


def _changes(row: Rule) -> Iterator[str]:
    """Yield the releases at which the value of a rule changes."""
    for release, value in row.changes:
        name = release.short
        if isinstance(value, bool):
            name = f"{'from' if value else 'until before'} {name}"
        yield name


def _gate(gate: FeatureGate) -> str:
    first, last = gate.versions[0], gate.versions[-1]
    end = f" to {last}" if gate.last and last != first else ""
    since = "" if gate.last else " on"
    return f"`{gate.name}` ({first}{end}{since})"
