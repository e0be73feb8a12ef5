"""`probetui probe`: one probe, run once."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli import complete
from probetui.cli.options import (
    exec_errors_option,
    findings_option,
    manifest_options,
    program_options,
    runtime_options,
)
from probetui.cli.parameters import Command, OneOf, examples, option

_WHICH = "Probe"


@click.command(
    "probe",
    cls=Command,
    epilog=examples(
        "probetui probe -f pod.yaml -t readiness",
        "probetui probe -f pod.yaml -c web -t liveness web=shop-web-1",
    ),
)
@click.argument(
    "words",
    nargs=-1,
    metavar="[CONTAINER=NAME_OR_ID]",
    shell_complete=complete.container_words,
)
@manifest_options
@option(
    "-c",
    "--container",
    section=_WHICH,
    metavar="NAME",
    shell_complete=complete.containers,
    help="The container, where more than one has a probe.",
)
@option(
    "-t",
    "--type",
    "probe_type",
    section=_WHICH,
    type=OneOf(("liveness", "readiness", "startup")),
    help="Which of its probes, where there is more than one.",
)
@runtime_options
@exec_errors_option
@findings_option
@option(
    "-o",
    "--output",
    section="Output",
    type=OneOf(("text", "json")),
    default="text",
    show_default=True,
    help="How it is printed.",
)
@program_options
def command(words: tuple[str, ...], **params: Any) -> int:
    """Run one probe once and print what came of it.

    The container has to run: as one of a pod that probetui runs or has kept, or as one
    that `probetui attach` would find. It is not touched, and no result is counted. It
    ends with 0 for a success, 1 for a failure, 125 for a probe that could not be run at
    all (which the kubelet throws away), 3 if the container does not run.
    """
    # Late: `probetui probe --help` and completion need none of it.
    from probetui.cli.probing import probe_once  # noqa: PLC0415

    return probe_once(words, params)
