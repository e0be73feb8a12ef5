"""Declarations of the commands on this machine: ls, down, exec, info, images."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click
from click.core import ParameterSource

from probetui.cli.options import (
    docker_options,
    filename_options,
    listed_namespace_option,
    program_options,
    runtime_options,
    selector_option,
    table_options,
    takes_files_among,
    version_options,
)
from probetui.cli.parameters import (
    Duration,
    SectionedCommand,
    WholeNumber,
    examples,
    option,
    output_option,
)

_PODS, _COLLECTION = "Pods", "Collection"

_names_argument = click.argument("names", nargs=-1, metavar="[NAME]...")


@click.command(
    "ls",
    cls=SectionedCommand,
    epilog=examples(
        "probetui ls",
        "probetui ls -l app=web --runtime docker -o json",
    ),
)
@_names_argument
@listed_namespace_option
@selector_option
@option(
    "-A",
    "--all-namespaces",
    section=_PODS,
    is_flag=True,
    help="Pods of all namespaces, as without -n.",
)
@option(
    "-w",
    "--watch",
    section=_PODS,
    is_flag=True,
    help="Print the rows that change, until ^C.",
)
@table_options
@runtime_options
@program_options
def ls(**params: Any) -> int:
    """List the pods that probetui runs or has left behind, on every runtime.

    NAME is a pod, or NAMESPACE/POD; without it and without -l, all of them.

    PROBES are the failing probes of a pod that a session runs, with the failures in a
    row and the threshold; -o json and yaml have its whole state, as `probetui schema
    state` describes it. RUN-BY is the process that runs a pod; a pod without one is
    removed by `probetui down` and taken over by `probetui run` of the same manifest.
    """
    if params["names"] and params["selector"] is not None:
        raise click.UsageError("write names or -l, not both")
    import asyncio

    from probetui.cli.commands.listing import list_pods

    return asyncio.run(list_pods(params))


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
@filename_options
@listed_namespace_option
@selector_option
@option("--all", "takes_all", section=_PODS, is_flag=True, help="All your pods.")
@option(
    "--all-users",
    section=_PODS,
    is_flag=True,
    help="Also pods made by probetui of other users, or with another state folder.",
)
@output_option("text", "name")
@runtime_options
@program_options
@takes_files_among("names")
def down(*, takes_all: bool, **params: Any) -> int:
    """Stop and remove pods that your probetui left behind: NAME, -l, -f or --all.

    NAME is a pod, or NAMESPACE/POD. With -n only pods of that namespace are meant. With
    -f and -l, those of the files with such labels.
    It leaves pods that another probetui is running, and pods of other users unless
    --all-users is given: if NAME or -f means one of those, the status is 1. It never
    touches containers that probetui did not create.
    """
    has_files = bool(params["filenames"] or params["static"])
    by_labels = params["selector"] is not None and not has_files
    if takes_all + has_files + by_labels + bool(params["names"]) != 1:
        raise click.UsageError("say which pods: NAME, -l LABELS, -f FILE or --all")
    import asyncio

    from probetui.cli.commands.removal import remove_found_pods

    return asyncio.run(remove_found_pods(params))


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
@option(
    "-c",
    "--container",
    section=_PODS,
    metavar="NAME",
    help="The container, if the pod has several.",
)
@option(
    "-i",
    "--stdin",
    section=_PODS,
    is_flag=True,
    help="Give COMMAND the standard input: only in a plain process.",
)
@option(
    "-t",
    "--tty",
    section=_PODS,
    is_flag=True,
    help="Give COMMAND the terminal: only in a plain process.",
)
@listed_namespace_option
@runtime_options
@program_options
def exec_(*, target: str, words: tuple[str, ...], **params: Any) -> int:
    """Run COMMAND in a container, as an exec probe would, on every runtime.

    POD is NAME, NAME/CONTAINER or NAMESPACE/NAME/CONTAINER of a pod of `probetui ls`;
    ID is that of a plain process, or a process ID. There is no terminal in containers
    (-i and -t name the command of the engine that has one), and at least the first
    10 KiB of the output are printed; plain processes have the terminal, the folder and
    the variables of their container. The exit status is that of COMMAND.
    """
    import asyncio

    from probetui.cli.commands.execution import run_command

    return asyncio.run(run_command(target, words, params))


@click.command("info", cls=SectionedCommand)
@output_option("text", "json", "yaml")
@runtime_options
@version_options
@program_options
def info(**params: Any) -> int:
    """Print versions, detected runtimes, folders and facts about the terminal."""
    import asyncio

    from probetui.cli.commands.info_report import print_info

    return asyncio.run(print_info(params))


class _GroupWithOptions(SectionedCommand, click.Group):
    """A command with options and subcommands of its own."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options, then the subcommands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group("images", cls=_GroupWithOptions, invoke_without_command=True)
@table_options
@docker_options
@program_options
@click.pass_context
def images(ctx: click.Context, /, **params: Any) -> int:
    """List the images that probetui pulled, and what uses them.

    An image that was there before is not listed; one that somebody else tagged is
    marked. `probetui images gc` removes neither.
    """
    if ctx.invoked_subcommand is not None:
        _refuse_options_before_subcommand(ctx)
        return 0
    import asyncio

    from probetui.cli.images.commands import list_images

    return asyncio.run(list_images(params))


@images.command("gc", cls=SectionedCommand)
@option(
    "--dry-run",
    section=_COLLECTION,
    is_flag=True,
    help="Print what would be removed; remove nothing.",
)
@option(
    "--all",
    "everything",
    section=_COLLECTION,
    is_flag=True,
    help="All images that are not in use, whatever the disk usage.",
)
@option(
    "--high",
    section=_COLLECTION,
    type=WholeNumber(1, 100),
    metavar="PERCENT",
    help="Start at this disk usage.  [default: 85]",
)
@option(
    "--low",
    section=_COLLECTION,
    type=WholeNumber(0, 100),
    metavar="PERCENT",
    help="Stop at this disk usage.  [default: 80]",
)
@option(
    "--min-age",
    section=_COLLECTION,
    type=Duration(),
    default=timedelta(minutes=2),
    metavar="DUR",
    help="Keep images that were pulled more recently.  [default: 2m]",
)
@option(
    "--max-age",
    section=_COLLECTION,
    type=Duration(),
    default=timedelta(),
    metavar="DUR",
    help="Remove images that were not used for longer, whatever the disk usage.  "
    "[default: never]",
)
@docker_options
@program_options
def collect(**params: Any) -> int:
    """Remove unused images that probetui pulled, as the kubelet's image GC does.

    Nothing is removed unless the disk with the images is fuller than --high. Then
    images are removed, least recently used first, until the usage is below --low.
    Images that any container uses, running or not, stay.
    """
    import asyncio

    from probetui.cli.images.commands import collect_images

    return asyncio.run(collect_images(params))


def _refuse_options_before_subcommand(ctx: click.Context) -> None:
    """Refuse options of the list that are given before `gc`: they would be ignored."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(str(parameter.name))
        if source is ParameterSource.COMMANDLINE:
            name = next(name for name in parameter.opts if name.startswith("--"))
            raise click.UsageError(f"{name}: write it after {ctx.invoked_subcommand}")
