"""`probetui check`: what is wrong with manifests, and what is likely not meant so."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli import complete
from probetui.cli.options import (
    filename_options,
    namespace_option,
    pod_choice_options,
    program_options,
    validate_option,
)
from probetui.cli.parameters import Command, OneOf, examples, option

FORMS = ("text", "json", "junit", "tap", "sarif", "github")
_OUTPUT = "Output"


@click.command(
    "check",
    cls=Command,
    epilog=examples(
        "probetui check -f pod.yaml",
        "probetui check -f pods/ -R -o junit > report.xml",
    ),
)
@filename_options
@namespace_option
@pod_choice_options
@validate_option("strict")
@option(
    "-c",
    "--container",
    "containers",
    section=_OUTPUT,
    multiple=True,
    metavar="NAME",
    shell_complete=complete.containers,
    help="Only findings about pods with such a container. Repeatable.",
)
@option(
    "-o",
    "--output",
    section=_OUTPUT,
    type=OneOf(FORMS),
    default="text",
    show_default=True,
    help="How it is printed.",
)
@option(
    "--no-findings",
    section=_OUTPUT,
    is_flag=True,
    help="Print what is wrong, and nothing that is only unwise.",
)
@option(
    "-v",
    "--verbose",
    section=_OUTPUT,
    is_flag=True,
    help="Print notes too, and the fields that probetui does not carry out.",
)
@program_options
def command(**params: Any) -> int:
    """Check manifests as the API server does, and their probes for what is unwise.

    Nothing is started. It ends with 0, or with 1 if something is wrong.
    """
    # Late: `probetui check --help` and completion need none of it.
    from probetui.cli.checking import check  # noqa: PLC0415

    return check(params)
