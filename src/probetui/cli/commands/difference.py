"""Declaration of `probetui diff`."""

from typing import Annotated

import click

from probetui.cli.commands.fleet import AskedTime, StoreOptions
from probetui.cli.option_groups import Opt, OptionGroup, takes_options
from probetui.cli.options import (
    GivenNamespace,
    ProgramOptions,
    Selector,
    TextOptions,
    VersionOptions,
)
from probetui.cli.parameters import OneOf, SectionedCommand, examples

DASHES = "\0"
"""Stands for `--` among the words: no word of a command line has such a character."""

FAILURES = ("stricter", "looser", "added", "removed", "found", "any")
"""What `--fail-on` takes."""


class _WordsCommand(SectionedCommand):
    """A command that may have options behind `--`, as it parts words from words."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep where the `--` was."""
        if "--" in args:
            args[args.index("--")] = DASHES
        return super().parse_args(ctx, args)


class ComparedPods(OptionGroup, section="Pods"):
    """Which of the pods are compared."""

    namespace: GivenNamespace = None
    selector: Selector = None
    recursive: Annotated[bool, Opt("-R", help="Search folders recursively.")] = False


class ComparedTime(AskedTime, section="Time"):
    """Which time is run again."""

    since: Annotated[
        str | None,
        Opt(
            metavar="DUR",
            help="With --prometheus, what would have been in that time before now, or "
            "before --to: 30d, 12h.  [default: 30d]",
        ),
    ] = None


class DiffOutput(TextOptions, section="Output"):
    """How differences are printed, and what is a failure."""

    md: Annotated[bool, Opt(help="Print Markdown for a pull request.")] = False
    fail_on: Annotated[
        tuple[str, ...],
        Opt(
            "--fail-on",
            type=OneOf(FAILURES),
            metavar="|".join(FAILURES),
            help="Exit with status 1 if a container becomes so, or `check` finds a "
            "warning that was not there. Repeatable.",
        ),
    ] = ()
    strict: Annotated[
        bool,
        Opt(help="Exit with status 1 if a store could not answer something."),
    ] = False


class PastOptions(StoreOptions, ComparedTime):
    """Which store says what would have been, and of which time."""


class DiffOptions(
    ComparedPods, VersionOptions, PastOptions, DiffOutput, ProgramOptions
):
    """The options of `diff`."""


@click.command(
    "diff",
    cls=_WordsCommand,
    epilog=examples(
        "probetui diff old.yaml new.yaml",
        "probetui diff main -- k8s/ --md",
        "probetui diff cluster k8s/",
        "probetui diff main --prometheus auto --since 30d -- k8s/",
        "probetui diff v1.2 v1.3 -- k8s/ -R --fail-on stricter",
    ),
)
@click.argument("words", nargs=-1, metavar="OLD [NEW] [-- PATH...]")
@takes_options
def diff(words: tuple[str, ...], options: DiffOptions) -> int:
    """Say what a change of manifests does to containers, by the kubelet's rules.

    That is how soon each is killed, taken out of the endpoints and back in, how long
    it may take to start and to stop, before and after, and which warnings of `check`
    came and went. OLD and NEW are files or folders, or revisions of Git with the PATHs
    to compare in them; without NEW, OLD is compared with the files as they are here.
    `cluster`, or `cluster:CONTEXT`, is the objects of these names that a cluster has.
    With --prometheus the kills that a store has are counted again under NEW's numbers,
    with bounds. Nothing is started.
    """
    from probetui.cli.commands.diff_report import print_diff

    return print_diff(words, options)
