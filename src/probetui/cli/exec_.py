"""`probetui exec`: a command run where a plain process runs."""

from __future__ import annotations

import os
import sys

import click

from probetui.cli.printing import print_notice
from probetui.errors import ContainerRuntimeError, UsageError

_CANNOT_START = 126
_NOT_FOUND = 127


@click.command(
    "exec",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("container_id", metavar="ID")
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
def command(*, container_id: str, words: tuple[str, ...]) -> int:
    """Run COMMAND as an exec probe would: in the folder of a plain process, and with
    its variables.

    ID is that of a container as `probetui ls` names it, or the number of a process. It
    is to processes what `docker exec` is to containers. The exit status is COMMAND's.
    """
    # Late: `probetui exec --help` and completion need none of it.
    from probetui.cli.folders import pods_folder  # noqa: PLC0415
    from probetui.runtimes.process.surroundings import of_container  # noqa: PLC0415

    try:
        place = of_container(pods_folder(), container_id.removeprefix("process://"))
    except ContainerRuntimeError as error:
        raise UsageError(str(error)) from error
    sys.stdout.flush()
    try:
        os.chdir(place.folder)
        os.execvpe(words[0], words, place.env)  # noqa: S606  # what was asked for
    except OSError as error:
        print_notice("error", f"{words[0]}: {error.strerror}")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_START
