"""Declarations of the commands that learn settings from records: whatif, fit."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import click

from probetui.cli.commands.fleet import AskedTime, SettingsOptions, StoreOptions
from probetui.cli.option_groups import Opt, OptionGroup, takes_options
from probetui.cli.options import (
    Ascii,
    ProgramOptions,
    RecordOptions,
    output_forms,
)
from probetui.cli.parameters import KubeletVersion, SectionedCommand, examples


class TriedSettings(OptionGroup, section="Settings"):
    """What is changed of a recorded session."""

    changes: Annotated[
        tuple[str, ...],
        Opt(
            "--set",
            metavar="PATH=VALUE",
            help="Another setting of a probe: [POD/]CONTAINER.PROBE.FIELD=VALUE, or "
            "FIELD=VALUE where one probe was recorded. Repeatable.",
        ),
    ] = ()
    sweep: Annotated[
        str | None,
        Opt(
            metavar="PATH=VALUES",
            help="Try one setting with many values, 1..10 or 5,10,20, and compare "
            "them.",
        ),
    ] = None
    kubelet: Annotated[
        str | None,
        Opt(
            "--kubelet",
            "--kubelet-version",
            type=KubeletVersion(),
            metavar="VERSION",
            help="Decide as a kubelet of this version does.  [default: the recorded "
            "one]",
        ),
    ] = None


class WhatIfOutputOptions(OptionGroup):
    """How the difference is printed."""

    output: Annotated[str, output_forms("table", "json", "yaml")] = "table"
    ascii: Ascii = False


class WhatIfOptions(TriedSettings, RecordOptions, WhatIfOutputOptions, ProgramOptions):
    """The options of `whatif`."""


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
@takes_options
def whatif(record: Path | None, options: WhatIfOptions) -> int:
    """Show what a recorded session would have been under other settings.

    Without RECORD, the last session is used. Up to the first decision that differs it
    is replayed; from there on its containers are simulated, and behave as measured. A
    probe at an age of its container that was never measured takes the outcome of the
    nearest age of the same instance, and is marked and counted. Handlers cannot be
    changed, as the record has no answers to other requests.

    In a record of a cluster, of `watch` or `why --prometheus`, each run of failures is
    counted again, and kills are bounds.

    The exit status is 1 if a kill, a restart or a change of readiness differs.
    """
    from probetui.cli.commands.what_if_report import print_what_if

    return print_what_if(record, options)


class Goal(OptionGroup, section="Settings"):
    """What the settings are to reach, and for which container."""

    false_kills: Annotated[
        str,
        Opt(
            metavar="RATE",
            help="How often a healthy container may be killed: 1/30d, or the "
            "probability in a day, 0.1%.",
        ),
    ] = "1/30d"
    notice: Annotated[
        timedelta,
        Opt(
            metavar="DUR",
            help="How soon a dead container has to be killed at the latest.  "
            "[default: 1m]",
        ),
    ] = timedelta(minutes=1)
    container: Annotated[
        str | None,
        Opt(
            "-c",
            metavar="[POD/]NAME",
            help="Only this container.  [default: all with a liveness or startup "
            "probe]",
        ),
    ] = None


class FitOutput(OptionGroup, section="Output"):
    """How settings are printed."""

    output: Annotated[
        str, output_forms("text", "json", "yaml", "patch", "kustomize")
    ] = "text"
    strict: Annotated[
        bool,
        Opt(help="Exit with status 1 if something could not be answered."),
    ] = False


class FitOptions(
    Goal,
    StoreOptions,
    AskedTime,
    SettingsOptions,
    RecordOptions,
    FitOutput,
    ProgramOptions,
):
    """The options of `fit`."""


@click.command(
    "fit",
    cls=SectionedCommand,
    epilog=examples(
        "probetui fit session.jsonl",
        "probetui fit monday.jsonl tuesday.jsonl --false-kills 1/90d --notice 1m",
        "probetui fit session.jsonl -c web/app > probes.yaml",
        "probetui fit deploy/web --prometheus URL --since 30d -f k8s/ -o patch",
    ),
)
@click.argument("records", nargs=-1, metavar="[RECORD|WORKLOAD]...")
@takes_options
def fit(records: tuple[str, ...], options: FitOptions) -> int:
    """Find settings of liveness and startup probes from what was measured.

    With --prometheus it asks a store about workloads: deploy/web, shop/sts/db, or
    shop/web-0 for one pod; -f has their settings, and -o patch and -o kustomize print
    what to change. Samples give bounds: the worst of them counts. The same time is run
    again under the proposal.

    The startup budget, the time-out, the threshold and the period are computed from
    recorded starts, latencies and failures, for the wanted rate of false kills and the
    wanted time to notice a dead container. The output is YAML to paste; its comments
    give the evidence, and the command that tries the settings on the record. Without
    RECORDS, the last session is used.

    Where there is too little evidence, nothing is guessed: the output says
    what is missing, and the exit status is 1.
    """
    from probetui.cli.commands.fit_report import print_fit

    return print_fit(records, options)
