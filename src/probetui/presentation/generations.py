"""One line for each life of a container: its ticks, its times, how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from probetui.k8s.runtime import NO_CONTAINER
from probetui.kubelet.journal import By
from probetui.presentation.lives import ContainerPast, Life
from probetui.presentation.spans import Line, Role, Span, line, muted, text_of
from probetui.presentation.strips import generation_strip
from probetui.presentation.timeline import Generation, Timeline
from probetui.presentation.view import View

_KILLED = {
    By.LIVENESS: "killed by liveness",
    By.STARTUP: "killed by startup",
    By.USER: "restarted by hand",
    By.DELETE: "pod deleted",
    By.DEFINITION: "definition changed",
    By.POD: "pod stopped",
}
_LEAST_STRIP = 12
_GAP = "  "


def life_words(life: Life, view: View, following: Life | None = None) -> str:
    """Return times and end of a life: `08:19:10-08:20:25  ended by itself, exit 1`.

    An end is seen a little late: one that another life follows came before that.
    """
    started_at = life.started_at or life.created_at
    start = "before" if started_at is None else view.times.clock(started_at)
    exited = life.exited
    if exited is None:
        ended = "" if life.stopping is None else f"{_GAP}being stopped"
        return f"{start}-now{ended}"
    by = _KILLED.get(exited.by or By.ITSELF, "ended by itself")
    code = f"exit {exited.exit_code or 0}"
    memory = ", out of memory" if exited.oom_killed else ""
    ended_at = exited.at
    if following is not None and following.created_at is not None:
        ended_at = min(ended_at, following.created_at)
    return f"{start}-{view.times.clock(ended_at)}{_GAP}{by}, {code}{memory}"


def generation_lines(
    timeline: Timeline, past: ContainerPast, view: View, width: int, most: int
) -> Iterator[Line]:
    """Yield the last lives of a container, at most so many, the newest one last."""
    rows = _rows(timeline.generations(), past)
    shown = rows[-most:]
    if earlier := sum(_is_a_life(each) for each in rows[:-most]):
        yield line(muted(f"{earlier} earlier li{'fe' if earlier == 1 else 'ves'}"))
    followers = [life for life, _ in shown[1:]]
    words = [
        _words(life, generation, view, following)
        for (life, generation), following in zip_longest(shown, followers)
    ]
    numbers = ["gen -" if life is None else f"gen {life.number}" for life, _ in shown]
    label = max(map(len, numbers), default=0) + 1
    longest = max((len(text_of(each)) for each in words), default=0)
    room = width - longest - label - len(_GAP)
    for (_, generation), number, told in zip(shown, numbers, words, strict=True):
        ticks, left = _strip(timeline, generation, view, max(room, _LEAST_STRIP))
        more = f"+{left} " if left else ""
        padding = " " * max(room - len(text_of(ticks)) - len(more), 0)
        yield line(
            muted(number.ljust(label)), muted(more), *ticks, padding, _GAP, *told
        )


def _rows(
    generations: Sequence[Generation], past: ContainerPast
) -> list[tuple[Life | None, Generation | None]]:
    """Pair lives with the ticks that saw them; either may be missing."""
    rest = {each.container_id: each for each in generations}
    rows: list[tuple[Life | None, Generation | None]] = []
    if NO_CONTAINER in rest:
        rows.append((None, rest.pop(NO_CONTAINER)))
    known = {each.container_id for each in past.lives}
    rows += [(None, each) for key, each in rest.items() if key not in known]
    rows += [(each, rest.get(each.container_id)) for each in past.lives]
    return rows


def _is_a_life(row: tuple[Life | None, Generation | None]) -> bool:
    """Tell whether there was a container; ticks may come before the first one."""
    life, generation = row
    return life is not None or (
        generation is not None and generation.container_id != NO_CONTAINER
    )


def _strip(
    timeline: Timeline, generation: Generation | None, view: View, width: int
) -> tuple[Line, int]:
    if generation is None:
        return line(muted("no tick saw it")), 0
    ticks, left = generation_strip(timeline, generation.ticks, view, width)
    if not left:
        return ticks, 0
    return generation_strip(timeline, generation.ticks, view, width - len(f"+{left} "))


def _words(
    life: Life | None, generation: Generation | None, view: View, following: Life | None
) -> Line:
    if life is None:
        known = NO_CONTAINER if generation is None else generation.container_id
        return line(muted("there from before" if known else "no container yet"))
    role = Role.PLAIN if life.exited is None else Role.MUTED
    return line(Span(life_words(life, view, following), role))
