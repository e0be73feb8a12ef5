"""Repeated steps of one worker, compared with the kubelet's `doProbe`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import ExecAction, Probe, ProbeKey, ProbeType
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import Exit
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult, Result
from probetui.kubelet.prober.prober import judge_outcome
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet.prober.worker import Decision, ProbeNow, Worker

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)

ATTEMPTS = {
    "success": Attempt(ProbeResult.SUCCESS, "out-success"),
    "warning": Attempt(ProbeResult.WARNING, "out-warning"),
    "failure": Attempt(ProbeResult.FAILURE, "out-failure"),
    "unknown": Attempt(ProbeResult.UNKNOWN, "out-unknown"),
    "error": Attempt(ProbeResult.UNKNOWN, error="out-error"),
    "failureError": Attempt(ProbeResult.FAILURE, error="out-failure-error"),
}


def judge(case: dict[str, Any]) -> None:
    bench = Bench(case)
    initial = case["initialState"]
    assert str(bench.worker.initial_result) == initial["initialValue"]
    assert bench.state() == {
        "lastResult": initial["lastResult"],
        "resultRun": initial["resultRun"],
        "onHold": initial["onHold"],
        "containerID": initial["containerID"],
    }
    for number, step in enumerate(case["steps"]):
        assert bench.step(step["in"]) == bench.expected(step["out"]), f"step {number}"
    metrics = case.get("metrics") or {}
    assert bench.successes == metrics.get("probe_total_successful", 0)
    assert bench.failures == metrics.get("probe_total_failed", 0)
    assert bench.successes == metrics.get("probe_duration_seconds_count", 0)


class Bench:
    """A worker, its results manager, and the container IDs so far."""

    def __init__(self, case: dict[str, Any]) -> None:
        probe_type = ProbeType(case["probeType"])
        probe = Probe(
            ExecAction(("x",)),
            initial_delay_seconds=case["probe"].get("initialDelaySeconds", 0),
            success_threshold=case["probe"].get("successThreshold", 0),
            failure_threshold=case["probe"].get("failureThreshold", 0),
        )
        sidecar = case.get("initContainer", False)
        container = Container(
            case["containerName"],
            restart_policy=RestartPolicy.ALWAYS if sidecar else None,
        )
        others = (Container("main"),) if sidecar else ()
        self.pod = Pod(
            case["podUID"],
            "p",
            init_containers=(container,) if sidecar else (),
            containers=others or (container,),
        )
        key = ProbeKey(case["podUID"], case["containerName"], probe_type)
        self.worker = Worker(key, self.pod, container, probe)
        self.results = ResultsManager(probe_type)
        self.container_ids: set[str] = set()
        self.successes = self.failures = 0

    def state(self) -> dict[str, Any]:
        return {
            "lastResult": str(self.worker.last_result),
            "resultRun": self.worker.result_run,
            "onHold": self.worker.on_hold,
            "containerID": self.worker.container_id,
        }

    def step(self, world: dict[str, Any]) -> dict[str, Any]:
        policy = world.get("restartPolicy", "")
        self.worker.pod = replace(
            self.pod,
            # The kubelet only compares an empty policy with Never.
            restart_policy=RestartPolicy(policy or "Always"),
            deletion_requested_at=NOW if world.get("deletionTimestamp") else None,
        )
        status = decode_status(world["podStatus"])
        decision = self.worker.decide(status, self.results, NOW)
        calls, events = self._probe(decision, world["outcome"])
        updates = self.results.take_updates()
        self.container_ids |= {update.container_id for update in updates}
        self.container_ids.add(self.worker.container_id)
        return {
            "keepGoing": not isinstance(decision, Exit),
            "proberCalls": calls,
            **self.state(),
            "results": {
                container_id: str(stored_result)
                for container_id in sorted(self.container_ids)
                if (stored_result := self.results.get(container_id)) is not None  # type: ignore[arg-type]  # IDs are their texts
            },
            "updates": [
                {
                    "containerID": update.container_id,
                    "result": str(update.result),
                    "podUID": update.pod_uid,
                }
                for update in updates
            ],
            "events": events,
        }

    def _probe(self, decision: Decision, outcome: str) -> tuple[int, list[list[str]]]:
        if not isinstance(decision, ProbeNow):
            return 0, []
        if outcome == "panic":
            # Our handlers cannot raise into the engine: there is no outcome.
            return 1, []
        attempt = ATTEMPTS[outcome]
        attempts = (attempt,) * (3 if attempt.error is not None else 1)
        judged = judge_outcome(
            self.worker.key.probe_type, ProbeOutcome(attempts, started_at=NOW)
        )
        if judged.error is None:
            self.successes += judged.result is Result.SUCCESS
            self.failures += judged.result is Result.FAILURE
            self.worker.record(judged.result, self.results)
        events = []
        if judged.reason is not None:
            events = [["Warning", judged.reason, judged.message or ""]]
        return len(attempts), events

    def expected(self, out: dict[str, Any]) -> dict[str, Any]:
        return {"proberCalls": 0, "updates": [], "events": []} | {
            key: value or ([] if key in {"updates", "events"} else value)
            for key, value in out.items()
        }


def decode_status(status: dict[str, Any] | None) -> PodStatus | None:
    if status is None:
        return None
    phase = status.get("phase", "")
    phases = {pod_phase.value for pod_phase in PodPhase}
    return PodStatus(
        # Any other text passes the gate, as Unknown does.
        phase=PodPhase(phase) if phase in phases else PodPhase.UNKNOWN,
        container_statuses=_decode_containers(status.get("containerStatuses")),
        init_container_statuses=_decode_containers(status.get("initContainerStatuses")),
    )


def _decode_containers(
    statuses: list[dict[str, Any]] | None,
) -> tuple[ContainerStatus, ...]:
    return tuple(
        ContainerStatus(
            status["name"],
            container_id=status.get("containerID", ""),
            state=_decode_state(status.get("state") or {}),
            started=status.get("started"),
        )
        for status in statuses or ()
    )


def _decode_state(state: dict[str, Any]) -> ContainerState | None:
    if "running" in state:
        running = state["running"]
        if running.get("startedAtZero"):
            return Running(None)
        return Running(NOW - timedelta(seconds=running["startedAgeSeconds"]))
    if "terminated" in state:
        return Terminated(state["terminated"].get("exitCode", 0))
    if "waiting" in state:
        return Waiting(state["waiting"].get("reason", ""))
    return None
