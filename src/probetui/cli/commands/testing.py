"""Declaration of `probetui test`."""

from pathlib import Path
from typing import Annotated

import click

from probetui.cli import completions
from probetui.cli.option_groups import Opt, OptionGroup, takes_options
from probetui.cli.options import (
    KubeletOptions,
    PodOptions,
    ProgramOptions,
    PullOptions,
    SessionEngineOptions,
    ShowSecrets,
    output_forms,
    takes_files,
)
from probetui.cli.parameters import SectionedCommand, WholeNumber, examples
from probetui.cli.printing import print_short_help

TEST_FORMATS = ("text", "json", "yaml", "junit", "tap", "github")


class CaseChoices(OptionGroup, section="Cases"):
    """Which cases are run."""

    cases: Annotated[
        tuple[str, ...],
        Opt(
            "--case",
            metavar="NAME",
            shell_complete=completions.complete_cases,
            help="Run only this case. Repeatable.",
        ),
    ] = ()
    jobs: Annotated[
        int,
        Opt(
            "-j",
            type=WholeNumber(min=1),
            metavar="N",
            help="How many cases run at the same time.",
        ),
    ] = 8


class CaseOutputOptions(OptionGroup, section="Output"):
    """What is written of cases."""

    output: Annotated[str, output_forms(*TEST_FORMATS)] = "text"
    junit: Annotated[
        Path | None,
        Opt(metavar="FILE", help="Also write a JUnit report to this file."),
    ] = None
    record_dir: Annotated[
        Path | None,
        Opt(
            "--record",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Keep a record of each case in this folder, for `probetui why` and "
            "`replay`.",
        ),
    ] = None
    report_dir: Annotated[
        Path | None,
        Opt(
            "--report",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Write a page of each case to this folder, as `probetui report` does.",
        ),
    ] = None
    show_secrets: ShowSecrets = False


class TestOptions(
    PodOptions,
    SessionEngineOptions,
    PullOptions,
    CaseChoices,
    KubeletOptions,
    CaseOutputOptions,
    ProgramOptions,
):
    """The options of `test`."""


@click.command(
    "test",
    cls=SectionedCommand,
    epilog=examples(
        "probetui test -f pod.yaml",
        "probetui test -f pod.yaml -f cases.yaml --runtime sim",
        "probetui test -f pod.yaml -f cases.yaml --case 'survives a freeze'",
        "probetui test -f pods/ --runtime process --junit report.xml",
    ),
)
@takes_files
@takes_options
def test(options: TestOptions) -> int:
    """Test what pods do: that they are ready in time, stay up, survive a crash.

    A file of -f with cases: says what is done to pods and what is expected of them;
    without one, each pod is expected to be ready in time and not to be restarted. Each
    case has pods of its own, in a namespace of its own, which are removed at the end.
    On GitHub's runners failures are annotated.

    The exit status is 0 if all cases passed, 1 if one failed, 2 if a file is wrong.
    """
    if not (options.filenames or options.static):
        return print_short_help()
    from probetui.cli.commands.case_report import run_cases

    return run_cases(options)
