"""The status manager: what is published, refused and sent to an API server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import PodPhase, PodStatus
from probetui.kubelet.status.status_manager import StatusManager, merge_pod_status
from tests.parity import api_json

NOW = datetime(2024, 1, 1, 1, tzinfo=UTC)


def judge(case: dict[str, Any]) -> None:
    match case["kind"]:
        case "transition":
            assert {"accepted": _is_accepted(case)} == case["expect"]
        case "probeUpdate":
            assert _printed(_after_probe_update(case)) == case["expect"]
        case "terminatePod":
            assert _printed(_after_termination(case)) == case["expect"]
        case "merge":
            merged = merge_pod_status(
                api_json.pod_status(case["old"]),
                api_json.pod_status(case["new"]),
                NOW,
                could_have_running_containers=case["couldHaveRunningContainers"],
            )
            assert _printed(merged) == case["expect"]
        case kind:
            raise AssertionError(kind)


def _is_accepted(case: dict[str, Any]) -> bool:
    of_init = case["containerType"] != "app"
    name = case["old"]["name"]
    sidecar = RestartPolicy.ALWAYS if case["containerType"] == "sidecar" else None
    pod = Pod(
        uid="uid1",
        name="p",
        restart_policy=RestartPolicy(case["restartPolicy"]),
        init_containers=(Container(name, restart_policy=sidecar),) if of_init else (),
        containers=(Container("other" if of_init else name),),
    )
    manager = StatusManager()
    manager.set_pod_status(pod, _with(case["old"], of_init=of_init), NOW)

    published = manager.set_pod_status(pod, _with(case["new"], of_init=of_init), NOW)

    assert published is not None
    statuses = (
        published.init_container_statuses if of_init else published.container_statuses
    )
    return statuses == (api_json.container_status(case["new"]),)


def _with(status: dict[str, Any], *, of_init: bool) -> PodStatus:
    statuses = (api_json.container_status(status),)
    if of_init:
        return PodStatus(PodPhase.RUNNING, init_container_statuses=statuses)
    return PodStatus(PodPhase.RUNNING, container_statuses=statuses)


def _after_probe_update(case: dict[str, Any]) -> PodStatus | None:
    pod = api_json.pod(case["pod"])
    container_id = ContainerID(case["containerID"])
    manager = StatusManager()
    manager.set_pod_status(pod, api_json.pod_status(case["status"]), NOW)
    match case["op"]:
        case "readiness":
            return manager.set_container_readiness(
                pod, container_id, NOW, ready=case["value"]
            )
        case "startup":
            return manager.set_container_startup(
                pod, container_id, NOW, started=case["value"]
            )
        case operation:
            raise AssertionError(operation)


def _after_termination(case: dict[str, Any]) -> PodStatus | None:
    pod = api_json.pod(case["pod"])
    api_status = api_json.pod_status(case["pod"].get("status"))
    manager = StatusManager()
    if case["cachedStatus"] is not None:
        cached = api_json.pod_status(case["cachedStatus"])
        manager.set_pod_status(pod, cached, NOW, api_status=api_status)
    return manager.terminate_pod(pod, NOW, api_status=api_status)


def _printed(status: PodStatus | None) -> dict[str, Any]:
    """Return the status without the times that publishing adds."""
    assert status is not None
    printed = POD_STATUS.write(status)
    printed.pop("startTime", None)
    for condition in printed.get("conditions", ()):
        condition.pop("lastTransitionTime", None)
    return printed
