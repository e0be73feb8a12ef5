"""`probetui exec`: a command where a container runs, on every runtime."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from probetui.analysis.reproduce import engine_exec_command, quote_shell_line
from probetui.cli.commands.listing import ListedPod, PodSearch
from probetui.cli.folders import pods_folder
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import RuntimeOptions
from probetui.cli.printing import print_notice, print_output
from probetui.drive.clocks import SystemClock
from probetui.errors import (
    ContainerRuntimeError,
    ExecutableMissingError,
    RuntimeUnavailableError,
    UsageError,
)
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.runtimes.process.listing import (
    ProcessEnvironment,
    environment_of_container,
)

if TYPE_CHECKING:
    from probetui.cli.commands.management import ExecOptions

_CANNOT_START, _NOT_FOUND = 126, 127
"""Exit statuses of a command that was not run, as shells have them."""

_PROCESS = "process://"


async def run_command(target: str, command: Sequence[str], options: ExecOptions) -> int:
    """Run a command in a container of ours and return its exit status.

    Args:
        target: a pod, POD/CONTAINER, or the ID of a plain process.
        command: the command, run without a shell.
        options: where it is run, and what it is given.

    Raises:
        UsageError: there is no such container, or several.
        RuntimeUnavailableError: it does not run.
    """
    if options.container is None and (place := _process(target)) is not None:
        return _replace_this_process(place, command)
    async with PodSearch(
        pick_options(RuntimeOptions, options), SystemClock()
    ) as search:
        pod, container = await search.container(
            target, options.container, options.namespace
        )
        if container.state is not RuntimeState.RUNNING:
            raise RuntimeUnavailableError(
                f"{pod.full_name}/{container.name} does not run"
            )
        own_id = container.container_id
        if not own_id.startswith(_PROCESS):
            if options.stdin or options.tty:
                raise _no_terminal(container, command, options)
            return await _run_in(pod, container, command)
    return _replace_this_process(
        environment_of_container(pods_folder(), own_id.removeprefix(_PROCESS)), command
    )


def _process(target: str) -> ProcessEnvironment | None:
    own_id = target.removeprefix(_PROCESS)
    try:
        return environment_of_container(pods_folder(), own_id)
    except ContainerRuntimeError as error:
        if target.startswith(_PROCESS):
            raise UsageError(str(error)) from error
        return None


def _no_terminal(
    container: RuntimeContainerStatus, command: Sequence[str], options: ExecOptions
) -> UsageError:
    """Return the error that names the engine's command, which has a terminal."""
    flags = ["-i"] * options.stdin + ["-t"] * options.tty
    reach = pick_options(RuntimeOptions, options).reach
    words = engine_exec_command(container.container_id, reach, *flags)
    line = quote_shell_line([*words, *command])
    return UsageError(
        f"{' '.join(flags)}: exec gives a container no input and no terminal, as "
        f"exec probes have none; the engine does: {line}"
    )


async def _run_in(
    pod: ListedPod, container: RuntimeContainerStatus, command: Sequence[str]
) -> int:
    """Run it as an exec probe is run: without a terminal and without a time limit."""
    try:
        result = await pod.runtime.exec_sync(
            container.container_id, tuple(command), timeout_seconds=0
        )
    except ContainerRuntimeError as error:
        print_notice("error", f"{command[0]}: {error}")
        is_missing = isinstance(error, ExecutableMissingError)
        return _NOT_FOUND if is_missing else _CANNOT_START
    print_output(result.stdout)
    print_output(result.stderr, err=True)
    return result.exit_code


def _replace_this_process(place: ProcessEnvironment, command: Sequence[str]) -> int:
    """Become the command, in the folder and with the environment of a process."""
    sys.stdout.flush()
    try:
        os.chdir(place.folder)
        os.execvpe(command[0], list(command), place.env)  # noqa: S606  # what was asked for
    except OSError as error:
        print_notice("error", f"{command[0]}: {error.strerror}")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_START
