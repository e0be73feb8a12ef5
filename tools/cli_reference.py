"""Generate the reference pages from the program: `python -m tools.cli_reference`.

Every page begins with a part that is written by hand and ends at `MARKER`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
from tools import reference_pages

from probetui.cli.main import COMMANDS, group
from probetui.cli.parameters import SHOWS_ALL
from probetui.cli.settings import ALL_SETTINGS

DOCS = Path(__file__).parents[1] / "docs"
DOCUMENT = DOCS / "CLI.md"
MARKER = "<!-- Below here: python -m tools.cli_reference -->\n"
_WIDTH = 100


def _reference() -> Iterator[str]:
    yield from ("", "## Settings", "", *_settings(), "", *_commands())


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
    ctx.meta[SHOWS_ALL] = True
    yield ""
    yield f"### `probetui {name}`"
    yield ""
    yield "```text"
    yield from (line.rstrip() for line in command.get_help(ctx).splitlines())
    yield "```"
    if isinstance(command, click.Group):
        for own, below in command.commands.items():
            yield from _command(f"{name} {own}", below)


PAGES: Mapping[Path, Callable[[], Iterator[str]]] = {
    DOCUMENT: _reference,
    DOCS / "VERSIONS.md": reference_pages.versions,
    DOCS / "reference" / "configuration.md": reference_pages.configuration,
    DOCS / "reference" / "findings.md": reference_pages.findings,
    DOCS / "reference" / "keys.md": reference_pages.keys,
    DOCS / "reference" / "record.md": reference_pages.record,
}
"""The functions that generate the second part of every page."""


def document(page: Path) -> str:
    """Return a page with its generated part up to date."""
    by_hand = page.read_text(encoding="utf-8").partition(MARKER)[0]
    written = "\n".join(PAGES[page]()).rstrip()
    return f"{by_hand}{MARKER}{written}\n"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(document(page), encoding="utf-8")
