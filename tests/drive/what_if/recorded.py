"""Recordings of simulated sessions, whose true outcomes are known."""

from __future__ import annotations

from pathlib import Path

from probetui.analysis.session_outcome import SessionOutcome, session_outcome
from probetui.cli.main import run
from probetui.drive.what_if.measurements import Measurements
from probetui.drive.what_if.rerun import Rerun, rerun
from probetui.drive.what_if.session_replay import SessionReplay, replay_session
from probetui.drive.what_if.settings import apply_settings, parse_probe_setting
from probetui.record.reader import RecordingFile

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, uid: web-uid}
spec:
  terminationGracePeriodSeconds: 3
  containers:
    - name: app
      image: app
      livenessProbe:
        exec: {command: [check]}
        periodSeconds: 5
        failureThreshold: 3
      readinessProbe:
        exec: {command: [ready]}
        periodSeconds: 2
"""


def simulate(
    folder: Path, script: str, *settings: str, pod: str = POD, length: str = "2m"
) -> Path:
    """Simulate a pod that follows a script and return the record."""
    record = folder / f"{len(list(folder.iterdir()))}.jsonl"
    manifest, behavior = folder / "pod.yaml", folder / "script.yaml"
    manifest.write_text(pod)
    behavior.write_text(script)
    options = [word for setting in settings for word in ("--set", setting)]
    words = ["sim", "-f", str(manifest), "--script", str(behavior), "--for", length]
    assert (
        run(
            [
                *words,
                *options,
                "--record",
                str(record),
                "--plain",
                "-q",
                "--no-autosave",
            ]
        )
        == 0
    )
    return record


def replay_of(record: Path) -> SessionReplay:
    return replay_session(RecordingFile(record))


def what_if(replay: SessionReplay, *settings: str) -> Rerun:
    pods = replay.pod_versions()
    parsed = [parse_probe_setting(setting, pods) for setting in settings]
    changed = apply_settings(pods, parsed, replay.config.rules)
    return rerun(replay, Measurements(replay), changed, replay.config)


def outcome_of(replay: SessionReplay, found: Rerun | None = None) -> SessionOutcome:
    return session_outcome(
        replay.journal if found is None else found.journal,
        replay.started_at,
        replay.ended_at,
        {} if found is None else found.gaps,
    )
