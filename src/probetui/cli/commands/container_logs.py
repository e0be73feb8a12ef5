"""`probetui logs`: what a container of ours has printed, on every runtime."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from probetui.cli.commands.listing import ListedPod, PodSearch
from probetui.cli.commands.recorded_logs import (
    has_recorded_pod,
    print_log_line,
    print_recorded_logs,
)
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import RuntimeOptions
from probetui.cli.session.autosave import last_session
from probetui.drive.clocks import SystemClock
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.pod_names import UnknownPodError
from probetui.k8s.runtime import RuntimeContainerStatus
from probetui.ports import Runtime
from probetui.record.file import names_record

if TYPE_CHECKING:
    from probetui.cli.commands.management import LogsOptions

_ALL_LINES = 10_000_000
"""More than a log may have: runtimes rotate it after some ten MiB."""


async def print_logs(arguments: Sequence[str], options: LogsOptions) -> int:
    """Print what a container of ours has printed; return the exit status, which is 0.

    Args:
        arguments: a pod, or POD/CONTAINER, and perhaps a record.
        options: which container, and how much of its log.

    Raises:
        UsageError: there is no such container, or several.
        NothingToDoError: there is no instance before this one.
        ContainerRuntimeError: the log cannot be read.
        RecordError: the record cannot be read.
    """
    path, target = _parse_arguments(arguments)
    if path is not None:
        print_recorded_logs(path, target, options)
        return 0
    try:
        await _print_live_logs(target, options)
    except UnknownPodError:
        if (last := last_session()) is None or not has_recorded_pod(last, target):
            raise
        print_recorded_logs(last, target, options)
    return 0


def _parse_arguments(arguments: Sequence[str]) -> tuple[Path | None, str]:
    """Return the record, None without one, and the pod.

    Raises:
        UsageError: there is not one pod, or more than one record.
    """
    records = [argument for argument in arguments if names_record(argument)]
    pods = [argument for argument in arguments if not names_record(argument)]
    if len(pods) != 1 or len(records) > 1:
        raise UsageError("logs takes one POD or POD/CONTAINER, and at most one record")
    return (Path(records[0]) if records else None), pods[0]


async def _print_live_logs(target: str, options: LogsOptions) -> None:
    clock = SystemClock()
    async with PodSearch(pick_options(RuntimeOptions, options), clock) as search:
        pod, container = await search.container(
            target, options.container, options.namespace
        )
        if options.previous:
            container = _previous(pod, container)
        since = None if options.since is None else clock.now() - options.since
        await _print_lines(pod.runtime, container, options, since)


def _previous(pod: ListedPod, newest: RuntimeContainerStatus) -> RuntimeContainerStatus:
    earlier = [
        instance
        for instance in pod.status.containers
        if instance.name == newest.name
        and instance.restart_count < newest.restart_count
    ]
    if not earlier:
        raise NothingToDoError(
            f"{pod.full_name}/{newest.name}: no earlier instance of it is left"
        )
    return max(earlier, key=lambda instance: instance.restart_count)


async def _print_lines(
    runtime: Runtime,
    container: RuntimeContainerStatus,
    options: LogsOptions,
    since: datetime | None,
) -> None:
    lines = runtime.follow_logs(
        container.container_id,
        tail=_ALL_LINES if options.tail is None else options.tail,
        follow=options.follow,
    )
    closing = aclosing(lines) if isinstance(lines, AsyncGenerator) else nullcontext()
    async with closing:
        async for line in lines:
            print_log_line(line, since, shows_time=options.timestamps)
