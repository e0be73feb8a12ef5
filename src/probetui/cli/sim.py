"""`probetui sim`: pods in a world by script, on a clock of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from probetui.cli.greeting import greet
from probetui.cli.options import (
    autosave_options,
    ending_options,
    freeze_option,
    kubelet_options,
    manifest_options,
    output_options,
    play_options,
    program_options,
    screen_options,
)
from probetui.cli.parameters import Command, examples, option
from probetui.errors import UsageError


@click.command(
    "sim",
    cls=Command,
    epilog=examples(
        "probetui sim -f pod.yaml",
        "probetui sim -f pod.yaml --script script.yaml --plain --for 24h",
    ),
)
@manifest_options
@option(
    "--script",
    section="Pods",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="What containers and probes do, as YAML; else everything is healthy.",
)
@freeze_option
@play_options
@kubelet_options
@ending_options
@output_options
@autosave_options
@screen_options
@program_options
def command(*, script: str | None, **params: Any) -> int:
    """Simulate some pods: nothing is run, and time goes as fast as you like.

    The kubelet's decisions are the real ones; what containers and probes do comes from
    a script, or from you. Without a screen it goes as fast as it can, and --until,
    --timeout and --for are in its own time. The same script always gives the same
    record.
    """
    if not params["filenames"]:
        return greet()
    # Late: `probetui sim --help` and completion need none of it.
    from probetui.cli.files import read_sources  # noqa: PLC0415
    from probetui.cli.plan import make_plan  # noqa: PLC0415
    from probetui.cli.playing import run_simulation  # noqa: PLC0415
    from probetui.cli.pods import ManifestOptions, load_pods  # noqa: PLC0415
    from probetui.cli.runtimes import SIM  # noqa: PLC0415
    from probetui.cli.session_options import pick  # noqa: PLC0415
    from probetui.drive.scenario import NO_SCENARIO  # noqa: PLC0415
    from probetui.drive.scenario_reader import read_scenario  # noqa: PLC0415

    manifests = load_pods(pick(ManifestOptions, params))
    scenario = NO_SCENARIO
    if script is not None:
        sources = read_sources([script], recursive=False)
        if len(sources) > 1:
            raise UsageError(f"--script {script}: is a folder; name one file")
        scenario = read_scenario(sources[0], manifests.pods)
        params["script"] = script
    params["runtime"] = SIM
    return run_simulation(replace(make_plan(manifests, params), scenario=scenario))
