"""Status patches against those that a kubelet 1.36.2 sent to an API server."""

from datetime import UTC, datetime
from typing import Any

from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.pod import Container, Pod
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
POD = Pod("u", "web", containers=(Container("app"),))
CONTEXT = StatusContext(("192.0.2.10",), RULES)


def _pod(line: dict[str, Any]) -> Pod:
    status = line["after"]
    names = [one["name"] for one in status.get("containerStatuses", ())]
    inits = [one["name"] for one in status.get("initContainerStatuses", ())]
    return Pod(
        line["uid"],
        line["name"],
        containers=tuple(map(Container, names)),
        init_containers=tuple(map(Container, inits)),
    )


def _unordered(patch: dict[str, Any]) -> dict[str, Any]:
    """Return a patch with its merged lists by key: their order means nothing."""
    status = {
        key: {one["type"]: one for one in value} if key == "conditions" else value
        for key, value in patch["status"].items()
    }
    return {**patch, "status": status}


def _patch_of(line: dict[str, Any]) -> dict[str, Any]:
    new = api_status(
        _pod(line),
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


def _api_status(status: PodStatus, held: dict[str, Any]) -> dict[str, Any]:
    return api_status(
        POD, status, held, CONTEXT, NOW, could_have_running_containers=True
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
