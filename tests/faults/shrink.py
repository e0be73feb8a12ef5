"""The shortest schedule of faults that still breaks the same rule, and its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

from probetui.cli.session.recording import make_header
from probetui.cluster.observe.inputs import ObservedInputDecoder
from probetui.cluster.observe.observation import ClusterObservation
from probetui.engine.engine import Engine
from probetui.kubelet.journal import JournalEntry
from probetui.record.format import RecordContext
from probetui.record.writer import Recorder, RecordWriter
from tests.faults.session import Life, World, run_world

RunWorld: TypeAlias = Callable[..., World]
"""Runs the world of a seed, in a folder, with the faults that are kept."""


class Shrunk(NamedTuple):
    """A world of few faults: which they are, and what they break."""

    world: World
    faults: list[str]
    broken: list[str]


def shrink(
    seed: int,
    broken_by: Callable[[World], list[str]],
    run_one: RunWorld = run_world,
) -> Shrunk:
    """Leave out faults of a world for as long as it breaks something.

    A fault that is left out changes what comes after it, as which faults are met: of
    what is left each is needed, and a shorter schedule of others may exist.
    """

    def run(kept: Sequence[int] | None) -> Shrunk:
        with TemporaryDirectory() as folder:
            world = run_one(seed, Path(folder), kept)
            met = world.schedule.met
            happened = (
                met
                if kept is None
                else [met[number] for number in kept if number < len(met)]
            )
            return Shrunk(world, happened, broken_by(world))

    every = range(len(run(None).faults))
    return run(_least(every, lambda some: bool(run(some).broken)))


def _least(
    items: Sequence[int], is_enough: Callable[[Sequence[int]], bool]
) -> Sequence[int]:
    """Return some of the items of which none can be left out.

    Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input
    (2002), ddmin; without its tests of small parts alone.
    """
    if is_enough(()):
        return ()
    parts = 2
    while len(items) > 1:
        size = -(-len(items) // parts)
        for begin in range(0, len(items), size):
            rest = [*items[:begin], *items[begin + size :]]
            if is_enough(rest):
                items, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(parts * 2, len(items))
    return list(items)


def write_record(life: Life, world: World, path: Path) -> None:
    """Write the record of a life, whatever became of its own, on a sound disk."""
    context = RecordContext(life.started_at, {pod.uid: pod for pod in world.pods})
    recorder = Recorder(RecordWriter.open(path), context)
    header = make_header(
        (),
        "faulty",
        life.config,
        {},
        show_secrets=False,
        observed=life.is_observed,
    )
    recorder.begin(header)
    run_on = _watch_on if life.is_observed else _decide_on
    submit, count, now = run_on(life), 0, life.started_at
    for item, now in life.inputs:  # the last one is used
        recorder.note_input(item, now, count)
        entries = submit(item, now)
        recorder.consume(entries)
        count += len(entries)
    recorder.end("left", 0, now)


_Submit: TypeAlias = Callable[[Any, datetime], Sequence[JournalEntry]]


def _decide_on(life: Life) -> _Submit:
    engine = Engine(life.config, life.started_at)

    def submit(item: Any, now: datetime) -> Sequence[JournalEntry]:
        turn = engine.advance(now) if item is None else engine.submit(item, now)
        return turn.entries

    return submit


def _watch_on(life: Life) -> _Submit:
    observation, decoder = ClusterObservation(life.started_at), ObservedInputDecoder()

    def submit(item: Any, now: datetime) -> Sequence[JournalEntry]:
        observation.submit(None if item is None else decoder.decode(item), now)
        return observation.take_entries()

    return submit
