"""The command line: which command, and what becomes of what it raises.

`--help`, `version` and completion import nothing but click. A command's module is
imported when that command is meant.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import click

from probetui import __version__
from probetui.cli import collector
from probetui.cli.greeting import greet
from probetui.cli.parameters import nearest
from probetui.cli.printing import print_notice
from probetui.errors import ManifestError, ProbetuiError

_USAGE = 2
_ERROR = "error"
_INTERRUPTED = 130
_PIPE_CLOSED = 141
_COMPLETE_VARIABLE = "_PROBETUI_COMPLETE"


class _Entry(NamedTuple):
    """Where a command is, and its line in the help text."""

    module: str
    help: str


COMMANDS = {
    "run": _Entry("run", "Run the pods of -f and probe them (the default)."),
    "attach": _Entry("attach", "Probe containers that exist already; touch nothing."),
    "check": _Entry("check", "Check manifests, and their probes for what is unwise."),
    "explain": _Entry("explain", "Say what probes come to, in words and numbers."),
    "probe": _Entry("probe", "Run one probe once and print what came of it."),
    "exec": _Entry("exec_", "Run a command where a plain process of a pod runs."),
    "sim": _Entry("sim", "Simulate pods by a script, on a clock of its own."),
    "replay": _Entry("replay", "Play a session's record again; the last one's."),
    "demo": _Entry("demo", "Run a built-in lesson; needs no engine and no files."),
    "why": _Entry("why", "Say what killed containers, from a session's record."),
    "ls": _Entry("ls", "List the pods that probetui has left or is running."),
    "down": _Entry("down", "Stop and remove them."),
    "images": _Entry("images", "List the images that probetui pulled; collect them."),
    "info": _Entry("info", "Print versions, runtimes found, folders, the terminal."),
    "schema": _Entry("schema", "Print the JSON Schema of records or of settings."),
    "completion": _Entry("completion", "Print the completion script for a shell."),
    "version": _Entry("version", "Print the version."),
}


class _Commands(click.Group):
    """The commands, imported one at a time; `run` is meant where none is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's
        """Return the names in the order of the help text."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  # click hands it over
        cmd_name: str,
    ) -> click.Command | None:
        """Return a command, or None for a name that is none."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = import_module(f"probetui.cli.{entry.module}")
        command: click.Command = module.command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put in `run` before options that are not the program's own."""
        own = {"--help", "-h", "--version"}
        if args and args[0].startswith("-") and args[0] not in own:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; of a file, say how to run it."""
        name = args[0]
        if name not in COMMANDS:
            hint = nearest(name, list(COMMANDS))
            if Path(name).exists():
                hint = f"; to run it: probetui -f {name}"
            known = ", ".join(COMMANDS)
            raise click.UsageError(f'"{name}" is not one of {known}{hint}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  # click hands it over
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.help) for name, each in COMMANDS.items()])


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
    epilog="Every setting of a command may also be given as PROBETUI_NAME in the "
    "environment or as name: in the configuration file.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def group(ctx: click.Context) -> int:
    """Run pods without a cluster and watch their probes as the kubelet sees them."""
    return greet() if ctx.invoked_subcommand is None else 0


def main() -> None:
    """Run the program and exit with its status."""
    _open_closed_streams()
    if _COMPLETE_VARIABLE in os.environ:
        group.main(prog_name="probetui", complete_var=_COMPLETE_VARIABLE)
    collector.hold_off()
    status = run(sys.argv[1:])
    sys.exit(_flush(status))


def run(args: Sequence[str]) -> int:
    """Run a command line and return the exit status; nothing is raised."""
    try:
        with group.make_context("probetui", list(args)) as ctx:
            status = group.invoke(ctx)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return _tell([(_ERROR, _usage_line(error))], _USAGE)
    except ProbetuiError as error:
        return _tell(_lines(error), error.exit_status)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return _PIPE_CLOSED
    except Exception as error:  # noqa: BLE001  # a bug is reported, never lost
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return _tell([(_ERROR, _disk_line(error))], _USAGE)
        # Late: nobody but a crash needs it.
        from probetui.cli.crash import report_crash  # noqa: PLC0415

        return report_crash(error, args)
    return int(status or 0)


_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}


def _disk_line(error: OSError) -> str:
    """Say what could not be written: that is no bug."""
    where = f"{error.filename}: " if error.filename else "cannot write: "
    return f"{where}{error.strerror or error}"


def _lines(error: ProbetuiError) -> list[tuple[str, str]]:
    if not isinstance(error, ManifestError):
        return [(_ERROR, str(error))]
    count = len(error.problems)
    plural = "" if count == 1 else "s"
    return [*error.told, (_ERROR, f"{count} error{plural}, nothing was started")]


def _tell(lines: Sequence[tuple[str, str]], status: int) -> int:
    """Tell each line after the word for how bad it is."""
    for word, line in lines:
        print_notice(word, line)
    return status


def _usage_line(error: click.ClickException) -> str:
    match error:
        case click.BadParameter(param=click.Parameter() as parameter):
            name = max(parameter.opts, key=len)
            return f"{name}: {error.message}"
        case click.NoSuchOption(possibilities=list() as near) if near:
            return f'"{error.option_name}" is not an option (nearest: {near[0]})'
        case click.NoSuchOption():
            return f'"{error.option_name}" is not an option'
        case _:
            return error.format_message().rstrip(".")


def _open_closed_streams() -> None:
    """Put nothing behind descriptors that were closed before we began.

    The next file to be opened would get their numbers, and output with it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115  # open to the end


def _flush(status: int) -> int:
    """Write out what is left; return the exit status, another one if that failed.

    A terminal that was closed meanwhile is no pipe that was: SIGHUP tells of it.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            return _PIPE_CLOSED
        return status if error.errno == errno.EIO else status or _USAGE
    return status
