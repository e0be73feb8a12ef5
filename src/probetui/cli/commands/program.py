"""Declarations of the commands about the program: schema, completion, version."""

import click

from probetui import __version__
from probetui.cli.parameters import OneOf, OutputForm
from probetui.cli.printing import PRINTERS, print_json, print_line, print_text

_SCHEMAS = ("record", "config", "state", "cases", "why")


_SHELLS = ("bash", "zsh", "fish")


@click.command("schema")
@click.argument("name", type=OneOf(_SCHEMAS), default="record")
def schema(name: str) -> None:
    """Print the JSON Schema of records, settings, a state, test cases or `why`."""
    from probetui.cli.case_files import cases_schema
    from probetui.cli.settings import config_schema
    from probetui.presentation.container.why_report import why_schema
    from probetui.presentation.state_json import state_schema
    from probetui.record.format import record_schema

    schemas = {
        "record": record_schema,
        "config": config_schema,
        "state": state_schema,
        "cases": cases_schema,
        "why": why_schema,
    }
    print_json(schemas[name]())


@click.command("completion")
@click.argument("shell", type=OneOf(_SHELLS), required=False)
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> None:
    """Print the completion script for a shell.

    bash: eval "$(probetui completion bash)" in ~/.bashrc

    zsh: eval "$(probetui completion zsh)" in ~/.zshrc

    fish: probetui completion fish > ~/.config/fish/completions/probetui.fish
    """
    if shell is None:
        raise click.UsageError(f"say which shell: {', '.join(_SHELLS)}")
    # Late: only this command needs it.
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"click does not know {shell}")
    root = ctx.find_root().command
    script = kind(root, {}, "probetui", "_PROBETUI_COMPLETE").source()
    print_text(f"{script}\n")


@click.command("version")
# No group: to import those takes longer than the command does.
@click.option(
    "-o",
    "--output",
    type=OutputForm(("text", "json", "yaml")),
    default="text",
    show_default=True,
    help="Output format.",
)
def version(output: str) -> None:
    """Print the version."""
    if print_value := PRINTERS.get(output):
        print_value({"version": __version__})
    else:
        print_line(f"probetui {__version__}")
