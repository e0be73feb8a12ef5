"""ObservationReplay: the recorded inputs of an observation, given to a new one."""

from __future__ import annotations

from datetime import datetime

from probetui.cluster.observe.inputs import ObservedInputDecoder
from probetui.cluster.observe.observation import ClusterObservation
from probetui.engine.snapshot import Snapshot
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.runtime.turn import Turn
from probetui.record.reader import RecordingFile
from probetui.record.values import DamageError


class ObservationReplay:
    """A `ReplayedSession` of a cluster's pods; it can be pickled."""

    def __init__(self, _config: KubeletConfig, started_at: datetime) -> None:
        self.position = 0
        self.entries = 0
        self.now = started_at
        self._observation = ClusterObservation(started_at)
        self._decoder = ObservedInputDecoder()

    def snapshot(self, now: datetime) -> Snapshot:
        """Return what was known at an instant."""
        return self._observation.snapshot(now)

    def feed_next_input(self, recording: RecordingFile) -> Turn:
        """Feed the next input; one that is damaged is skipped and noted."""
        now = recording.instants[self.position]
        try:
            json = recording.input(self.position)
            item = None if json is None else self._decoder.decode(json)
            self._observation.submit(item, now)
        except DamageError as error:
            recording.note_damage(self.position, error)
        entries = self._observation.take_entries()
        self.now = now
        self.position += 1
        self.entries += len(entries)
        return Turn(entries=entries)
