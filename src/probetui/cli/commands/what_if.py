"""Declarations of the commands that learn settings from records: whatif."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from probetui.cli.late_calls import run_late
from probetui.cli.options import ascii_option, program_options
from probetui.cli.parameters import (
    KubeletVersion,
    SectionedCommand,
    examples,
    option,
    output_option,
)

_SETTINGS = "Settings"


@click.command(
    "whatif",
    cls=SectionedCommand,
    epilog=examples(
        "probetui whatif session.jsonl --set app.livenessProbe.failureThreshold=5",
        "probetui whatif session.jsonl --sweep failureThreshold=1..10",
        "probetui whatif session.jsonl --sweep app.livenessProbe.periodSeconds=5,10,20",
        "probetui whatif --kubelet 1.28",
    ),
)
@click.argument("record", type=click.Path(path_type=Path), required=False)
@option(
    "--set",
    "changes",
    section=_SETTINGS,
    multiple=True,
    metavar="PATH=VALUE",
    help="Another setting of a probe: [POD/]CONTAINER.PROBE.FIELD=VALUE, or "
    "FIELD=VALUE where one probe was recorded. Repeatable.",
)
@option(
    "--sweep",
    section=_SETTINGS,
    metavar="PATH=VALUES",
    help="Try one setting with many values, 1..10 or 5,10,20, and compare them.",
)
@option(
    "--kubelet",
    "--kubelet-version",
    "kubelet",
    section=_SETTINGS,
    type=KubeletVersion(),
    metavar="VERSION",
    help="Decide as a kubelet of this version does.  [default: the recorded one]",
)
@output_option("table", "json", "yaml")
@ascii_option
@program_options
def whatif(record: Path | None, **params: Any) -> int:
    """Tell what a recorded session would have been under other settings.

    Without RECORD it is the last session. Up to the first decision that differs it is
    the recorded session; from there on its containers are simulated, and behave as was
    measured. A probe at an age of its container that was never measured takes the
    outcome of the nearest age of the same instance, because a restart begins anew; how
    many there are is told. Handlers cannot be changed: the record has no answers to
    another question.

    The exit status is 1 if a kill, a restart or a change of readiness differs.
    """
    return run_late("cli.commands.what_if_report:print_what_if", record, params)
