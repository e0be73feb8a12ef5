"""The state of a session as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import structs

from probetui.analysis.container_history import SessionHistory
from probetui.engine.snapshot import Snapshot
from probetui.k8s.pod import Container
from probetui.k8s.probe import ExecAction, HTTPGetAction, HTTPHeader, Probe, ProbeType
from probetui.k8s.runtime import Listeners, ListenerScope, SocketAddress
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodStatus,
    Terminated,
)
from probetui.kubelet.journal import (
    FindingEntry,
    JournalEntry,
    ListenersEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.presentation.state_json import SessionState, state_schema, state_text
from probetui.record.masking import MASKED, Mask
from tests.ticks import DEMO_KEY, NOW, a_tick
from tests.tui.scenes import SCENES
from tests.tui.snapshots import (
    DEMO,
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    a_snapshot,
    demo,
    shop,
)


def state_of(snapshot: Snapshot, mask: Mask | None = None) -> Any:
    return json.loads(state_text(snapshot, "docker 27.3", mask or Mask()))


@pytest.mark.parametrize(
    "scene", [pytest.param(scene, id=name) for name, scene in SCENES.items()]
)
def test_every_state_conforms_to_the_schema(
    scene: Callable[[], Snapshot],
) -> None:
    read = msgspec.convert(state_of(scene()), SessionState)

    assert read.kind == "SessionState"


def test_a_delay_is_in_seconds() -> None:
    late = timedelta(seconds=1.5)
    tick = a_tick(DEMO_KEY, NOW, "f", delay=late)
    probe = a_probe_snapshot(
        DEMO_KEY, DEMO.containers[0].liveness_probe or Probe(None), delay=late,
        last_run=tick,
    )  # fmt: skip
    pod = a_pod_snapshot(DEMO, a_container_snapshot(DEMO.containers[0], probe))

    (probe_state,) = state_of(a_snapshot(pod))["pods"][0]["containers"][0]["probes"]

    assert probe_state["delay"] == probe_state["lastRun"]["delay"] == 1.5


def test_the_schema_has_every_field_and_allows_no_others() -> None:
    schema = state_schema()

    probe = schema["$defs"]["Probe"]
    assert schema["$ref"] == "#/$defs/SessionState"
    assert set(probe["required"]) == set(probe["properties"])
    assert probe["additionalProperties"] is False


def test_a_probe_has_its_result_run_and_stored_result() -> None:
    (pod,) = state_of(a_snapshot(demo()))["pods"]
    (container,) = pod["containers"]
    (probe,) = container["probes"]

    assert (pod["pod"], pod["namespace"], pod["podUID"]) == (
        "demo",
        "default",
        "uid-demo",
    )
    assert container["kind"] == "container"
    assert container["lastExit"]["exitCode"] == 137
    assert probe["probe"] == "liveness"
    assert probe["spec"]["exec"] == {"command": ["cat", "/tmp/healthy"]}
    assert probe["stored"] == "Success"
    assert probe["run"] == {"result": "Failure", "count": 2, "threshold": 3}
    assert probe["nextTickAt"] == "2026-11-20T08:21:10.100000Z"
    assert probe["lastRun"]["attempts"][0]["detail"] == "exit 1"
    assert probe["lastRun"]["ms"] == 34


def test_a_pod_has_its_whole_status() -> None:
    status = PodStatus(
        conditions=(
            PodCondition("Ready", ConditionStatus.TRUE, message="s3cr3t-token"),
        ),
        container_statuses=(ContainerStatus("liveness"),),
    )
    pod = a_pod_snapshot(DEMO, status=status)

    (pod_state,) = state_of(a_snapshot(pod), Mask(["s3cr3t-token"]))["pods"]

    assert pod_state["phase"] == "Pending"
    assert pod_state["status"]["conditions"][0]["message"] == MASKED
    assert pod_state["status"]["containerStatuses"][0]["name"] == "liveness"


def test_a_run_that_was_reset_has_no_result() -> None:
    (pod,) = state_of(a_snapshot(demo("|fffK")))["pods"]

    assert pod["containers"][0]["probes"][0]["run"]["result"] is None


def test_containers_have_their_kind_and_back_off() -> None:
    (pod,) = state_of(a_snapshot(shop()))["pods"]
    kinds = {
        container["container"]: container["kind"] for container in pod["containers"]
    }
    worker = pod["containers"][-1]

    assert kinds["proxy"] == "sidecar"
    assert kinds["web"] == "container"
    assert worker["backoff"] == {
        "window": 80,
        "since": "2026-11-20T08:20:58.000000Z",
        "until": "2026-11-20T08:22:18.000000Z",
        "nextWindow": 160,
        "latest": None,
    }


def test_the_queue_is_sorted_by_instant() -> None:
    queue = state_of(a_snapshot(demo(), shop()))["queue"]

    assert [event["at"] for event in queue] == sorted(event["at"] for event in queue)


def test_secrets_are_masked_everywhere() -> None:
    action = HTTPGetAction(80, http_headers=(HTTPHeader("Authorization", "abc"),))
    secret = "with s3cr3t-token"
    attempts = (
        Attempt(ProbeResult.FAILURE, secret, detail=secret),
        Attempt(ProbeResult.UNKNOWN, "", secret),
    )
    tick = a_tick(DEMO_KEY, a_snapshot().taken_at, attempts=attempts)
    probe = a_probe_snapshot(DEMO_KEY, Probe(action), last_run=tick)
    status = ContainerStatus("liveness", "", Terminated(1, message=secret))
    container = a_container_snapshot(Container("liveness"), probe, status=status)
    pod = a_pod_snapshot(DEMO, container, operation=secret)

    text = state_text(a_snapshot(pod), "docker", Mask(["s3cr3t-token"]))

    assert "s3cr3t" not in text
    assert f'"value": "{MASKED}"' in text


def test_bytes_that_are_not_utf_8_read_back_unchanged() -> None:
    tick = a_tick(
        DEMO_KEY,
        a_snapshot().taken_at,
        attempts=(Attempt(ProbeResult.FAILURE, "\udcff\x1b"),),
    )
    probe = a_probe_snapshot(DEMO_KEY, Probe(ExecAction(())), last_run=tick)
    pod = a_pod_snapshot(DEMO, a_container_snapshot(Container("liveness"), probe))

    text = state_text(a_snapshot(pod), "docker", Mask())
    read = json.loads(text)

    assert text.isascii()
    output = read["pods"][0]["containers"][0]["probes"][0]["lastRun"]["attempts"][0]
    assert output["output"] == "\udcff\x1b"


THERE = SocketAddress("10.1.2.3", 8080)
LOOPBACK = Listeners((SocketAddress("127.0.0.1", 8080),), ListenerScope.CONTAINER)


def a_refused_tick() -> TickEntry:
    refused = Attempt(ProbeResult.FAILURE, "connection refused", refused_at=THERE)
    return a_tick(DEMO_KEY, NOW, "f", sequence=41, attempts=(refused,))


def shown_by(tick: TickEntry, *entries: JournalEntry, mask: Mask | None = None) -> Any:
    """Return the state of the demo's probe after that tick and those entries."""
    probe = a_probe_snapshot(DEMO_KEY, Probe(None), last_run=tick)
    pod = a_pod_snapshot(DEMO, a_container_snapshot(DEMO.containers[0], probe))
    past = SessionHistory(())
    past.add_entries((tick, *entries), 0)
    text = state_text(a_snapshot(pod), "docker", mask or Mask(), past)
    msgspec.convert(json.loads(text), SessionState)
    return json.loads(text)["pods"][0]["containers"][0]["probes"][0]


def a_listeners_entry(listeners: Listeners | None, problem: str = "") -> ListenersEntry:
    return ListenersEntry(
        42, NOW, DEMO_KEY, a_refused_tick().container_id, THERE, listeners, problem,
        cause=41,
    )  # fmt: skip


def test_the_state_explains_the_last_refused_connection() -> None:
    probe = shown_by(a_refused_tick(), a_listeners_entry(LOOPBACK))

    assert probe["lastRun"]["refusal"] == {
        "at": "2026-11-20T08:21:07.000000Z",
        "refused": {"address": "10.1.2.3", "port": 8080},
        "listeners": [{"address": "127.0.0.1", "port": 8080}],
        "extent": "container",
        "problem": "",
        "message": "the container listens on 127.0.0.1:8080 only; the probe "
        "connects to "
        "10.1.2.3, so it is refused",
    }


def test_the_state_says_why_the_last_run_failed() -> None:
    probe = shown_by(a_refused_tick(), a_listeners_entry(LOOPBACK))
    success = shown_by(a_tick(DEMO_KEY, NOW, "s", sequence=41))

    assert probe["lastRun"]["failure"] == {
        "kind": "listens-on-loopback",
        "message": "the container listens on 127.0.0.1:8080 only; the probe connects "
        "to 10.1.2.3, so it is refused",
    }
    assert success["lastRun"]["failure"] is None


def test_a_failed_lookup_of_listeners_is_reported_without_secrets() -> None:
    look = a_listeners_entry(None, "s3cr3t-token is not allowed to look")

    probe = shown_by(a_refused_tick(), look, mask=Mask(["s3cr3t-token"]))

    refusal = probe["lastRun"]["refusal"]
    assert (refusal["listeners"], refusal["extent"]) == (None, None)
    assert refusal["problem"] == f"{MASKED} is not allowed to look"
    assert "s3cr3t" not in refusal["message"]


def test_a_connection_that_was_not_refused_has_no_reason_for_it() -> None:
    answered = a_tick(DEMO_KEY, NOW, "s", sequence=43)

    probe = shown_by(answered, a_listeners_entry(LOOPBACK))

    assert probe["lastRun"]["refusal"] is None


def test_a_finding_belongs_to_its_probe_alone() -> None:
    message = "answered with a redirect by s3cr3t-token"
    path = "spec.containers[0].livenessProbe"
    finding = FindingEntry(
        44, NOW, DEMO_KEY, "redirect-seen", path, message, "pod.yaml:9:7", 41
    )
    other = DEMO_KEY._replace(probe_type=ProbeType.READINESS)

    probe = shown_by(
        a_refused_tick(),
        finding,
        structs.replace(finding, key=other),
        mask=Mask(["s3cr3t-token"]),
    )

    assert probe["findings"] == [
        {
            "at": "2026-11-20T08:21:07.000000Z",
            "rule": "redirect-seen",
            "severity": "warning",
            "path": path,
            "place": "pod.yaml:9:7",
            "message": f"answered with a redirect by {MASKED}",
        }
    ]
