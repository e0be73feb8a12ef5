"""Both directions of the codec, and JSON that does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from probetui.k8s.api.codec import ApiFormatError, ApiType, Field
from probetui.k8s.api.pod import POD
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.pod import ContainerPort, Pod
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from tests.builders import at
from tests.k8s.api.test_round_trip import EVERYTHING
from tests.manifest.yaml_pods import load

STATUS = PodStatus(
    phase=PodPhase.RUNNING,
    conditions=(PodCondition("Ready", ConditionStatus.TRUE, last_transition_at=at(1)),),
    pod_ip="10.0.0.2",
    pod_ips=("10.0.0.2", "fd00::1"),
    start_time=at(0),
    init_container_statuses=(
        ContainerStatus("init", state=Terminated(0, "Completed", finished_at=at(2))),
    ),
    container_statuses=(
        ContainerStatus("app", state=Running(at(3)), started=False, restart_count=2),
        ContainerStatus("side", state=Waiting("CrashLoopBackOff")),
    ),
)


def test_a_pod_is_the_same_when_it_is_written_and_read() -> None:
    (pod,) = load(EVERYTHING).pods

    assert POD.read(POD.write(pod)) == pod


def test_a_status_is_the_same_when_it_is_written_and_read() -> None:
    assert POD_STATUS.read(POD_STATUS.write(STATUS)) == STATUS


def test_what_is_absent_null_or_an_empty_text_has_its_default() -> None:
    pod = POD.read({"metadata": {"name": "web", "namespace": "", "labels": None}})

    assert pod == Pod("", "web")


def test_a_field_can_have_another_name() -> None:
    codec = ApiType(ContainerPort, Field("port.number", attribute="container_port"))

    assert codec.write(ContainerPort(80)) == {"port": {"number": 80}}
    assert codec.read({"port": {"number": 80}}) == ContainerPort(80)


@pytest.mark.parametrize(
    "json",
    [
        pytest.param([], id="a list"),
        pytest.param({"phase": "Asleep"}, id="a word that there is not"),
        pytest.param({"phase": 5}, id="a number for a word"),
        pytest.param({"reason": 5}, id="a number for a text"),
        pytest.param({"conditions": {}}, id="an object for a list"),
        pytest.param({"podIPs": ["10.0.0.2"]}, id="a text for an object"),
        pytest.param({"startTime": "yesterday"}, id="no time"),
        pytest.param({"startTime": "0001-01-01T00:00:00Z"}, id="a time long ago"),
        pytest.param({"startTime": "2025-01-01T00:00:00"}, id="a time without a zone"),
        pytest.param(
            {"containerStatuses": [{"name": "app", "restartCount": True}]},
            id="a boolean for a number",
        ),
        pytest.param({"conditions": [{"type": "Ready"}]}, id="nothing required"),
    ],
)
def test_json_of_another_shape_is_refused(json: Any) -> None:
    with pytest.raises(ApiFormatError):
        POD_STATUS.read(json)
