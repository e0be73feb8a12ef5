"""Write the reference in docs/CLI.md: `python -m tools.cli_reference`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from probetui.cli.main import COMMANDS, group
from probetui.cli.options import ALL_SETTINGS

DOCUMENT = Path(__file__).parents[1] / "docs" / "CLI.md"
MARKER = "<!-- Below here: python -m tools.cli_reference -->\n"
_WIDTH = 100


def reference() -> str:
    """Return the settings and the help texts of all commands as Markdown."""
    return (
        "\n".join(("", "## Settings", "", *_settings(), "", *_commands())).rstrip()
        + "\n"
    )


def _settings() -> Iterator[str]:
    yield "| on the command line | in the environment | in the configuration file |"
    yield "|---|---|---|"
    for setting in sorted(ALL_SETTINGS, key=lambda setting: setting.key):
        names = ", ".join((*setting.opts, *setting.secondary_opts))
        yield f"| `{names}` | `{setting.envvar}` | `{setting.key}` |"


def _commands() -> Iterator[str]:
    yield "## Commands"
    for name, entry in COMMANDS.items():
        yield from _command(name, entry.load())


def _command(name: str, command: click.Command) -> Iterator[str]:
    root = click.Context(group, info_name="probetui", terminal_width=_WIDTH)
    parent = root
    *above, last = name.split()
    for part in above:
        parent = click.Context(group, parent=parent, info_name=part)
    ctx = click.Context(
        command,
        parent=parent,
        info_name=last,
        terminal_width=_WIDTH,
        help_option_names=["-h", "--help"],
    )
    yield ""
    yield f"### `probetui {name}`"
    yield ""
    yield "```text"
    yield from (line.rstrip() for line in command.get_help(ctx).splitlines())
    yield "```"
    if isinstance(command, click.Group):
        for own, below in command.commands.items():
            yield from _command(f"{name} {own}", below)


def document() -> str:
    """Return the document with the reference as it is now."""
    contract = DOCUMENT.read_text(encoding="utf-8").partition(MARKER)[0]
    return f"{contract}{MARKER}{reference()}"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
