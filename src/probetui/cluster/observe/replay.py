"""ObservationReplay: feeds the recorded inputs of an observation to a new one."""

from __future__ import annotations

import re
from datetime import datetime

from msgspec.structs import replace

from probetui.cluster.observe.inputs import ObservedInputDecoder
from probetui.cluster.observe.observation import ClusterObservation
from probetui.engine.snapshot import Snapshot
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import ContainerEntry, JournalEntry
from probetui.kubelet.runtime.turn import Turn
from probetui.record.reader import RecordingFile
from probetui.record.values import DamageError

_FORMER_NOTE = re.compile(
    r": should have been killed at [0-9:]+ \(\d+ in a row\) and was$"
)


class ObservationReplay:
    """A `ReplayedSession` of a cluster's pods; it can be pickled."""

    def __init__(self, _config: KubeletConfig, started_at: datetime) -> None:
        self.position = 0
        self.entries = 0
        self.now = started_at
        self._observation = ClusterObservation(started_at)
        self._decoder = ObservedInputDecoder()

    def snapshot(self, now: datetime) -> Snapshot:
        """Return the snapshot at an instant."""
        return self._observation.snapshot(now)

    def feed_next_input(self, recording: RecordingFile) -> Turn:
        """Feed the next input; skip and report a damaged one."""
        now = recording.instants[self.position]
        try:
            json = recording.input(self.position)
            item = None if json is None else self._decoder.decode(json)
            self._observation.submit(item, now)
        except DamageError as error:
            recording.note_damage(self.position, error)
        entries = tuple(
            _with_former_number(entry, recording, self.entries + place)
            for place, entry in enumerate(self._observation.take_entries())
        )
        entries += self._former_notes(recording, len(entries))
        self.now = now
        self.position += 1
        self.entries += len(entries)
        return Turn(entries=entries)

    def _former_notes(
        self, recording: RecordingFile, made: int
    ) -> tuple[JournalEntry, ...]:
        """Return the notes of a turn that observations no longer write.

        Each predicted kill had one. They are kept, so that later records keep their
        numbers.
        """
        notes: tuple[JournalEntry, ...] = ()
        number = self.entries
        while number < recording.entries:
            note = _former_note(recording, number)
            if note is not None:
                self._observation.note(*note)
                notes += self._observation.take_entries()
            elif not made:
                break
            else:
                made -= 1
            number += 1
        return notes


def _with_former_number(
    entry: JournalEntry, recording: RecordingFile, number: int
) -> JournalEntry:
    """Return an entry with the number of its instance as the record has it.

    In a back-off, the instance that had ended was said to be the one before it.
    """
    if not isinstance(entry, ContainerEntry) or number >= recording.entries:
        return entry
    try:
        record = recording.entry(number)
    except DamageError:
        return entry
    is_same = record.get("containerID") == entry.container_id
    if is_same and record.get("restartCount") == entry.restart_count - 1:
        return replace(entry, restart_count=entry.restart_count - 1)
    return entry


def _former_note(recording: RecordingFile, number: int) -> tuple[str, datetime] | None:
    """Return the text and time of a recorded note that is no longer written."""
    try:
        record = recording.entry(number)
        at = datetime.fromisoformat(str(record.get("ts")))
    except (DamageError, ValueError):
        return None
    text = record.get("text")
    if record.get("type") != "note" or not isinstance(text, str):
        return None
    if _FORMER_NOTE.search(text) is None:
        return None
    return text, at
