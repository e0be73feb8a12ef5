"""Status patches against those that a kubelet 1.36.2 sent to an API server."""

from datetime import UTC, datetime
from typing import Any

from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.status import ContainerStatus, PodPhase, PodStatus, Running
from probetui.kubelet.status.status_patch import (
    StatusContext,
    api_status,
    status_patch,
)
from probetui.kubelet_rules import rules_of
from tests.cluster.recorded import recorded

NOW = datetime(2026, 11, 23, 1, 10, tzinfo=UTC)
RULES = rules_of("1.36")
SPEC: dict[str, Any] = {"containers": [{"name": "app"}]}
CONTEXT = StatusContext(("192.0.2.10",), RULES)


def _spec(line: dict[str, Any]) -> dict[str, Any]:
    status = line["after"]
    return {
        "containers": [{"name": it["name"]} for it in status["containerStatuses"]],
        "initContainers": [
            {"name": it["name"]} for it in status.get("initContainerStatuses", ())
        ],
    }


def _unordered(patch: dict[str, Any]) -> dict[str, Any]:
    """Return a patch with its merged lists by key: their order means nothing."""
    status = {
        key: {one["type"]: one for one in value} if key == "conditions" else value
        for key, value in patch["status"].items()
    }
    return {**patch, "status": status}


def _patch_of(line: dict[str, Any]) -> dict[str, Any]:
    new = api_status(
        _spec(line),
        POD_STATUS.read(line["after"]),
        line["before"],
        CONTEXT,
        NOW,
        could_have_running_containers=False,
    )
    return status_patch(line["uid"], line["before"], new)


def test_each_patch_of_the_kubelet_is_made_as_it_made_it() -> None:
    lines = recorded("status-patches")
    different = [
        (line["t"], line["name"])
        for line in lines
        if _unordered(_patch_of(line)) != _unordered(line["patch"])
    ]
    assert len(lines) == 291
    assert different == []


def test_what_the_api_server_has_already_needs_no_patch() -> None:
    line = recorded("status-patches")[-1]
    assert _patch_of({**line, "before": line["after"]}) == {}


def _running(count: int, *, ready: bool = True) -> PodStatus:
    own = ContainerStatus(
        "app",
        container_id="process://1",
        state=Running(NOW),
        ready=ready,
        started=True,
        restart_count=count,
    )
    return PodStatus(PodPhase.RUNNING, container_statuses=(own,))


def _api_status(
    status: PodStatus,
    held: dict[str, Any],
    spec: dict[str, Any] = SPEC,
    version: str = "1.36",
) -> dict[str, Any]:
    context = StatusContext(("192.0.2.10",), rules_of(version))
    return api_status(
        spec, status, held, context, NOW, could_have_running_containers=True
    )


def test_a_restart_count_never_goes_backwards() -> None:
    held = _api_status(_running(5), {})
    again = _api_status(_running(0), held)
    assert again["containerStatuses"][0]["restartCount"] == 5


def test_conditions_of_others_stay_as_they_are() -> None:
    gate = {"type": "example.com/gate", "status": "True", "lastProbeTime": None}
    new = _api_status(_running(0), {"conditions": [gate], "nominatedNodeName": "n2"})
    assert new["conditions"] == [gate]
    assert new["nominatedNodeName"] == "n2"


def test_a_pod_is_not_reported_as_ended_while_a_container_may_run() -> None:
    ended = PodStatus(PodPhase.SUCCEEDED)
    held = _api_status(_running(0), {})
    assert _api_status(ended, held)["phase"] == "Running"


ASKED = {
    "containers": [
        {
            "name": "app",
            "resources": {
                "requests": {"cpu": "0.1", "memory": "134217728"},
                "limits": {"memory": "0.5Gi", "ephemeral-storage": "1Gi"},
            },
        }
    ]
}


def test_a_status_has_the_resources_that_its_pod_and_container_ask_for() -> None:
    created = _api_status(PodStatus(PodPhase.PENDING), {}, ASKED)
    running = _api_status(_running(0), {"phase": "Running"}, ASKED)
    requests = {"cpu": "100m", "memory": "134217728"}
    limits = {"memory": "512Mi", "ephemeral-storage": "1Gi"}
    assert created["resources"] == {"requests": requests, "limits": limits}
    assert created["allocatedResources"] == requests
    # Of a pod that runs, the kubelet reports compute resources alone.
    reported = {"requests": requests, "limits": {"memory": "512Mi"}}
    assert running["resources"] == reported
    assert running["allocatedResources"] == requests
    (container,) = running["containerStatuses"]
    assert container["resources"] == {"requests": requests, "limits": limits}
    assert container["allocatedResources"] == requests


def test_a_pod_that_asks_for_nothing_has_no_allocated_resources() -> None:
    status = _api_status(_running(0), {"phase": "Running"})
    assert status["resources"] == {}
    assert status["containerStatuses"][0]["resources"] == {}
    assert "allocatedResources" not in {**status, **status["containerStatuses"][0]}


def test_what_an_older_kubelet_does_not_know_of_a_pods_resources_stays() -> None:
    held = {"resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}}
    status = _api_status(_running(0), held, ASKED, "1.33")
    assert status.items() >= held.items()
    assert status["containerStatuses"][0]["allocatedResources"]["cpu"] == "100m"
