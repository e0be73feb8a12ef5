"""One line for each instance of a container: its ticks, its times, how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from probetui.analysis.container_history import ContainerHistory, ContainerInstance
from probetui.analysis.timeline import InstanceTicks, Timeline
from probetui.k8s.runtime import NO_CONTAINER
from probetui.kubelet.journal import ExitCause
from probetui.presentation.text.spans import Line, Role, Span, line, muted, text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.strips import instance_strip

_KILLED = {
    ExitCause.LIVENESS: "killed by liveness",
    ExitCause.STARTUP: "killed by startup",
    ExitCause.USER: "restarted by hand",
    ExitCause.DELETE: "pod deleted",
    ExitCause.DEFINITION: "spec changed",
    ExitCause.POD: "pod stopped",
}
_LEAST_STRIP = 12
_GAP = "  "


def format_instance(
    instance: ContainerInstance, view: View, following: ContainerInstance | None = None
) -> str:
    """Return times and end: `08:19:10-08:20:25  exited on its own, exit 1`.

    An exit is seen a little late: it was before the instance that follows was created.
    """
    started_at = instance.started_at or instance.created_at
    start = "before" if started_at is None else view.times.clock(started_at)
    exited = instance.exited
    if exited is None:
        ended = "" if instance.stopping is None else f"{_GAP}being stopped"
        return f"{start}-now{ended}"
    by = _KILLED.get(exited.by or ExitCause.ITSELF, "exited on its own")
    code = f"exit {exited.exit_code or 0}"
    memory = ", out of memory" if exited.oom_killed else ""
    ended_at = exited.at
    if following is not None and following.created_at is not None:
        ended_at = min(ended_at, following.created_at)
    return f"{start}-{view.times.clock(ended_at)}{_GAP}{by}, {code}{memory}"


def instance_lines(
    timeline: Timeline, history: ContainerHistory, view: View, width: int, most: int
) -> Iterator[Line]:
    """Yield the last `most` instances of a container, the newest one last."""
    rows = _rows(timeline.generations(), history)
    shown = rows[-most:]
    if earlier := sum(_is_a_life(row) for row in rows[:-most]):
        yield line(muted(f"{earlier} earlier instance{'' if earlier == 1 else 's'}"))
    followers = [instance for instance, _ in shown[1:]]
    words = [
        _words(instance, generation, view, following)
        for (instance, generation), following in zip_longest(shown, followers)
    ]
    numbers = [
        "inst -" if instance is None else f"inst {instance.number}"
        for instance, _ in shown
    ]
    label = max(map(len, numbers), default=0) + 1
    longest = max((len(text_of(word)) for word in words), default=0)
    room = width - longest - label - len(_GAP)
    for (_, generation), number, told in zip(shown, numbers, words, strict=True):
        ticks, left = _strip(timeline, generation, view, max(room, _LEAST_STRIP))
        more = f"+{left} " if left else ""
        padding = " " * max(room - len(text_of(ticks)) - len(more), 0)
        yield line(
            muted(number.ljust(label)), muted(more), *ticks, padding, _GAP, *told
        )


def _rows(
    generations: Sequence[InstanceTicks], history: ContainerHistory
) -> list[tuple[ContainerInstance | None, InstanceTicks | None]]:
    """Pair instances with the ticks that saw them; either may be missing."""
    rest = {generation.container_id: generation for generation in generations}
    rows: list[tuple[ContainerInstance | None, InstanceTicks | None]] = []
    if NO_CONTAINER in rest:
        rows.append((None, rest.pop(NO_CONTAINER)))
    known = {instance.container_id for instance in history.instances}
    rows += [(None, generation) for key, generation in rest.items() if key not in known]
    rows += [
        (instance, rest.get(instance.container_id)) for instance in history.instances
    ]
    return rows


def _is_a_life(row: tuple[ContainerInstance | None, InstanceTicks | None]) -> bool:
    """Tell whether there was a container; ticks may come before the first one."""
    instance, generation = row
    return instance is not None or (
        generation is not None and generation.container_id != NO_CONTAINER
    )


def _strip(
    timeline: Timeline, generation: InstanceTicks | None, view: View, width: int
) -> tuple[Line, int]:
    if generation is None:
        return line(muted("no tick saw it")), 0
    ticks, left = instance_strip(timeline, generation.ticks, view, width)
    if not left:
        return ticks, 0
    return instance_strip(timeline, generation.ticks, view, width - len(f"+{left} "))


def _words(
    instance: ContainerInstance | None,
    generation: InstanceTicks | None,
    view: View,
    following: ContainerInstance | None,
) -> Line:
    if instance is None:
        known = NO_CONTAINER if generation is None else generation.container_id
        return line(muted("started earlier" if known else "no container yet"))
    role = Role.PLAIN if instance.exited is None else Role.MUTED
    return line(Span(format_instance(instance, view, following), role))
