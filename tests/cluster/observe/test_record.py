"""Records of `watch`: observations are read, replayed and explained as recorded."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from probetui.cluster.observe.inputs import (
    ObservedInput,
    ObservedInputDecoder,
    ObservedInputEncoder,
    PodSeen,
    Unsampled,
)
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.observe.replay import ObservationReplay
from probetui.drive.playback.replay import ReplaySource
from probetui.engine.snapshot import Snapshot
from probetui.errors import RecordError
from probetui.k8s.status import PodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import JournalEntry, TickEntry
from probetui.record.codec import SessionHeader
from probetui.record.format import RecordContext
from probetui.record.masking import Mask
from probetui.record.reader import RecordingFile, read_recording
from probetui.record.values import DamageError
from probetui.record.writer import Recorder, RecordWriter
from tests.builders import a_pod
from tests.cluster.observe.test_observation import observe
from tests.cluster.player import Step, steps
from tests.cluster.recording import at

_SHORT = [step for step in steps() if step.at < 60]


def write_record(
    path: Path, observed_steps: list[Step]
) -> tuple[Snapshot, list[JournalEntry]]:
    """Record an observation of these steps; return its last snapshot and journal."""
    context = RecordContext(started_at=at(-20), pods={})
    recorder = Recorder(RecordWriter.open(path), context, keeps_secrets=True)
    config = KubeletConfig()
    header = SessionHeader("0", "t", "v1.32", {}, [], None, config, observed=True)
    recorder.begin(header)
    encoder = ObservedInputEncoder(None)

    def on_input(item: ObservedInput | None, now: datetime, sequence: int) -> None:
        if isinstance(item, PodSeen):
            recorder.register_pods([item.pod])
        json = None if item is None else encoder.encode(item)
        recorder.note_input(json, now, sequence)

    def begin(observation: ClusterObservation, step: Step) -> None:
        observation.on_input = on_input
        if step.kind == "pods" and 40 < step.at < 41:
            observation.lose_counters("node1", "not allowed", at(step.at))

    # The first step has no observation: it only begins the record.
    first = Step(-20.0, "events", {"object": {}, "type": "ADDED"})
    observation, entries = observe([first, *observed_steps], on_step=begin)
    recorder.consume(entries)
    recorder.end("stopped", 0, at(60))
    return observation.snapshot(at(60)), entries


class _Recorded(NamedTuple):
    path: Path
    snapshot: Snapshot
    entries: list[JournalEntry]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> _Recorded:
    """Return a record of the recorded cluster, with its last snapshot and journal."""
    path = tmp_path_factory.mktemp("record") / "watch.jsonl"
    return _Recorded(path, *write_record(path, _SHORT))


def test_a_replay_has_the_journal_of_the_session(recorded: _Recorded) -> None:
    path, snapshot, entries = recorded
    source = ReplaySource(RecordingFile(path), begin=ObservationReplay)

    while source.next_at() is not None:
        source.turn()
    source.pass_until(at(60))

    assert source.note == ""
    assert list(source.journal) == entries
    assert source.snapshot().pods == snapshot.pods


def test_observed_records_are_no_inputs_of_an_engine(recorded: _Recorded) -> None:
    with pytest.raises(RecordError, match="record is of `watch`"):
        ReplaySource(RecordingFile(recorded.path))


def test_a_replay_seeks_back_and_forward(recorded: _Recorded) -> None:
    path, _, entries = recorded
    source = ReplaySource(RecordingFile(path), apart=50, begin=ObservationReplay)
    while source.next_at() is not None:
        source.turn()

    source.seek_back(at(30))
    earlier = len(source.journal)
    while source.next_at() is not None:
        source.turn()

    assert 0 < earlier < len(entries)
    assert list(source.journal) == entries


def test_bounds_are_bounds_in_the_record_too(recorded: _Recorded) -> None:
    path, _, entries = recorded

    read = read_recording(path).entries

    doubts = [it.run.doubt for it in read if isinstance(it, TickEntry)]
    assert doubts == [it.run.doubt for it in entries if isinstance(it, TickEntry)]
    assert any("not allowed" in doubt for doubt in doubts)
    assert "" in doubts


def test_its_pods_are_found_by_readers(recorded: _Recorded) -> None:
    path, snapshot, _ = recorded

    found = {pod.uid for pod in RecordingFile(path).pods()}

    assert found == {pod.pod.uid for pod in snapshot.pods}


def test_what_samples_do_not_tell_is_in_the_record_too() -> None:
    unsampled = {"app": Unsampled(at(3), at(5)), "side": Unsampled(ready=at(4))}
    seen = PodSeen(a_pod(), PodStatus(), "node", is_news=False, unsampled=unsampled)

    line = msgspec.json.encode(ObservedInputEncoder(None).encode(seen))
    read = ObservedInputDecoder().decode(msgspec.json.decode(line))

    assert isinstance(read, PodSeen)
    assert read.unsampled == unsampled


def test_a_pod_is_written_once_and_its_secrets_are_masked() -> None:
    metadata = {"uid": "u", "name": "web", "namespace": "n"}
    env = [{"name": "API_TOKEN", "value": "hunter22"}]
    spec = {"containers": [{"name": "app", "image": "i", "env": env}]}
    encoder, written = ObservedInputEncoder(Mask()), []

    def keep(item: ObservedInput | None, *_: object) -> None:
        assert item is not None
        written.append(encoder.encode(item))

    observation = ClusterObservation(at(0))
    observation.on_input = keep
    for phase in ("Pending", "Running"):
        status = {"phase": phase}
        observation.set_pod(
            {"metadata": metadata, "spec": spec, "status": status}, at(1)
        )

    assert [it["is"] for it in written] == ["AddPod", "PodStatusSeen"]
    assert b"hunter22" not in msgspec.json.encode(written)


@pytest.mark.parametrize(
    "json",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"is": "SetPods", "pods": []}, id="a kubelet's"),
        pytest.param({"is": "PodStatusSeen", "uid": "x"}, id="pod that is not known"),
        pytest.param({"is": "AddPod", "pod": 3}, id="no pod"),
        pytest.param({"is": "PodGone"}, id="field missing"),
        pytest.param({"is": ["PodGone"]}, id="list"),
    ],
)
def test_what_is_no_input_is_damage(json: dict[str, Any]) -> None:
    with pytest.raises(DamageError):
        ObservedInputDecoder().decode(json)
