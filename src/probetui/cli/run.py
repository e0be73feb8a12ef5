"""`probetui run`: the pods of some files, run and probed."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli.greeting import greet
from probetui.cli.options import (
    act_option,
    autosave_options,
    ending_options,
    freeze_option,
    image_gc_option,
    keep_option,
    kubelet_options,
    manifest_options,
    metrics_option,
    output_options,
    play_options,
    program_options,
    pull_option,
    runtime_events_option,
    screen_options,
    session_runtime_options,
    watch_option,
)
from probetui.cli.parameters import Command, examples


@click.command(
    "run",
    cls=Command,
    epilog=examples(
        "probetui -f pod.yaml",
        "probetui -f pod.yaml --until ready --timeout 90s",
        "kustomize build . | probetui -f - -l app=web",
        "probetui -f pods/ --watch --runtime process",
    ),
)
@manifest_options
@session_runtime_options
@pull_option
@image_gc_option
@keep_option
@act_option(default=True)
@watch_option
@metrics_option
@runtime_events_option
@freeze_option
@play_options
@kubelet_options
@ending_options
@output_options
@autosave_options
@screen_options
@program_options
def command(**params: Any) -> int:
    """Create the containers of some pods and run the kubelet's prober on them.

    It ends when you leave the screen, when --until or --timeout says so, and, without
    a screen, when every pod has ended: with 0 if all succeeded, else with 1.
    """
    if not params["filenames"]:
        return greet()
    # Late: `probetui run --help` and completion need none of it.
    from probetui.cli.plan import make_plan  # noqa: PLC0415
    from probetui.cli.pods import ManifestOptions, load_pods  # noqa: PLC0415
    from probetui.cli.session_options import pick  # noqa: PLC0415

    source = pick(ManifestOptions, params)
    plan = make_plan(load_pods(source), params, source=source)
    # Later still: a manifest that is refused should be refused soon.
    from probetui.cli.compose import run_session  # noqa: PLC0415

    return run_session(plan)
