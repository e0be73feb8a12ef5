"""Declarations of the commands on saved sessions: sessions, and what it does to one."""

import click

from probetui.cli import completions
from probetui.cli.commands.sessions import ReplayOptions
from probetui.cli.option_groups import takes_options
from probetui.cli.options import ProgramOptions, RecordOptions, TableOptions
from probetui.cli.parameters import (
    GroupWithOptions,
    SectionedCommand,
    examples,
    refuse_options_before_subcommand,
)

_name_argument = click.argument("name", shell_complete=completions.complete_sessions)
_names_argument = click.argument(
    "names",
    nargs=-1,
    required=True,
    metavar="NAME...",
    shell_complete=completions.complete_sessions,
)


class SavedSessionsOptions(RecordOptions, TableOptions, ProgramOptions):
    """The options of `sessions`."""


@click.group(
    "sessions",
    cls=GroupWithOptions,
    invoke_without_command=True,
    epilog=examples(
        "probetui sessions",
        "probetui sessions open 20261129-1115",
        "probetui sessions keep last",
        "probetui sessions rm 20261129-111544-7b99ecc2",
    ),
)
@click.pass_context
@takes_options
def sessions(ctx: click.Context, options: SavedSessionsOptions) -> int:
    """List the saved sessions, the newest first.

    LENGTH is the time of the session, which in a simulation is not that of the clock;
    KILLS are those by probes. STATE is `last` for the one that commands without a file
    read, `running` while it is being written, and `kept`.
    """
    if ctx.invoked_subcommand is not None:
        refuse_options_before_subcommand(ctx)
        return 0
    from probetui.cli.commands.saved_report import list_sessions

    return list_sessions(options)


@sessions.command("open", cls=SectionedCommand)
@_name_argument
@takes_options
def open_(name: str, options: ReplayOptions) -> int:
    """Replay the saved session NAME, as `probetui replay` does.

    NAME is one of `probetui sessions` or its beginning, or `last`.
    """
    from probetui.cli.commands.saved_report import path_to_open
    from probetui.cli.session.playback import replay_record

    return replay_record(path_to_open(name), options)


@sessions.command("keep", cls=SectionedCommand)
@_names_argument
@takes_options
def keep(names: tuple[str, ...], options: ProgramOptions) -> int:
    """Keep saved sessions: they stay when the oldest are removed.

    NAME is one of `probetui sessions` or its beginning, or `last`. What is kept does
    not count towards --autosave-limit.
    """
    del options
    from probetui.cli.commands.saved_report import keep_sessions

    return keep_sessions(names)


@sessions.command("rm", cls=SectionedCommand)
@_names_argument
@takes_options
def remove(names: tuple[str, ...], options: ProgramOptions) -> int:
    """Remove saved sessions, kept or not.

    NAME is one of `probetui sessions` or its beginning, or `last`. One that is running
    is left, and so is a file that is no record; the status is 1 then.
    """
    del options
    from probetui.cli.commands.saved_report import remove_sessions

    return remove_sessions(names)
