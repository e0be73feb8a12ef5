"""`probetui explain`: what the probes of some pods come to, in words and numbers."""

from __future__ import annotations

from typing import Any

import click

from probetui.cli import complete
from probetui.cli.options import manifest_options, program_options
from probetui.cli.parameters import Command, OneOf, examples, option
from probetui.cli.printing import print_json, print_line

_OUTPUT = "Output"


@click.command(
    "explain",
    cls=Command,
    epilog=examples(
        "probetui explain -f pod.yaml",
        "probetui explain -f pod.yaml --set web.livenessProbe.periodSeconds=2",
    ),
)
@manifest_options
@option(
    "-c",
    "--container",
    "containers",
    section=_OUTPUT,
    multiple=True,
    metavar="NAME",
    shell_complete=complete.containers,
    help="Only pods with such a container. Repeatable.",
)
@option(
    "-o",
    "--output",
    section=_OUTPUT,
    type=OneOf(("text", "json")),
    default="text",
    show_default=True,
    help="How it is printed.",
)
@program_options
def command(**params: Any) -> int:
    """Print the settings of all probes with their defaults, and what they come to.

    That is when a container is first probed, how long it takes at least and at most to
    notice that the app fails, to kill and to restart it, and how long it may take to
    start. Nothing is started.
    """
    # Late: `probetui explain --help` and completion need none of it.
    from probetui.cli.notes import Notes  # noqa: PLC0415
    from probetui.cli.pods import (  # noqa: PLC0415
        ManifestOptions,
        check_containers,
        load_pods,
        tell_problems,
    )
    from probetui.cli.session_options import pick  # noqa: PLC0415
    from probetui.drive.masking import Mask, secrets_of  # noqa: PLC0415
    from probetui.presentation.explanation import (  # noqa: PLC0415
        explanation,
        explanation_json,
    )
    from probetui.presentation.view import View  # noqa: PLC0415

    manifests = load_pods(pick(ManifestOptions, params))
    notes = Notes(quiet=params["quiet"])
    tell_problems(manifests, notes)
    wanted = params["containers"]
    check_containers(wanted, manifests.pods)
    pods = [
        each
        for each in manifests.pods
        if not wanted or any(each.container(name) for name in wanted)
    ]
    view = View.timeless(Mask(secrets_of(pods)))
    if params["output"] == "json":
        print_json([explanation_json(each, view) for each in pods])
        return 0
    for number, pod in enumerate(pods):
        if number:
            print_line()
        for line in explanation(pod, view):
            print_line(line)
    return 0
