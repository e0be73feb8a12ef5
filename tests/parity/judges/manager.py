"""The probe manager: which workers exist, `started` and `ready`, and triggers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import ExecAction, Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import parse_container_id
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult, Result
from probetui.kubelet.prober.prober_manager import ORDER, ProbeManager
from probetui.kubelet.runtime.turn import TurnBuilder

START = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
CHECK_AFTER_MS = 40


def judge(case: dict[str, Any]) -> None:
    match case["kind"]:
        case "status":
            judge_status(case["in"], case["out"])
        case "lifecycle":
            judge_lifecycle(case["ops"])
        case "timeline":
            judge_timeline(case["in"], case["ops"])
        case other:
            raise AssertionError(other)


def judge_status(inputs: dict[str, Any], expected: dict[str, Any]) -> None:
    pod = decode_pod(inputs["pod"])
    manager = ProbeManager(KubeletConfig(), START)
    if inputs.get("addPod"):
        manager.add_pod(pod, START)
    for ended_worker in inputs.get("workersGone", ()):
        loop = manager.worker(_key(ended_worker))
        assert loop is not None
        manager.scheduler._leave(loop)
    for stored_result in inputs.get("results", ()):
        manager.results[ProbeType(stored_result["probeType"])].set(
            parse_container_id(stored_result["containerID"]),
            Result[stored_result["result"].upper()],
            pod.uid,
        )
    for pending in inputs.get("pendingTriggers", ()):
        assert manager.scheduler.trigger(_key(pending))
    input_status = inputs.get("status", {})
    status = PodStatus(
        container_statuses=_statuses(input_status.get("containerStatuses")),
        init_container_statuses=_statuses(input_status.get("initContainerStatuses")),
    )
    status_pod = decode_pod(inputs["statusPod"]) if "statusPod" in inputs else pod

    updated = manager.update_pod_status(status_pod, status)

    assert {
        "containerStatuses": _flags(updated.container_statuses),
        "initContainerStatuses": _flags(updated.init_container_statuses),
        "workers": _workers(manager),
        "triggered": _sorted(
            worker.worker.key
            for worker in manager.scheduler.loops.values()
            if worker.trigger is not None
        ),
    } == {
        "containerStatuses": expected["containerStatuses"],
        "initContainerStatuses": expected["initContainerStatuses"],
        "workers": expected.get("workers", []),
        "triggered": expected["triggered"],
    }


def judge_lifecycle(operations: list[dict[str, Any]]) -> None:
    statuses: dict[str, PodStatus] = {}
    manager = ProbeManager(KubeletConfig(), START, status_of=statuses.get)
    now = START
    for number, operation in enumerate(operations):
        now += timedelta(milliseconds=60)
        match operation["op"]:
            case "addPod":
                manager.add_pod(decode_pod(operation["pod"]), now)
            case "removePod":
                manager.remove_pod(decode_pod(operation["pod"]))
            case "stopLivenessAndStartup":
                manager.stop_liveness_and_startup(decode_pod(operation["pod"]))
            case "cleanupPods":
                manager.cleanup_pods(operation.get("desiredPodUIDs") or ())
            case "podPhase":
                uid = operation["podUID"]
                statuses[uid] = PodStatus(PodPhase(operation["phase"]))
                for loop in manager.scheduler.loops.values():
                    if loop.worker.key.pod_uid == uid:
                        manager.scheduler.trigger(loop.worker.key)
            case other:
                raise AssertionError(other)
        manager.scheduler.run_due(now)
        assert _workers(manager) == operation["workers"], number


def judge_timeline(inputs: dict[str, Any], operations: list[dict[str, Any]]) -> None:
    pod = decode_pod(inputs["pod"], inputs["restartPolicy"])
    status = PodStatus(
        PodPhase(inputs["phase"]),
        container_statuses=_statuses(inputs["containerStatuses"]),
    )
    turn_builder = TurnBuilder()
    manager = ProbeManager(
        KubeletConfig(), START, status_of=lambda _uid: status, turn=turn_builder
    )
    flights: list[tuple[int, RunProbe]] = []
    updates: list[str] = []
    checks = {operation["atMs"] + CHECK_AFTER_MS: operation for operation in operations}
    acts = {operation["atMs"]: operation for operation in operations}
    for ms in range(max(checks) + 1):
        now = START + timedelta(milliseconds=ms)
        match acts.get(ms, {}).get("op"):
            case "addPod":
                manager.add_pod(pod, now)
            case "removePod":
                manager.remove_pod(pod)
            case None | "look":
                pass
            case other:
                raise AssertionError(other)
        manager.scheduler.run_due(now)
        for effect in turn_builder.finish().effects:
            assert isinstance(effect, RunProbe)
            flights.append((ms + inputs["probeLastsMs"], effect))
        for due in [flight for flight in flights if flight[0] <= ms]:
            flights.remove(due)
            outcome = ProbeOutcome((Attempt(ProbeResult.SUCCESS),), started_at=now)
            manager.scheduler.finish(ProbeFinished(due[1].probe_id, outcome), now)
        manager.scheduler.run_due(now)
        for probe_type in ORDER:
            updates += [
                f"{probe_type} {update.container_id}={update.result}"
                for update in manager.results[probe_type].take_updates()
            ]
        if ms in checks:
            assert _workers(manager) == checks[ms]["workers"], ms
            assert updates == checks[ms]["updates"], ms
            updates.clear()


def decode_pod(pod: dict[str, Any], restart_policy: str = "Always") -> Pod:
    return Pod(
        pod["uid"],
        "p",
        restart_policy=RestartPolicy(restart_policy),
        containers=tuple(
            _container(container) for container in pod.get("containers") or ()
        ),
        init_containers=tuple(
            _container(container) for container in pod.get("initContainers") or ()
        ),
    )


def _container(container: dict[str, Any]) -> Container:
    probe = Probe(ExecAction(("x",)), period_seconds=3600)
    probes = container.get("probes") or ()
    return Container(
        container["name"],
        restart_policy=(
            RestartPolicy.ALWAYS if container.get("restartPolicy") == "Always" else None
        ),
        startup_probe=probe if "Startup" in probes else None,
        liveness_probe=probe if "Liveness" in probes else None,
        readiness_probe=probe if "Readiness" in probes else None,
    )


def _statuses(statuses: list[dict[str, Any]] | None) -> tuple[ContainerStatus, ...]:
    return tuple(
        ContainerStatus(
            status["name"],
            status.get("containerID", ""),
            _state(status.get("state") or {}),
            ready=status.get("ready", False),
            started=status.get("started"),
        )
        for status in statuses or ()
    )


def _state(state: dict[str, Any]) -> ContainerState | None:
    if "running" in state:
        age = timedelta(seconds=state["running"].get("startedAgeSeconds", 0))
        return Running(START - age)
    if "terminated" in state:
        return Terminated(state["terminated"].get("exitCode", 0))
    if "waiting" in state:
        return Waiting()
    return None


def _flags(statuses: tuple[ContainerStatus, ...] | None) -> list[dict[str, Any]]:
    return [
        {"name": status.name, "started": status.started, "ready": status.ready}
        for status in statuses or ()
    ]


def _key(worker: dict[str, str]) -> ProbeKey:
    return ProbeKey(
        worker["podUID"], worker["container"], ProbeType(worker["probeType"])
    )


def _workers(manager: ProbeManager) -> list[dict[str, str]]:
    return _sorted(worker.worker.key for worker in manager.scheduler.loops.values())


def _sorted(keys: Any) -> list[dict[str, str]]:
    return [
        {"podUID": uid, "container": name, "probeType": str(kind)}
        for uid, name, kind in sorted(keys)
    ]
