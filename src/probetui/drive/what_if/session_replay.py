"""The replay of a recorded session: inputs, effects and journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from probetui.drive.playback.replay import ReplayEngine, decode_config
from probetui.engine.inputs import AddPod, Input, SetPods
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Effect, RunOperation, RunProbe
from probetui.kubelet.facts import OperationFinished, ProbeFinished
from probetui.kubelet.journal import JournalEntry
from probetui.record.reader import RecordingFile

_QUIET = timedelta(seconds=10)
"""The longest time without an input: containers are listed every second."""


class ReplayStep(NamedTuple):
    """One input (None where only time passed), and the engine's response.

    `deadline` is when the engine wanted to be advanced next.
    """

    at: datetime
    item: Input | None
    effects: tuple[Effect, ...]
    deadline: datetime | None


class Answer(NamedTuple):
    """An answered effect: its request time, its answer, and the answer's time."""

    effect: RunProbe | RunOperation
    asked_at: datetime
    fact: ProbeFinished | OperationFinished
    at: datetime


def answers(steps: Iterable[ReplayStep]) -> Iterator[Answer]:
    """Yield the answered effects of some steps, in the order of the answers."""
    asked: dict[int, tuple[RunProbe | RunOperation, datetime]] = {}
    for step in steps:
        fact = step.item
        if isinstance(fact, ProbeFinished | OperationFinished):
            number = (
                fact.probe_id if isinstance(fact, ProbeFinished) else fact.operation_id
            )
            if number in asked:
                yield Answer(*asked.pop(number), fact, step.at)
        for effect in step.effects:
            match effect:
                case RunProbe(number) | RunOperation(number):
                    asked[number] = effect, step.at
                case _:
                    pass


class SessionReplay(Struct, frozen=True):
    """All steps of a recorded session; `journal` is the replayed engine's."""

    config: KubeletConfig
    started_at: datetime
    ended_at: datetime
    steps: tuple[ReplayStep, ...]
    journal: tuple[JournalEntry, ...]

    def pod_versions(self) -> list[Pod]:
        """Return the pods of the session, one for each time it was added."""
        versions: list[Pod] = []
        for step in self.steps:
            match step.item:
                case AddPod(pod):
                    versions.append(pod)
                case SetPods(pods):
                    versions += pods
                case _:
                    continue
        return versions

    def pods(self) -> dict[str, Pod]:
        """Return the newest version of each pod, by UID."""
        return {pod.uid: pod for pod in self.pod_versions()}


def replay_session(recording: RecordingFile) -> SessionReplay:
    """Replay a record and return its steps.

    Raises:
        RecordError: its session record is damaged, or its inputs make no sense.
    """
    try:
        config = decode_config(recording.session.config)
    except ValueError as error:
        raise RecordError(f"the session record is damaged: {error}") from error
    replayed = ReplayEngine(config, recording.started_at)
    steps: list[ReplayStep] = []
    journal: list[JournalEntry] = []
    for _ in range(len(recording)):
        try:
            turn = replayed.feed_next_input(recording)
        except Exception as error:  # an engine that is given nonsense
            after = (replayed.now - recording.started_at).total_seconds()
            raise RecordError(
                f"the record cannot be replayed from {after:.1f}s on: {error!r}"
            ) from error
        deadline = replayed.engine.next_deadline()
        steps.append(
            ReplayStep(replayed.now, replayed.last_input, turn.effects, deadline)
        )
        journal += turn.entries
    return SessionReplay(
        config,
        recording.started_at,
        # Claims of the last lines beyond that were not measured.
        max(min(recording.ended_at, replayed.now + _QUIET), replayed.now),
        tuple(steps),
        tuple(journal),
    )
