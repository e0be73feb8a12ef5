"""Declarations of the commands on this machine: ls, down, exec, info, images."""

from datetime import timedelta
from typing import Annotated

import click

from probetui.cli.option_groups import Opt, OptionGroup, takes_options
from probetui.cli.options import (
    DockerEndpointOptions,
    EngineOptions,
    FilenameOptions,
    ListedNamespace,
    ProgramOptions,
    Selector,
    TableOptions,
    TextOptions,
    VersionOptions,
    output_forms,
    takes_files_among,
)
from probetui.cli.parameters import (
    GroupWithOptions,
    SectionedCommand,
    WholeNumber,
    examples,
    refuse_options_before_subcommand,
)

_names_argument = click.argument("names", nargs=-1, metavar="[NAME]...")


class ListedPods(OptionGroup):
    """Which pods are meant, by where they are and by their labels."""

    namespace: ListedNamespace = None
    selector: Selector = None


class ListingChoices(ListedPods, section="Pods"):
    """Which pods are listed, and for how long."""

    all_namespaces: Annotated[
        bool, Opt("-A", help="Pods of all namespaces, as without -n.")
    ] = False
    watch: Annotated[bool, Opt("-w", help="Print the rows that change, until ^C.")] = (
        False
    )


class ListOptions(ListingChoices, TableOptions, EngineOptions, ProgramOptions):
    """The options of `ls`."""


@click.command(
    "ls",
    cls=SectionedCommand,
    epilog=examples(
        "probetui ls",
        "probetui ls -l app=web --runtime docker -o json",
    ),
)
@_names_argument
@takes_options
def ls(names: tuple[str, ...], options: ListOptions) -> int:
    """List the pods that probetui runs or has left behind, on every runtime.

    NAME is a pod, or NAMESPACE/POD; without it and without -l, all of them.

    PROBES are the failing probes of a pod that a session runs, with the failures in a
    row and the threshold; -o json and yaml have its whole state, as `probetui schema
    state` describes it. RUN-BY is the process that runs a pod; a pod without one is
    removed by `probetui down` and taken over by `probetui run` of the same manifest.
    """
    if names and options.selector is not None:
        raise click.UsageError("write names or -l, not both")
    import asyncio

    from probetui.cli.commands.listing import list_pods

    return asyncio.run(list_pods(names, options))


class RemovalChoices(FilenameOptions, ListedPods, section="Pods"):
    """Which pods are removed."""

    takes_all: Annotated[bool, Opt("--all", help="All your pods.")] = False
    all_users: Annotated[
        bool,
        Opt(
            help="Also pods made by probetui of other users, or with another state "
            "folder.",
        ),
    ] = False
    output: Annotated[str, output_forms("text", "name")] = "text"


class DownOptions(RemovalChoices, EngineOptions, ProgramOptions):
    """The options of `down`."""


@click.command(
    "down",
    cls=SectionedCommand,
    epilog=examples(
        "probetui down web",
        "probetui down pod.yaml",
        "probetui down -l app=web",
        "probetui down --all",
        "probetui down --all --all-users",
    ),
)
@_names_argument
@takes_files_among("names")
@takes_options
def down(names: tuple[str, ...], options: DownOptions) -> int:
    """Stop and remove pods that your probetui left behind: NAME, -l, -f or --all.

    NAME is a pod, or NAMESPACE/POD. With -n only pods of that namespace are meant. With
    -f and -l, those of the files with such labels.
    It leaves pods that another probetui is running, and pods of other users unless
    --all-users is given: if NAME or -f means one of those, the status is 1. It never
    touches containers that probetui did not create.
    """
    has_files = bool(options.filenames or options.static)
    by_labels = options.selector is not None and not has_files
    if options.takes_all + has_files + by_labels + bool(names) != 1:
        raise click.UsageError("say which pods: NAME, -l LABELS, -f FILE or --all")
    import asyncio

    from probetui.cli.commands.removal import remove_found_pods

    return asyncio.run(remove_found_pods(names, options))


OneContainer = Annotated[
    str | None,
    Opt("-c", metavar="NAME", help="The container, if the pod has several."),
]


class ExecChoices(OptionGroup, section="Pods"):
    """In which container a command runs, and what it is given."""

    container: OneContainer = None
    stdin: Annotated[
        bool,
        Opt("-i", help="Give COMMAND the standard input: only in a plain process."),
    ] = False
    tty: Annotated[
        bool, Opt("-t", help="Give COMMAND the terminal: only in a plain process.")
    ] = False
    namespace: ListedNamespace = None


class ExecOptions(ExecChoices, EngineOptions, ProgramOptions):
    """The options of `exec`."""


class _ExecCommand(SectionedCommand):
    """Options may follow the pod where `--` says what the command is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; without `--` all behind the first are the command's."""
        ctx.allow_interspersed_args = "--" in args
        return super().parse_args(ctx, args)


@click.command(
    "exec",
    cls=_ExecCommand,
    epilog=examples(
        "probetui exec web -c app -- cat /tmp/healthy",
        "probetui exec shop/web/app ls -l",
    ),
)
@click.argument("target", metavar="POD|ID")
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
@takes_options
def exec_(target: str, words: tuple[str, ...], options: ExecOptions) -> int:
    """Run COMMAND in a container, as an exec probe would, on every runtime.

    POD is NAME, NAME/CONTAINER or NAMESPACE/NAME/CONTAINER of a pod of `probetui ls`;
    ID is that of a plain process, or a process ID. There is no terminal in containers
    (-i and -t name the command of the engine that has one), and at least the first
    10 KiB of the output are printed; plain processes have the terminal, the folder and
    the variables of their container. The exit status is that of COMMAND.
    """
    import asyncio

    from probetui.cli.commands.execution import run_command

    return asyncio.run(run_command(target, words, options))


class LogsChoices(OptionGroup, section="Pods"):
    """Whose log is printed, and how much of it."""

    container: OneContainer = None
    previous: Annotated[
        bool, Opt("-p", help="Of the instance before the last restart.")
    ] = False
    follow: Annotated[
        bool, Opt("-f", help="Print new lines until the container ends, or ^C.")
    ] = False
    since: Annotated[
        timedelta | None,
        Opt(metavar="DUR", help="Lines of this last time only: 90s, 5m."),
    ] = None
    tail: Annotated[
        int | None,
        Opt(
            type=WholeNumber(min=0),
            metavar="N",
            help="The last N lines only.  [default: all]",
        ),
    ] = None
    timestamps: Annotated[bool, Opt(help="Print the time before each line.")] = False
    namespace: ListedNamespace = None


class LogsOptions(LogsChoices, EngineOptions, ProgramOptions):
    """The options of `logs`."""


@click.command(
    "logs",
    cls=SectionedCommand,
    epilog=examples(
        "probetui logs web",
        "probetui logs shop/web/app -p --tail 20",
        "probetui logs session.jsonl web",
    ),
)
@click.argument("arguments", nargs=-1, metavar="[FILE.jsonl] POD")
@takes_options
def logs(arguments: tuple[str, ...], options: LogsOptions) -> int:
    """Print what a container of POD has printed, on every runtime.

    POD is NAME, NAME/CONTAINER or NAMESPACE/NAME/CONTAINER of a pod of `probetui ls`:
    one that a session runs, or that was kept. The lines of plain processes have no
    times, which --since and --timestamps need. A terminal gets them as safe text.

    The record of a session (FILE, or that of the last session for a pod that is not
    there any more) has what each instance printed last: ten lines at most.
    """
    import asyncio

    from probetui.cli.commands.container_logs import print_logs

    return asyncio.run(print_logs(arguments, options))


class InfoOptions(TextOptions, EngineOptions, VersionOptions, ProgramOptions):
    """The options of `info`."""


@click.command("info", cls=SectionedCommand)
@takes_options
def info(options: InfoOptions) -> int:
    """Print versions, detected runtimes, folders and facts about the terminal."""
    import asyncio

    from probetui.cli.commands.info_report import print_info

    return asyncio.run(print_info(options))


class ImagesOptions(TableOptions, DockerEndpointOptions, ProgramOptions):
    """The options of `images`."""


@click.group("images", cls=GroupWithOptions, invoke_without_command=True)
@click.pass_context
@takes_options
def images(ctx: click.Context, options: ImagesOptions) -> int:
    """List the images that probetui pulled, and what uses them.

    An image that was there before is not listed; one that somebody else tagged is
    marked. `probetui images gc` removes neither.
    """
    if ctx.invoked_subcommand is not None:
        refuse_options_before_subcommand(ctx)
        return 0
    import asyncio

    from probetui.cli.images.commands import list_images

    return asyncio.run(list_images(options))


class CollectionChoices(OptionGroup, section="Collection"):
    """Which images are removed."""

    dry_run: Annotated[
        bool, Opt(help="Print what would be removed; remove nothing.")
    ] = False
    everything: Annotated[
        bool,
        Opt(
            "--all",
            help="All images that are not in use, whatever the disk usage.",
        ),
    ] = False
    high: Annotated[
        int | None,
        Opt(
            type=WholeNumber(1, 100),
            metavar="PERCENT",
            help="Start at this disk usage.  [default: 85]",
        ),
    ] = None
    low: Annotated[
        int | None,
        Opt(
            type=WholeNumber(0, 100),
            metavar="PERCENT",
            help="Stop at this disk usage.  [default: 80]",
        ),
    ] = None
    min_age: Annotated[
        timedelta,
        Opt(
            metavar="DUR",
            help="Keep images that were pulled more recently.  [default: 2m]",
        ),
    ] = timedelta(minutes=2)
    max_age: Annotated[
        timedelta,
        Opt(
            metavar="DUR",
            help="Remove images that were not used for longer, whatever the disk "
            "usage.  [default: never]",
        ),
    ] = timedelta()


class CollectionOptions(CollectionChoices, DockerEndpointOptions, ProgramOptions):
    """The options of `images gc`."""


@images.command("gc", cls=SectionedCommand)
@takes_options
def collect(options: CollectionOptions) -> int:
    """Remove unused images that probetui pulled, as the kubelet's image GC does.

    Nothing is removed unless the disk with the images is fuller than --high. Then
    images are removed, least recently used first, until the usage is below --low.
    Images that any container uses, running or not, stay.
    """
    import asyncio

    from probetui.cli.images.commands import collect_images

    return asyncio.run(collect_images(options))
