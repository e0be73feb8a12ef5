"""The command line: finds the command, runs it, reports its errors.

The module that declares a command is imported when that command is given.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from probetui import __version__
from probetui.cli.printing import print_notice, print_short_help
from probetui.errors import ManifestError, ProbetuiError
from probetui.suggestions import nearest_hint

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_USAGE = 2
_ERROR = "error"
_INTERRUPTED = 130
_PIPE_CLOSED = 141
_NAME_WIDTH = 10
_COMPLETE_VARIABLE = "_PROBETUI_COMPLETE"


class CommandEntry(NamedTuple):
    """Where a command is declared in `commands`, and its line in the help text."""

    declaration: str
    help: str

    def load(self) -> click.Command:
        """Import the declaration of the command and return it."""
        module, _, name = self.declaration.partition(":")
        commands = import_module(f"probetui.cli.commands.{module}")
        command: click.Command = getattr(commands, name)
        return command


COMMANDS_BY_JOB = {
    "Run and watch": {
        "run": CommandEntry(
            "sessions:run", "Run the pods of -f and probe them (the default)."
        ),
        "attach": CommandEntry(
            "sessions:attach", "Probe containers that already exist; change nothing."
        ),
        "sim": CommandEntry(
            "sessions:sim", "Simulate pods on virtual time, with a script."
        ),
        "demo": CommandEntry(
            "sessions:demo", "Run a built-in lesson; needs no engine and no files."
        ),
        "replay": CommandEntry(
            "sessions:replay", "Replay the record of a session; by default the last."
        ),
        "probe": CommandEntry(
            "inspection:probe", "Run one probe once and print its result."
        ),
    },
    "Understand": {
        "why": CommandEntry(
            "inspection:why", "Explain why containers were killed or are not ready."
        ),
        "report": CommandEntry(
            "inspection:report", "Write a session as one HTML page, which is a record."
        ),
        "export": CommandEntry(
            "exports:export", "Write a record in the format of another viewer."
        ),
        "explain": CommandEntry(
            "inspection:explain", "Explain probe settings and the timing that follows."
        ),
        "versions": CommandEntry(
            "inspection:versions", "Compare what versions of the kubelet do with pods."
        ),
    },
    "Decide and test": {
        "check": CommandEntry(
            "inspection:check", "Validate manifests, and check probes for bad practice."
        ),
        "test": CommandEntry(
            "testing:test", "Test pods: ready in time, restarted after a crash; for CI."
        ),
        "diff": CommandEntry(
            "difference:diff", "Say what a change of manifests does to containers."
        ),
        "rules": CommandEntry(
            "alert_rules:rules", "Print alert rules for the probes, with tests of them."
        ),
        "whatif": CommandEntry(
            "what_if:whatif", "Rerun a record under other probe settings or versions."
        ),
        "fit": CommandEntry(
            "what_if:fit", "Find probe settings from what records measured."
        ),
    },
    "Cluster": {
        "watch": CommandEntry(
            "clusters:watch",
            "Watch the probes of a Kubernetes cluster's pods; read-only.",
        ),
        "fleet": CommandEntry(
            "fleet:fleet", "List whose probes hurt, by what a Prometheus has kept."
        ),
        "node": CommandEntry(
            "node:node", "Be a node of a cluster: run the pods that it assigns to us."
        ),
        "serve": CommandEntry(
            "serve:serve", "Run pods and show them to kubectl as a read-only API."
        ),
    },
    "Housekeeping": {
        "sessions": CommandEntry(
            "saved:sessions", "List the saved sessions; open, keep or remove them."
        ),
        "ls": CommandEntry(
            "management:ls", "List the pods that probetui runs or has left behind."
        ),
        "logs": CommandEntry(
            "management:logs", "Print what a container of a pod has printed."
        ),
        "exec": CommandEntry(
            "management:exec_", "Run a command in a container of a pod."
        ),
        "down": CommandEntry(
            "management:down", "Stop and remove pods that were left behind."
        ),
        "images": CommandEntry(
            "management:images",
            "List the images that probetui pulled; remove unused ones.",
        ),
        "info": CommandEntry(
            "management:info", "Print versions, detected runtimes, folders, terminal."
        ),
        "schema": CommandEntry(
            "program:schema", "Print the JSON Schema of records or of settings."
        ),
        "completion": CommandEntry(
            "program:completion", "Print the completion script for a shell."
        ),
        "version": CommandEntry("program:version", "Print the version."),
    },
}

COMMANDS = {
    name: entry
    for commands in COMMANDS_BY_JOB.values()
    for name, entry in commands.items()
}


class _Commands(click.Group):
    """The commands, imported one at a time; `run` is the default."""

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
        return entry.load()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `run` before its options and files; `help NAME` is `NAME --help`."""
        own = {"--help", "-h", "--version"}
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        elif args and args[0] not in own and _belongs_to_run(args[0]):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for another tool's command, say what to type here."""
        name = args[0]
        if name not in COMMANDS:
            from probetui.cli.usage_hints import hint_for_command

            if here := hint_for_command(name):
                raise click.UsageError(
                    f'"{name}" is not a command of probetui: {here}', ctx
                )
            hint = nearest_hint(name, COMMANDS)
            raise click.UsageError(
                f'"{name}" is not a command{hint}; `probetui --help` lists them', ctx
            )
        return super().resolve_command(ctx, args)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the commands without importing any; then the options."""
        # Late: of the program, completion alone needs it.
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=command.help)
            for name, command in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write `-f`, which belongs to `run`, before the options of the program."""
        own = [parameter.get_help_record(ctx) for parameter in self.get_params(ctx)]
        pods = ("-f FILE", "Run the pods of FILE: short for run -f FILE.")
        with formatter.section("Options"):
            formatter.write_dl([pods, *(row for row in own if row is not None)])
        self.format_commands(ctx, formatter)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  # click hands it over
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the commands without importing any."""
        for job, commands in COMMANDS_BY_JOB.items():
            with formatter.section(job):
                # Padded, so that each section has its texts in the same column.
                formatter.write_dl(
                    [
                        (name.ljust(_NAME_WIDTH), command.help)
                        for name, command in commands.items()
                    ]
                )


def _belongs_to_run(word: str) -> bool:
    """Return whether the first word is an option or a file of `run`."""
    if word.startswith("-"):
        return True
    if word in COMMANDS:
        return False
    from probetui.cli.usage_hints import hint_for_command, is_filename

    if hint_for_command(word):
        return False
    is_there = os.path.exists(word)  # noqa: PTH110  # pathlib is dear to import
    return is_there or is_filename(word)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
    epilog="\b\nExamples:\n"
    "  probetui demo\n"
    "  probetui -f pod.yaml\n"
    "  probetui -f pod.yaml --until ready --timeout 90s\n\n"
    "Every setting of a command may also be given as PROBETUI_NAME in the "
    "environment or as name: in the configuration file.",
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def group(ctx: click.Context) -> int:
    """Run pods without a cluster and watch their probes as the kubelet sees them."""
    return print_short_help() if ctx.invoked_subcommand is None else 0


def main() -> None:
    """Run the program and exit with its status."""
    _open_closed_streams()
    if _COMPLETE_VARIABLE in os.environ:
        group.main(prog_name="probetui", complete_var=_COMPLETE_VARIABLE)
    status = run(sys.argv[1:])
    sys.exit(_flush(status))


def main_of_plugin() -> None:
    """Run `kubectl probetui`: with an option or a pod alone it is `watch`."""
    sys.argv[1:] = _words_of_plugin(sys.argv[1:])
    main()


def complete_for_kubectl() -> None:
    """Print what may follow `kubectl probetui WORD...`; the last word is unfinished."""
    _open_closed_streams()
    *before, incomplete = sys.argv[1:] or [""]
    # The first word is a command yet to be finished, unless it is an option.
    is_first_word = not before and not incomplete.startswith("-")
    words = [] if is_first_word else _words_of_plugin(before)
    from probetui.cli.completions import print_for_kubectl

    print_for_kubectl(group, words, incomplete)
    sys.exit(_flush(0))


def _words_of_plugin(words: list[str]) -> list[str]:
    if words and (words[0] in COMMANDS or words[0] in _HELP):
        return words
    return ["watch", *words]


_HELP = {"-h", "--help", "--version"}


def run(args: Sequence[str]) -> int:
    """Run a command line and return the exit status; nothing is raised."""
    try:
        with group.make_context("probetui", list(args)) as ctx:
            status = group.invoke(ctx)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return _print_errors([(_ERROR, _usage_line(error))], _USAGE)
    except ProbetuiError as error:
        lines = _lines(error)
        if words := _command_behind_options(lines, args):
            lines = [(_ERROR, words)]
        return _print_errors(lines, error.exit_status)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return _PIPE_CLOSED
    except Exception as error:  # noqa: BLE001  # a bug is reported, never lost
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return _print_errors([(_ERROR, _disk_line(error))], _USAGE)
        from probetui.cli.log import report_crash

        return report_crash(error, args)
    return int(status or 0)


_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}


def _disk_line(error: OSError) -> str:
    """Return what could not be written; a full disk is no bug."""
    where = f"{error.filename}: " if error.filename else "cannot write: "
    return f"{where}{error.strerror or error}"


def _lines(error: ProbetuiError) -> list[tuple[str, str]]:
    if not isinstance(error, ManifestError):
        return [(_ERROR, str(error))]
    count = len(error.problems)
    plural = "" if count == 1 else "s"
    return [*error.lines, (_ERROR, f"{count} error{plural}, {error.consequence}")]


def _print_errors(lines: Sequence[tuple[str, str]], status: int) -> int:
    """Print lines, each after the word for its severity; return the status."""
    for word, line in lines:
        print_notice(word, line)
    return status


def _usage_line(error: click.ClickException) -> str:
    from probetui.cli.usage_hints import hint_for_option

    match error:
        case click.MissingParameter():
            return error.format_message().rstrip(".")
        case click.BadParameter(param=click.Parameter() as parameter):
            return _given_as(parameter, error.ctx) + error.message.rstrip(".")
        case click.NoSuchOption() if here := hint_for_option(error.option_name):
            return f'"{error.option_name}" is not an option of probetui: {here}'
        case click.NoSuchOption(possibilities=list() as near) if near:
            return f'"{error.option_name}" is not an option (nearest: {near[0]})'
        case click.NoSuchOption():
            return f'"{error.option_name}" is not an option'
        case _:
            return error.format_message().rstrip(".")


def _given_as(parameter: click.Parameter, ctx: click.Context | None) -> str:
    """Return the option or the variable that it was given by, and a colon.

    An argument has no name that people type.
    """
    if isinstance(parameter, click.Argument):
        return ""
    source = ctx and ctx.get_parameter_source(str(parameter.name))
    if source is ParameterSource.ENVIRONMENT and isinstance(parameter.envvar, str):
        return f"{parameter.envvar}: "
    return f"{option_name(parameter)}: "


def option_name(parameter: click.Parameter) -> str:
    """Return an option's first long name, its short one where it has no other."""
    names = (name for name in parameter.opts if name.startswith("--"))
    return next(names, parameter.opts[0])


def _command_behind_options(
    lines: Sequence[tuple[str, str]], args: Sequence[str]
) -> str:
    """Return what to type where a command stands behind its options; else nothing.

    There it is taken for a file, which is not there.
    """
    missing = {line.partition(": No such file")[0] for _, line in lines}
    behind = [place for place, word in enumerate(args) if word in COMMANDS]
    at = next((place for place in behind if args[place] in missing), 0)
    if not at or not args[0].startswith("-"):
        return ""
    # Late: only this error needs it.
    import shlex

    typed = shlex.join(["probetui", args[at], *args[:at], *args[at + 1 :]])
    return f"the command comes first: {typed}"


def _open_closed_streams() -> None:
    """Open /dev/null for standard streams that were closed before the start.

    Otherwise the next file to be opened would get their descriptors, and output.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115  # open to the end


def _flush(status: int) -> int:
    """Flush standard output; return the exit status, another one if that fails.

    If the terminal was closed, which SIGHUP reports, the status stays.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes again at exit, and would print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            return _PIPE_CLOSED
        return status if error.errno == errno.EIO else status or _USAGE
    return status
