"""The columns of `kubectl get pods`.

Source: pkg/printers/internalversion/printers.go, v1.36.2, printPod.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from probetui.k8s.api.codec import Json
from probetui.presentation.kubectl.text import NONE, format_since

_TERMINAL = frozenset({"Succeeded", "Failed"})


def pod_cells(pod: Json, age: str, now: datetime) -> list[str]:
    """Return a pod's cells; those of `-o wide` come last."""
    ready, total, status, restarts, restarted_at = _summary(pod)
    restarts_text = str(restarts)
    if restarts and restarted_at is not None:
        restarts_text = f"{restarts} ({format_since(restarted_at, now)} ago)"
    pod_status = pod.get("status", {})
    ips = [entry["ip"] for entry in pod_status.get("podIPs") or () if entry.get("ip")]
    return [
        pod["metadata"]["name"],
        f"{ready}/{total}",
        status,
        restarts_text,
        age,
        ips[0] if ips else pod_status.get("podIP") or NONE,
        pod["spec"].get("nodeName") or NONE,
        pod_status.get("nominatedNodeName") or NONE,
        _gates(pod),
    ]


def pod_row_conditions(pod: Json) -> list[Json]:
    """Return the condition by which kubectl can hide a pod that has ended."""
    phase = pod.get("status", {}).get("phase")
    if phase not in _TERMINAL:
        return []
    message = (
        "The pod has completed successfully."
        if phase == "Succeeded"
        else "The pod failed."
    )
    return [
        {"type": "Completed", "status": "True", "reason": phase, "message": message}
    ]


def _gates(pod: Json) -> str:
    gates = pod["spec"].get("readinessGates") or ()
    if not gates:
        return NONE
    true = sum(_is_true(pod, gate["conditionType"]) for gate in gates)
    return f"{true}/{len(gates)}"


def _is_true(pod: Json, condition_type: str) -> bool:
    return any(
        condition["type"] == condition_type and condition["status"] == "True"
        for condition in pod.get("status", {}).get("conditions") or ()
    )


class _RestartCount:
    """The number of restarts and the time of the last one."""

    def __init__(self) -> None:
        self.restarts = 0
        self.at: datetime | None = None

    def add(self, status: Json) -> None:
        self.restarts += status.get("restartCount", 0)
        ended = _state(status, "terminated", "lastState").get("finishedAt")
        if ended:
            at = datetime.fromisoformat(ended)
            self.at = at if self.at is None else max(self.at, at)


def _summary(pod: Json) -> tuple[int, int, str, int, datetime | None]:
    """Return ready containers, all, the status, restarts and when the last one was."""
    spec, status = pod["spec"], pod.get("status", {})
    reason = status.get("reason") or status.get("phase", "")
    if any(
        condition["type"] == "PodScheduled"
        and condition.get("reason") == "SchedulingGated"
        for condition in status.get("conditions") or ()
    ):
        reason = "SchedulingGated"
    inits = {
        container["name"]: container for container in spec.get("initContainers", ())
    }
    total = len(spec.get("containers", ())) + sum(map(_is_sidecar, inits.values()))
    counted, of_sidecars = _RestartCount(), _RestartCount()
    ready, init_reason = 0, ""
    for index, container_status in enumerate(status.get("initContainerStatuses") or ()):
        counted.add(container_status)
        is_sidecar = _is_sidecar(inits.get(container_status["name"], {}))
        if is_sidecar:
            of_sidecars.add(container_status)
        init_reason = _init_reason(
            container_status, index, len(inits), is_sidecar=is_sidecar
        )
        if init_reason:
            break
        ready += (
            is_sidecar
            and _state(container_status, "terminated") == {}
            and container_status["ready"]
        )
    reason = init_reason or reason
    if not init_reason or _is_true(pod, "Initialized"):
        counted = of_sidecars
        reason, ready_now = _container_reason(pod, reason, counted)
        ready += ready_now
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in _TERMINAL:
            reason = "Terminating"
    return ready, total, reason, counted.restarts, counted.at


def _is_sidecar(container: Json) -> bool:
    return container.get("restartPolicy") == "Always"


def _init_reason(status: Json, index: int, count: int, *, is_sidecar: bool) -> str:
    """Return the pod's status while an init container is not done."""
    terminated = _state(status, "terminated")
    if terminated and terminated.get("exitCode") == 0:
        return ""
    if is_sidecar and status.get("started"):
        return ""
    if terminated:
        return f"Init:{_exit_reason(terminated)}"
    waiting = _state(status, "waiting").get("reason")
    if waiting and waiting != "PodInitializing":
        return f"Init:{waiting}"
    return f"Init:{index}/{count}"


def _exit_reason(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _container_reason(
    pod: Json, reason: str, counted: _RestartCount
) -> tuple[str, int]:
    """Return the status that containers make, and how many are ready."""
    ready, has_running = 0, False
    for status in reversed(pod["status"].get("containerStatuses") or ()):
        counted.add(status)
        if waiting := _state(status, "waiting").get("reason"):
            reason = waiting
        elif terminated := _state(status, "terminated"):
            reason = _exit_reason(terminated)
        elif status["ready"] and "running" in (status.get("state") or {}):
            has_running = True
            ready += 1
    if reason == "Completed" and has_running:
        reason = "Running" if _is_true(pod, "Ready") else "NotReady"
    return reason, ready


def _state(status: Json, name: str, field: str = "state") -> Mapping[str, Any]:
    state: Mapping[str, Any] = (status.get(field) or {}).get(name) or {}
    return state
