"""The state of a session as JSON (UX-32)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from probetui.drive.masking import MASKED, Mask
from probetui.k8s.pod import Container
from probetui.k8s.probe import ExecAction, HTTPGetAction, HTTPHeader, Probe
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodStatus,
    Terminated,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet.snapshot import Snapshot
from probetui.presentation.state_json import state_text
from probetui.presentation.state_schema import SessionState, state_schema
from tests.tui.scenes import SCENES
from tests.tui.states import (
    DEMO,
    DEMO_KEY,
    NOW,
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    a_snapshot,
    a_tick,
    demo,
    shop,
)


def state_of(snapshot: Snapshot, mask: Mask | None = None) -> Any:
    return json.loads(state_text(snapshot, "docker 27.3", mask or Mask()))


@pytest.mark.parametrize(
    "scene", [pytest.param(each, id=name) for name, each in SCENES.items()]
)
def test_every_state_has_the_shape_that_the_schema_says(
    scene: Callable[[], Snapshot],
) -> None:
    read = msgspec.convert(state_of(scene()), SessionState)

    assert read.kind == "SessionState"


def test_a_late_answer_is_told_in_seconds() -> None:
    late = timedelta(seconds=1.5)
    tick = a_tick(DEMO_KEY, NOW, "f", delay=late)
    probe = a_probe_snapshot(
        DEMO_KEY, DEMO.containers[0].liveness_probe or Probe(None), delay=late,
        last_run=tick,
    )  # fmt: skip
    pod = a_pod_snapshot(DEMO, a_container_snapshot(DEMO.containers[0], probe))

    (told,) = state_of(a_snapshot(pod))["pods"][0]["containers"][0]["probes"]

    assert told["delay"] == told["lastRun"]["delay"] == 1.5


def test_the_schema_names_every_field_and_lets_no_other_pass() -> None:
    schema = state_schema()

    probe = schema["$defs"]["Probe"]
    assert schema["$ref"] == "#/$defs/SessionState"
    assert set(probe["required"]) == set(probe["properties"])
    assert probe["additionalProperties"] is False


def test_a_probe_is_told_with_its_run_and_what_is_stored() -> None:
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


def test_a_pod_s_whole_status_is_there() -> None:
    status = PodStatus(
        conditions=(
            PodCondition("Ready", ConditionStatus.TRUE, message="s3cr3t-token"),
        ),
        container_statuses=(ContainerStatus("liveness"),),
    )
    pod = a_pod_snapshot(DEMO, status=status)

    (told,) = state_of(a_snapshot(pod), Mask(["s3cr3t-token"]))["pods"]

    assert told["phase"] == "Pending"
    assert told["status"]["conditions"][0]["message"] == MASKED
    assert told["status"]["containerStatuses"][0]["name"] == "liveness"


def test_a_run_that_was_reset_has_no_result() -> None:
    (pod,) = state_of(a_snapshot(demo("|fffK")))["pods"]

    assert pod["containers"][0]["probes"][0]["run"]["result"] is None


def test_kinds_of_containers_and_waits_are_told() -> None:
    (pod,) = state_of(a_snapshot(shop()))["pods"]
    kinds = {each["container"]: each["kind"] for each in pod["containers"]}
    worker = pod["containers"][-1]

    assert kinds["proxy"] == "sidecar"
    assert kinds["web"] == "container"
    assert worker["backoff"] == {
        "window": 80,
        "since": "2026-11-20T08:20:58.000000Z",
        "until": "2026-11-20T08:22:18.000000Z",
        "nextWindow": 160,
    }


def test_the_queue_is_in_the_order_of_its_instants() -> None:
    queue = state_of(a_snapshot(demo(), shop()))["queue"]

    assert [each["at"] for each in queue] == sorted(each["at"] for each in queue)


def test_secrets_are_masked_wherever_they_are_said() -> None:
    action = HTTPGetAction(80, http_headers=(HTTPHeader("Authorization", "abc"),))
    said = "with s3cr3t-token"
    attempts = (
        Attempt(ProbeResult.FAILURE, said, detail=said),
        Attempt(ProbeResult.UNKNOWN, "", said),
    )
    tick = a_tick(DEMO_KEY, a_snapshot().taken_at, attempts=attempts)
    probe = a_probe_snapshot(DEMO_KEY, Probe(action), last_run=tick)
    status = ContainerStatus("liveness", "", Terminated(1, message=said))
    container = a_container_snapshot(Container("liveness"), probe, status=status)
    pod = a_pod_snapshot(DEMO, container, operation=said)

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
