"""What is written of events, against what a kubelet 1.36.2 wrote."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.kubelet.events.event_recorder import EventRecorder, EventWrite
from tests.cluster.recorded import recorded

FIRST_POD = datetime(2026, 11, 23, 1, 3, 39, 744876, tzinfo=UTC)
POD = Pod("u", "web", "shop")


def _first_seen() -> dict[str, tuple[str, str]]:
    """Return uid and version of each pod, as the API server sent it first."""
    events = [line["event"] for line in recorded("pods.watch") if "event" in line]
    added = [one["object"]["metadata"] for one in events if one["type"] == "ADDED"]
    return {one["name"]: (one["uid"], one["resourceVersion"]) for one in added}


def _writes_of_ours() -> list[tuple[str, dict[str, Any]]]:
    recorder = EventRecorder("node1", allows_by_type=True)
    first_seen = _first_seen()
    writes = []
    for line in recorded("events-made"):
        if line["kind"] != "Pod":
            continue
        name = line["object"]["name"]
        uid, version = first_seen[name]
        event = Event(
            EventType(line["type"]),
            line["reason"],
            line["message"],
            uid,
            line["fieldPath"],
            FIRST_POD + timedelta(seconds=line["t"]),
        )
        write = recorder.record(event, Pod(uid, name), version)
        if write is not None:
            body = write.body if write.patch is None else write.patch
            writes.append((name, body))
    return writes


def _writes_of_kubelet() -> list[tuple[str, dict[str, Any]]]:
    names = [
        (line["uri"].split("/")[-1].split(".")[0], line["request"])
        if line["verb"] == "patch"
        else (line["request"]["involvedObject"]["name"], line["request"])
        for line in recorded("event-writes")
    ]
    return [(name, body) for name, body in names if name != "node1"]


def _by_pod(
    writes: list[tuple[str, dict[str, Any]]],
) -> dict[str, list[dict[str, Any]]]:
    """Return the writes of each pod, all but the instants that were measured.

    Of the name stays the pod and whether the rest is the first timestamp.
    """
    pods = defaultdict(list)
    for name, body in writes:
        plain = {
            key: value
            for key, value in body.items()
            if key not in {"firstTimestamp", "lastTimestamp"}
        }
        if "metadata" in plain:
            metadata = plain["metadata"]
            about, _, nanoseconds = metadata["name"].rpartition(".")
            seen = datetime.fromtimestamp(int(nanoseconds, 16) // 10**9, UTC)
            is_first = seen == datetime.fromisoformat(body["firstTimestamp"])
            plain["metadata"] = {**metadata, "name": (about, is_first)}
        pods[name].append(plain)
    return dict(pods)


def test_the_same_events_are_created_patched_and_left_out_as_by_the_kubelet() -> None:
    assert _by_pod(_writes_of_ours()) == _by_pod(_writes_of_kubelet())


def _record(recorder: EventRecorder, message: str, at: datetime) -> EventWrite:
    event = Event(EventType.WARNING, "Unhealthy", message, POD.uid, "", at)
    write = recorder.record(event, POD)
    assert write is not None
    return write


def test_a_repeated_event_is_a_patch_of_the_first_with_its_count() -> None:
    recorder = EventRecorder("n", allows_by_type=True)
    first = _record(recorder, "failed", FIRST_POD)
    again = _record(recorder, "failed", FIRST_POD + timedelta(seconds=3))
    assert first.patch is None
    assert again.name == first.name
    assert again.patch == {
        "count": 2,
        "lastTimestamp": "2026-11-23T01:03:42Z",
        "message": "failed",
    }
    assert again.body["count"] == 2


def test_events_of_one_microsecond_have_names_of_their_own() -> None:
    recorder = EventRecorder("n", allows_by_type=True)
    one, two = (_record(recorder, text, FIRST_POD) for text in ("a", "b"))
    assert one.name != two.name


def test_an_event_of_the_node_is_in_the_namespace_default() -> None:
    recorder = EventRecorder("n1", allows_by_type=True)
    write = recorder.record_of_node("Starting", "Starting kubelet.", FIRST_POD)
    assert write is not None
    assert write.namespace == "default"
    assert write.body["involvedObject"]["kind"] == "Node"


def test_an_event_of_a_static_pod_refers_to_no_version() -> None:
    write = _record(EventRecorder("n", allows_by_type=True), "failed", FIRST_POD)
    assert "resourceVersion" not in write.body["involvedObject"]
