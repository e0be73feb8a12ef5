"""Declaration of the command `serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from probetui.cli.options import (
    act_option,
    beside_kubelet_option,
    freeze_option,
    image_gc_option,
    keep_option,
    manifest_options,
    metrics_option,
    pull_option,
    runtime_events_option,
    runtime_options,
    session_options,
    takes_files,
    watch_option,
)
from probetui.cli.parameters import SectionedCommand, WholeNumber, examples, option
from probetui.cli.printing import print_short_help

_SERVER = "Server"
_LAST_PORT = (1 << 16) - 1


@click.command(
    "serve",
    cls=SectionedCommand,
    epilog=examples(
        "probetui serve -f pod.yaml",
        "probetui serve pods/ --runtime process --write-kubeconfig /tmp/pods.yaml",
        "kubectl --kubeconfig /tmp/pods.yaml get pods -w",
    ),
)
@option(
    "--port",
    section=_SERVER,
    type=WholeNumber(min=0, max=_LAST_PORT),
    default=0,
    help="Port on 127.0.0.1.  [default: any that is free]",
)
@option(
    "--write-kubeconfig",
    section=_SERVER,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Kubeconfig to write, and to remove at the end.  [default: one of probetui's]",
)
@option(
    "--no-token",
    section=_SERVER,
    is_flag=True,
    help="Let every user of this machine read.",
)
@manifest_options
@runtime_options
@pull_option
@beside_kubelet_option
@image_gc_option
@keep_option
@act_option(default=True)
@watch_option
@metrics_option
@runtime_events_option
@freeze_option
@session_options
@takes_files
def serve(**params: Any) -> int:
    """Run pods as run does, and show them to kubectl as a cluster would.

    The API is read-only and on this machine alone: pods with their statuses, events,
    logs and the node. kubectl gets at it by the kubeconfig whose name is printed. The
    session goes on until Ctrl+C, --until or --timeout ends it.
    """
    if not (params["filenames"] or params["static"]):
        return print_short_help()
    from probetui.cli.session.start import serve_pods

    return serve_pods(params)
