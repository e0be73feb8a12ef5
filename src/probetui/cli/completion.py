"""`probetui completion SHELL`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from probetui.cli.parameters import OneOf
from probetui.cli.printing import print_text


@click.command("completion")
@click.argument("shell", type=OneOf(("bash", "zsh", "fish")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    bash: eval "$(probetui completion bash)" in ~/.bashrc

    zsh: eval "$(probetui completion zsh)" in ~/.zshrc

    fish: probetui completion fish > ~/.config/fish/completions/probetui.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"click does not know {shell}")
    root = ctx.find_root().command
    script = kind(root, {}, "probetui", "_PROBETUI_COMPLETE").source()
    print_text(f"{script}\n")
