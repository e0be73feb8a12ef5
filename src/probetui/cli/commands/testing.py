"""Declaration of `probetui test`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from probetui.cli import completions
from probetui.cli.options import (
    beside_kubelet_option,
    kubelet_options,
    manifest_options,
    program_options,
    pull_option,
    session_runtime_options,
    show_secrets_option,
    takes_files,
)
from probetui.cli.parameters import (
    SectionedCommand,
    WholeNumber,
    examples,
    option,
    output_option,
)
from probetui.cli.printing import print_short_help

TEST_FORMATS = ("text", "json", "yaml", "junit", "tap", "github")
_CASES, _OUTPUT = "Cases", "Output"


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
@manifest_options
@session_runtime_options
@pull_option
@beside_kubelet_option
@option(
    "--case",
    "cases",
    section=_CASES,
    multiple=True,
    metavar="NAME",
    shell_complete=completions.complete_cases,
    help="Run only this case. Repeatable.",
)
@option(
    "-j",
    "--jobs",
    section=_CASES,
    type=WholeNumber(min=1),
    metavar="N",
    default=8,
    show_default=True,
    help="How many cases run at the same time.",
)
@kubelet_options
@output_option(*TEST_FORMATS)
@option(
    "--junit",
    section=_OUTPUT,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a JUnit report to this file.",
)
@option(
    "--record",
    "record_dir",
    section=_OUTPUT,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep a record of each case in this folder, for `probetui why` and `replay`.",
)
@show_secrets_option
@program_options
@takes_files
def test(**params: Any) -> int:
    """Test what pods do: that they are ready in time, stay up, survive a crash.

    A file of -f with cases: says what is done to pods and what is expected of them;
    without one, each pod is expected to be ready in time and not to be restarted. Each
    case has pods of its own, in a namespace of its own, which are removed at the end.
    On GitHub's runners failures are annotated.

    The exit status is 0 if all cases passed, 1 if one failed, 2 if a file is wrong.
    """
    if not (params["filenames"] or params["static"]):
        return print_short_help()
    from probetui.cli.commands.case_report import run_cases

    return run_cases(params)
