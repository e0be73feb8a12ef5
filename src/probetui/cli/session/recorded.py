"""A recorded session that is read whole: what happened, and what it measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from probetui.analysis.session_outcome import SessionOutcome, session_outcome
from probetui.cli.printing import Notes
from probetui.drive.playback.replay import ReplaySource
from probetui.drive.what_if.measurements import Measurements
from probetui.drive.what_if.rerun import Rerun
from probetui.drive.what_if.session_replay import SessionReplay, replay_session
from probetui.k8s.pod import Pod
from probetui.record.file import RecordLines
from probetui.record.reader import RecordingFile


class RecordedSession(Struct, frozen=True):
    """A record, read: what happened, what it measured, its pods by UID."""

    path: Path
    replay: SessionReplay
    measurements: Measurements
    pods: Mapping[str, Pod]

    def outcome(self, rerun: Rerun | None = None) -> SessionOutcome:
        """Return what the recorded session came to, or a rerun of it."""
        return session_outcome(
            self.replay.journal if rerun is None else rerun.journal,
            self.replay.started_at,
            self.replay.ended_at,
            {} if rerun is None else rerun.gaps,
        )

    def name(self, pod_uid: str, container: str) -> str:
        """Return a container's name for people."""
        pod = self.pods.get(pod_uid)
        return f"{pod_uid if pod is None else pod.name}/{container}"


def is_observed(path: Path) -> bool:
    """Return whether a record is of an observation, where no engine decided.

    Raises:
        RecordError: it is no record.
    """
    return RecordLines(path).session.observed


def read_session(path: Path, notes: Notes, most_bytes: int) -> RecordedSession:
    """Read a record, and warn of what is damaged or not decided as it was recorded.

    Raises:
        RecordError: it cannot be replayed.
    """
    recording = RecordingFile(path, most_bytes)
    checked = ReplaySource(recording)
    while checked.look_ahead():
        pass
    if checked.note:
        notes.warning(f"{path}: {checked.note}")
    replay = replay_session(recording)
    return RecordedSession(path, replay, Measurements(replay), replay.pods())
