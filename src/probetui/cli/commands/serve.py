"""Declaration of the command `serve`."""

import click

from probetui.cli.option_groups import takes_options
from probetui.cli.options import (
    CommonSessionOptions,
    EngineOptions,
    PodOptions,
    RunningOptions,
    ServeOptions,
    takes_files,
)
from probetui.cli.parameters import SectionedCommand, examples
from probetui.cli.printing import print_short_help


class ServeCommandOptions(
    ServeOptions, PodOptions, EngineOptions, RunningOptions, CommonSessionOptions
):
    """The options of `serve`."""


@click.command(
    "serve",
    cls=SectionedCommand,
    epilog=examples(
        "probetui serve -f pod.yaml",
        "probetui serve pods/ --runtime process --write-kubeconfig /tmp/pods.yaml",
        "kubectl --kubeconfig /tmp/pods.yaml get pods -w",
    ),
)
@takes_files
@takes_options
def serve(options: ServeCommandOptions) -> int:
    """Run pods as run does, and show them to kubectl as a cluster would.

    The API is read-only and on this machine alone: pods with their statuses, events,
    logs and the node. kubectl gets at it by the kubeconfig whose name is printed. The
    session goes on until Ctrl+C, --until or --timeout ends it.
    """
    if not (options.filenames or options.static):
        return print_short_help()
    from probetui.cli.session.start import serve_pods

    return serve_pods(options)
