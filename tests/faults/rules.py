"""What must hold in every world, whatever failed."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from probetui.analysis.container_history import SessionHistory
from probetui.cluster.observe.replay import ObservationReplay
from probetui.debugger.commands import EditProbe
from probetui.drive.what_if.session_replay import replay_session
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.status import Running, Terminated
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    HookEntry,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
    Probed,
    StatusEntry,
    TickEntry,
    Trigger,
    UserEntry,
)
from probetui.kubelet.outcome import Result
from probetui.record.file import record_lines
from probetui.record.reader import RecordingFile, read_recording
from tests.cases.truth import Observed, untruths
from tests.drive.test_properties import KILLERS, NOT_RUNNING, failures_in_a_row
from tests.faults.session import Life, World

_NO_ENTRIES = ("session", "input", "rewind", "end")
_ASKED_EACH, _ASKED_TIMES = timedelta(seconds=19), 16
"""How often "why?" is asked, at most so many times in a long life."""

_NO_TIME = timedelta()
UNSAID = ("nothing is known to keep it",)
"""A call that is not answered is in no journal. `why` can only say that the kubelet has
not come to a container."""


def broken_rules(world: World) -> list[str]:
    """Return what does not hold in a world, empty if all does."""
    found = list(world.broken)
    pods = {pod.uid: pod for pod in world.pods}
    for number, life in enumerate(world.lives, 1):
        for rule in RULES_OF_WATCH if life.is_observed else RULES:
            found += [f"life {number}: {broken}" for broken in rule(life, pods)]
    return found


def _numbers(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """Entries are numbered without a gap."""
    numbers = [entry.sequence for entry in life.journal]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "entries are not numbered in order"


def _order(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """Entries are in the order of time."""
    if any(before.at > after.at for before, after in pairwise(life.journal)):
        yield "an entry is older than the one before it"


def _kills(life: Life, pods: dict[str, Pod]) -> Iterator[str]:
    """A probe kills only after its threshold, and every stop has a cause."""
    ticks: dict[ProbeKey, list[TickEntry]] = defaultdict(list)
    for entry in life.journal:
        if isinstance(entry, TickEntry):
            ticks[entry.key].append(entry)
        if not isinstance(entry, ContainerEntry):
            continue
        if entry.what is not LifecycleStep.STOPPING:
            continue
        if entry.by is None:
            yield f"{entry.container_name} is stopped without a cause, {entry.sequence}"
        if entry.by not in KILLERS:
            continue
        kind = KILLERS[entry.by]
        before = ticks[ProbeKey(entry.pod_uid, entry.container_name, kind)]
        was_not_running = any(
            (tick.skip or tick.exit) in NOT_RUNNING
            for tick in before
            if tick.container_id == entry.container_id
        )
        key = ProbeKey(entry.pod_uid, entry.container_name, kind)
        thresholds = _failure_thresholds(life, pods, key)
        enough = failures_in_a_row(before) >= min(thresholds, default=math.inf)
        if not (was_not_running or enough):
            yield f"{entry.by} killed {entry.container_name} early, {entry.sequence}"


def _failure_thresholds(
    life: Life, pods: dict[str, Pod], key: ProbeKey
) -> Iterator[int]:
    """Yield that of the manifest, and those that a user has set."""
    container = pods[key.pod_uid].container(key.container_name)
    probe = None if container is None else container.probe(key.probe_type)
    if probe is not None:
        yield probe.failure_threshold
    for item, _ in life.inputs:
        if isinstance(item, EditProbe) and item.key == key and item.timing is not None:
            yield item.timing.failure_threshold


def _holds(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """Nothing is probed on hold, but what a user triggers."""
    last: dict[ProbeKey, TickEntry] = {}
    for entry in life.journal:
        if not isinstance(entry, TickEntry):
            continue
        before = last.get(entry.key)
        last[entry.key] = entry
        if before is None or not before.hold.after or entry.new_container:
            continue
        if isinstance(entry.outcome, Probed):
            yield f"{entry.key} is probed on hold, {entry.sequence}"


def _pauses(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """During a pause each step begins one tick, beside those that a user triggers."""
    paused = list(_paused(life))
    steps = Counter(
        entry.at
        for entry in life.journal
        if isinstance(entry, UserEntry) and entry.command == "step"
    )
    for entry in life.journal:
        if not isinstance(entry, TickEntry) or entry.trigger is Trigger.USER:
            continue
        began = entry.timing.started_at
        # At the very instant of a command the order is not known.
        if any(since < began < until for since, until in paused):
            steps[began] -= 1
            if steps[began] < 0:
                yield f"{entry.key} is probed during a pause, {entry.sequence}"


def _paused(life: Life) -> Iterator[tuple[datetime, datetime]]:
    since = None
    for entry in life.journal:
        match entry:
            case UserEntry(command="pause" | "step"):
                since = since or entry.at
            case NoteEntry(text=text) if text.startswith("paused: "):  # a break-point
                since = since or entry.at
            case UserEntry(command="resume" | "run to change") if since is not None:
                yield since, entry.at
                since = None
            case _:
                pass
    if since is not None:
        yield since, datetime.max.replace(tzinfo=UTC)


def _ends(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """No instance is probed whose end was in the status, which the worker reads."""
    ended: dict[str, datetime] = {}
    for entry in life.journal:
        match entry:
            case StatusEntry(status=status):
                for container in (
                    *(status.container_statuses or ()),
                    *(status.init_container_statuses or ()),
                ):
                    for state in (container.state, container.last_state):
                        if isinstance(state, Terminated):
                            ended.setdefault(state.container_id, entry.at)
            case TickEntry(outcome=Probed(), container_id=container_id):
                over = ended.get(str(container_id))
                if over is not None and over < entry.timing.started_at:
                    yield f"{entry.key} is probed after its end, {entry.sequence}"
            case _:
                pass


def _durations(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """Nothing takes less than no time, or ends before it begins."""
    for entry in life.journal:
        match entry:
            case TickEntry() if entry.timing.duration < _NO_TIME:
                yield f"a tick took {entry.timing.duration}, {entry.sequence}"
            case BackoffEntry(until=until) if until and until < (entry.since or until):
                yield f"a back-off ends before it began, {entry.sequence}"
            case HookEntry(ended_at=ended_at) if (
                ended_at and ended_at < entry.started_at
            ):
                yield f"a hook ended before it began, {entry.sequence}"
            case StatusEntry():
                for status in entry.status.container_statuses or ():
                    for state in (status.state, status.last_state):
                        if isinstance(state, Terminated) and (
                            state.started_at
                            and state.finished_at
                            and state.finished_at < state.started_at
                        ):
                            yield f"{status.name} ended early, {entry.sequence}"
            case _:
                pass


def _own_trouble(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """An attempt that could not be made is no failure."""
    for entry in life.journal:
        if not isinstance(entry, TickEntry) or not entry.attempts:
            continue
        is_error = entry.attempts[-1].error is not None
        if is_error and entry.result is Result.FAILURE:
            yield f"an error counts as a failure, {entry.sequence}"


def _readiness(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """What does not run is not ready."""
    for entry in life.journal:
        if not isinstance(entry, StatusEntry):
            continue
        for status in entry.status.container_statuses or ():
            if status.ready and not isinstance(status.state, Running):
                yield f"{status.name} is ready and does not run, {entry.sequence}"


def _counts(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """Restart counts never go back, and no instance is created twice."""
    counts: dict[tuple[str, str], int] = {}
    created = set()
    for entry in life.journal:
        if not isinstance(entry, ContainerEntry):
            continue
        place = entry.pod_uid, entry.container_name
        if entry.restart_count < counts.get(place, 0) and (
            entry.what is LifecycleStep.CREATED
        ):
            yield f"{entry.container_name}: its count goes back, {entry.sequence}"
        if entry.what is LifecycleStep.CREATED:
            counts[place] = entry.restart_count
            if entry.container_id in created:
                yield f"{entry.container_id} is created twice, {entry.sequence}"
            created.add(entry.container_id)


def _replay(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """The recorded inputs give the same journal; _record replays a sound record."""
    if life.record is not None and life.record.file.failed_at is None:
        return
    engine = Engine(life.config, life.started_at)
    entries: list[JournalEntry] = []
    for item, now in life.inputs:
        turn = engine.advance(now) if item is None else engine.submit(item, now)
        entries += turn.entries
    if entries != list(life.journal):
        yield "a replay of the inputs gives another journal"


def pasts_of(
    life: Life,
) -> Iterator[tuple[datetime, SessionHistory, list[JournalEntry]]]:
    """Yield the instants at which "why?" is asked, and what was known then."""
    now, known = life.started_at, list[JournalEntry]()
    past = SessionHistory(known)
    ends = life.journal[-1].at if life.journal else now
    each = max(_ASKED_EACH, (ends - now) / _ASKED_TIMES)
    while now < ends:
        now += each
        read = len(known)
        known += itertools.takewhile(lambda entry: entry.at <= now, life.journal[read:])  # noqa: B023  # it is called at once
        past.add_entries(known[read:], read)
        yield now, past, known


def _answers(life: Life, pods: dict[str, Pod]) -> Iterator[str]:
    """Each container has an answer to "why?" at any time, and none is untrue."""
    for now, past, entries in pasts_of(life):
        # Those of a node come, change and go.
        there = pods if life.record is not None else _pods_given(life, now)
        observed = Observed(
            past, entries, now, life.config.rules, tuple(there.values())
        )
        for untrue in untruths(observed):
            if not any(known in untrue for known in UNSAID):
                yield untrue


def _pods_given(life: Life, until: datetime) -> dict[str, Pod]:
    """Return the newest version of each pod that a node was given so far."""
    given = [
        item.pods
        for item, at in life.inputs
        if isinstance(item, SetPods) and at <= until
    ]
    return {pod.uid: pod for pods in given for pod in pods}


def _trouble(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """That the disk takes no more is said once."""
    if (record := life.record) is None:
        return
    trouble = record.recorder.problem
    if bool(trouble) != record.file.has_refused:
        yield f"the disk has refused: {record.file.has_refused}; problem: {trouble!r}"
    is_said = [trouble in note for note in record.notes]
    if is_said not in ([True], []) or (record.ended and len(is_said) != bool(trouble)):
        yield f"of the record {record.notes} is said, for {trouble!r}"


def _record(life: Life, _pods: dict[str, Pod]) -> Iterator[str]:
    """A record is read up to its last whole line, and replays to what was decided."""
    if (record := life.record) is None:
        return
    journal = life.journal
    is_whole = record.ended and not record.recorder.problem
    lines = list(_whole_lines(record.path))
    # What is seen of a cluster has happened at any time before.
    owed = sum(
        is_whole or (entry.at < record.sound_until and not life.is_observed)
        for entry in journal
    )
    if not lines:
        if owed:
            yield f"nothing is in the record, and {owed} entries should be"
        return
    recording = read_recording(record.path)
    read = len(recording.entries)
    kinds = Counter(line["type"] for line in lines)
    whole = kinds.total() - sum(kinds[kind] for kind in _NO_ENTRIES)
    if list(recording.entries) != list(journal[:read]) or read != whole:
        yield f"of {whole} recorded entries {read} are read, or others"
    if read < owed:
        yield f"{read} entries are in the record, and {owed} should be"
    if is_whole and recording.problem:
        yield f"the record of a whole session: {recording.problem}"
    if kinds["input"]:
        replayed = _replayed(life, RecordingFile(record.path))
        owed = len(journal) if is_whole else read
        if len(replayed) < owed or list(replayed) != list(journal[: len(replayed)]):
            yield "the record replays to another journal"


def _replayed(life: Life, recording: RecordingFile) -> Sequence[JournalEntry]:
    if not life.is_observed:
        return replay_session(recording).journal
    replay = ObservationReplay(life.config, recording.started_at)
    turns = (replay.feed_next_input(recording) for _ in range(len(recording)))
    return [entry for turn in turns for entry in turn.entries]


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in record_lines(path):
        # Of a torn compressed file the last line is ended by its reader.
        with suppress(json.JSONDecodeError):
            if line.endswith(b"\n"):
                yield json.loads(line)


RULES = (
    _numbers,
    _order,
    _kills,
    _holds,
    _pauses,
    _ends,
    _durations,
    _own_trouble,
    _readiness,
    _counts,
    _replay,
    _answers,
    _trouble,
    _record,
)

RULES_OF_WATCH = (_numbers, _trouble, _record)
"""What is seen of a cluster comes in any order; tests/faults/watch.py has the rest."""
