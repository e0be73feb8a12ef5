"""`probetui attach`: the prober on containers that exist already."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli import complete
from probetui.cli.greeting import greet
from probetui.cli.options import (
    act_option,
    autosave_options,
    ending_options,
    freeze_option,
    kubelet_options,
    manifest_options,
    metrics_option,
    output_options,
    program_options,
    runtime_events_option,
    runtime_options,
    screen_options,
)
from probetui.cli.parameters import Command, examples, option


@click.command(
    "attach",
    cls=Command,
    epilog=examples(
        "probetui attach -f pod.yaml",
        "probetui attach -f pod.yaml web=shop-web-1",
        "probetui attach -f pod.yaml --runtime process web=4711",
    ),
)
@click.argument(
    "words",
    nargs=-1,
    metavar="[CONTAINER=NAME_OR_ID]...",
    shell_complete=complete.container_words,
)
@manifest_options
@runtime_options
@act_option(default=False)
@option(
    "--no-wait",
    section="Runtime",
    is_flag=True,
    help="Give up at once if something does not run.",
)
@metrics_option
@runtime_events_option
@kubelet_options
@ending_options
@output_options
@autosave_options
@freeze_option
@screen_options
@program_options
def command(words: tuple[str, ...], *, no_wait: bool, **params: Any) -> int:
    """Run the kubelet's prober on containers that somebody else made.

    Each container of the manifest is found by the labels of Kubernetes or Compose or by
    its name, or by what CONTAINER= says: a name, an ID or the beginning of one,
    KEY=VALUE of a label, a Compose service or PROJECT/SERVICE; with --runtime process
    the number or the name of a process. Nothing is created, and without --act nothing
    is touched: what the kubelet would do is only said. What does not run is waited for.
    """
    if not params["filenames"]:
        return greet()
    # Late: `probetui attach --help` and completion need none of it.
    from probetui.cli.attachment import Attachment  # noqa: PLC0415
    from probetui.cli.plan import make_plan  # noqa: PLC0415
    from probetui.cli.pods import ManifestOptions, load_pods  # noqa: PLC0415
    from probetui.cli.session_options import pick  # noqa: PLC0415

    source = pick(ManifestOptions, params)
    attachment = Attachment(words, acts=params["act"], waits=not no_wait)
    plan = make_plan(load_pods(source), params, attachment=attachment)
    # Later still: a manifest that is refused should be refused soon.
    from probetui.cli.compose import run_session  # noqa: PLC0415

    return run_session(plan)
