"""`probetui logs`: what a container of ours has printed, on every runtime."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

from probetui.cli.commands.listing import ListedPod, PodSearch
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import RuntimeOptions
from probetui.cli.printing import print_output
from probetui.drive.clocks import SystemClock
from probetui.errors import NothingToDoError, UsageError
from probetui.k8s.runtime import LogLine, RuntimeContainerStatus
from probetui.ports import Runtime
from probetui.presentation.plain.lines import format_rfc3339

if TYPE_CHECKING:
    from probetui.cli.commands.management import LogsOptions

_ALL_LINES = 10_000_000
"""More than a log may have: runtimes rotate it after some ten MiB."""


async def print_logs(target: str, options: LogsOptions) -> int:
    """Print what a container of ours has printed; return the exit status, which is 0.

    Args:
        target: a pod, or POD/CONTAINER.
        options: which container, and how much of its log.

    Raises:
        UsageError: there is no such container, or several.
        NothingToDoError: there is no instance before this one.
        ContainerRuntimeError: the log cannot be read.
    """
    clock = SystemClock()
    async with PodSearch(pick_options(RuntimeOptions, options), clock) as search:
        pod, container = await search.container(
            target, options.container, options.namespace
        )
        if options.previous:
            container = _previous(pod, container)
        since = None if options.since is None else clock.now() - options.since
        await _print_lines(pod.runtime, container, options, since)
    return 0


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
            if line.at is None and (since is not None or options.timestamps):
                raise UsageError(
                    "--since, --timestamps: the lines of a plain process have no times"
                )
            if since is None or (line.at is not None and line.at >= since):
                print_output(_text(line, options.timestamps).encode(errors=_AS_READ))


_AS_READ = "surrogateescape"
"""Bytes that are not UTF-8 are printed as the container wrote them."""


def _text(line: LogLine, shows_time: bool) -> str:  # noqa: FBT001  # an option's value
    stamp = f"{format_rfc3339(line.at)} " if shows_time and line.at is not None else ""
    return f"{stamp}{line.text}\n"
