"""The pod workers with a scripted syncer: their calls, with times and states."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from probetui.k8s.pod import Pod
from probetui.k8s.status import PodPhase
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.pod_workers.pod_update import (
    PodWorkerState,
    SyncCall,
    SyncCallKind,
    SyncCallResult,
    UpdatePodOptions,
    UpdateType,
)
from probetui.kubelet.pod_workers.pod_workers import PodWorkers

NOW = datetime(2024, 1, 1, tzinfo=UTC)

DELAYS = {
    "now": (0, 0),
    "transient(1-1.5s)": (1, 1.5),
    "backoff(10-15s)": (10, 15),
    "resync(60-90s)": (60, 90),
}

RESULTS = {
    "ok": SyncCallResult.OK,
    "terminal": SyncCallResult.TERMINAL,
    "error": SyncCallResult.ERROR,
    "canceled": SyncCallResult.ERROR,
    "networkNotReady": SyncCallResult.NETWORK_NOT_READY,
}


def judge(case: dict[str, Any]) -> None:
    bench = Bench(set(case.get("runtimeReadySandboxFor") or ()))
    for number, step in enumerate(case["steps"]):
        known_pods = bench.act(step)
        expected = step["expect"]
        where = f"step {number}"
        assert bench.take_calls() == expected["calls"], where
        assert bench.in_progress() == expected["inProgress"], where
        assert bench.state() == expected["state"], where
        assert bench.take_queue() == sorted(
            (entry["uid"], entry["delay"]) for entry in expected["enqueued"]
        ), where
        if "known" in expected:
            assert known_pods is not None
            assert known_pods == {
                uid: pod["state"] for uid, pod in expected["known"].items()
            }, where


class Bench:
    """Pod workers whose calls are recorded, and ended by the script."""

    def __init__(self, with_sandbox: set[str]) -> None:
        self.calls: list[SyncCall] = []
        self.uids: list[str] = []
        self.queued: dict[str, datetime] = {}
        self.workers = PodWorkers(
            KubeletConfig(),
            Random(1),
            start_call=lambda call, _now: self.calls.append(call),
            has_fresh_status=lambda _uid, _since: True,
            is_idle=lambda uid: uid not in with_sandbox,
        )

    def act(self, step: dict[str, Any]) -> Any:
        match step["op"]:
            case "update":
                update = decode_update(step["update"])
                if update.pod.uid not in self.uids:
                    self.uids.append(update.pod.uid)
                self.workers.update(update, NOW)
            case "finish":
                self.workers.finish(step["uid"], RESULTS[step["result"]], NOW)
            case "known":
                desired = {uid: Pod(uid, uid) for uid in step["desired"] or ()}
                known_pods = self.workers.sync_known_pods(desired, NOW)
                # The kubelet does not distinguish finished from terminated here.
                return {
                    uid: "terminated" if state is PodWorkerState.FINISHED else state
                    for uid, state in known_pods.items()
                }
            case other:
                raise AssertionError(other)
        return None

    def take_calls(self) -> list[dict[str, Any]]:
        calls = [self._call(call) for call in self.calls]
        self.calls.clear()
        return calls

    def _call(self, call: SyncCall) -> dict[str, Any]:
        noted: dict[str, Any] = {"call": call.kind.value, "uid": call.pod.uid}
        if not call.update.is_runtime_only:
            noted["version"] = call.pod.labels["version"]
        if call.kind is SyncCallKind.SYNC:
            noted["updateType"] = call.update.update_type.value
        if call.kind is SyncCallKind.TERMINATING:
            noted["gracePeriod"] = call.grace_period_seconds
        return noted

    def in_progress(self) -> dict[str, Any]:
        return {
            uid: {
                "call": call.kind.value,
                "contextCanceled": self.workers.is_cancelled(uid),
            }
            for uid in self.uids
            if (call := self.workers.call_of(uid)) is not None
        }

    def state(self) -> dict[str, Any]:
        workers = self.workers
        return {
            uid: {
                "couldHaveRunningContainers": workers.could_have_running_containers(
                    uid
                ),
                "isPodKnownTerminated": workers.is_known_terminated(uid),
                "isPodTerminationRequested": workers.is_termination_requested(uid),
                "shouldPodBeFinished": workers.should_be_finished(uid),
                "shouldPodContainersBeTerminating": workers.should_be_terminating(uid),
                "shouldPodContentBeRemoved": workers.should_content_be_removed(uid),
                "shouldPodRuntimeBeRemoved": workers.should_runtime_be_removed(uid),
            }
            for uid in self.uids
        }

    def take_queue(self) -> list[tuple[str, str]]:
        queued = [(uid, _delay(at - NOW)) for at, uid in self.workers.queue.in_order()]
        for uid, _ in queued:
            self.workers.queue.cancel(uid)
        return sorted(queued)


def decode_update(update: dict[str, Any]) -> UpdatePodOptions:
    # A pod that only the runtime has; a definition beside it takes precedence.
    running = update.get("runningPodOnly") if not update.get("pod") else None
    inputs = running if isinstance(running, dict) else update.get("pod") or {}
    options = update.get("killPodOptions") or {}
    phase = inputs.get("phase")
    return UpdatePodOptions(
        UpdateType(update["updateType"]),
        Pod(
            update["uid"],
            inputs.get("name", update["uid"]),
            labels={"version": inputs.get("version", "")},
            termination_grace_period_seconds=inputs.get(
                "terminationGracePeriodSeconds"
            ),
            deletion_requested_at=NOW if inputs.get("deletionTimestamp") else None,
            deletion_grace_period_seconds=inputs.get("deletionGracePeriodSeconds"),
        ),
        is_runtime_only=bool(running),
        phase=PodPhase(phase) if phase else None,
        is_static=inputs.get("static", False),
        evict=options.get("evict", False),
        grace_period_override=options.get("gracePeriodOverride"),
    )


def _delay(delay: timedelta) -> str:
    seconds = delay.total_seconds()
    return next(name for name, (low, high) in DELAYS.items() if low <= seconds <= high)
