"""A running session under other numbers: what its screen shows while one is chosen."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from probetui.analysis.lanes import Lanes
from probetui.analysis.session_outcome import session_outcome
from probetui.debugger.commands import EditProbe
from probetui.debugger.timing import Timing
from probetui.drive.what_if.measurements import Measurements
from probetui.drive.what_if.rerun import rerun
from probetui.drive.what_if.session_replay import (
    ReplayStep,
    SessionReplay,
    replay_session,
)
from probetui.drive.what_if.settings import (
    ProbeSetting,
    RecordedProbe,
    apply_settings,
)
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import JournalEntry
from probetui.kubelet_rules import rules_of
from probetui.record.reader import RecordingFile
from probetui.tui.host_services import Tried

MOST_INPUTS = 20_000
"""The most inputs of a session that is run again while a user waits."""


class SessionSoFar:
    """A session as it is recorded when somebody first tries something on it.

    Args:
        record: the file of its record.
    """

    def __init__(self, record: Path) -> None:
        self._record = record

    @cached_property
    def _replay(self) -> SessionReplay:
        recording = RecordingFile(self._record)
        if len(recording) > MOST_INPUTS:
            raise UsageError(
                f"this session has {len(recording)} inputs, and at most {MOST_INPUTS} "
                "are tried on the screen: use `probetui whatif`"
            )
        return replay_session(recording)

    @cached_property
    def _measurements(self) -> Measurements:
        return Measurements(self._replay)

    def try_timing(self, key: ProbeKey, timing: Timing) -> Tried:
        """Return what the session would have been with another timing of a probe.

        Raises:
            ManifestError: an API server would refuse the timing.
            RecordError: the session cannot be run again.
            UsageError: it is too long to run again while somebody waits, or does not
                have the probe.
        """
        replay, config = self._replay, self._replay.config
        pods = replay.pod_versions()
        pod = next((pod for pod in pods if pod.uid == key.pod_uid), None)
        if pod is None:
            raise UsageError("the record of this session does not have the pod")
        probe = RecordedProbe(
            pod.namespace, pod.name, key.container_name, key.probe_type
        )
        settings = [
            ProbeSetting(f"{probe.path}.{field}={value}", probe, field, str(value))
            for field, value in timing.numbers.items()
        ]
        changed = apply_settings(
            pods, settings, rules_of(config.version, config.feature_gates)
        )
        edited = _with_edits(replay, key, timing)
        trial = rerun(edited, self._measurements, changed, config)
        container = key.pod_uid, key.container_name
        span = replay.started_at, replay.ended_at
        return Tried(
            *span,
            _lanes(replay.journal),
            _lanes(trial.journal),
            session_outcome(replay.journal, *span).totals_of(container),
            session_outcome(trial.journal, *span, trial.gaps).totals_of(container),
        )


def _with_edits(replay: SessionReplay, key: ProbeKey, timing: Timing) -> SessionReplay:
    """Return a session in which each edit of a probe was this one."""

    def other(step: ReplayStep) -> ReplayStep:
        is_edit = isinstance(step.item, EditProbe) and step.item.key == key
        return step._replace(item=EditProbe(key, timing)) if is_edit else step

    return replace(replay, steps=tuple(map(other, replay.steps)))


def _lanes(journal: tuple[JournalEntry, ...]) -> Lanes:
    lanes = Lanes()
    lanes.add_entries(journal)
    return lanes
