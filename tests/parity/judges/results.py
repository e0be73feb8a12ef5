"""The results manager: set, get, remove, and its updates."""

from __future__ import annotations

from typing import Any

from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import parse_container_id
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.results_manager import ResultsManager, ResultUpdate

CAPACITY = 20
"""The capacity of the kubelet's channel; a set beyond it waits until the channel is
read."""


def judge(case: dict[str, Any]) -> None:
    manager = ResultsManager(ProbeType.LIVENESS)
    waiting: list[ResultUpdate] = []
    for operation in case["ops"]:
        expected = operation.get("out", {})
        match operation["op"]:
            case "set":
                manager.set(
                    parse_container_id(operation["containerID"]),
                    Result[operation["result"].upper()],
                    operation.get("podUID", ""),
                )
                updates = manager.take_updates()
                waiting += updates
                blocked = bool(updates) and len(waiting) > CAPACITY
                assert blocked == expected.get("blocked", False), operation
            case "get":
                got = manager.get(parse_container_id(operation["containerID"]))
                assert (got is not None) == expected["found"], operation
                # The result beside "not found" is Go's zero value.
                assert str(Result.SUCCESS if got is None else got) == expected["result"]
            case "remove":
                manager.remove(parse_container_id(operation["containerID"]))
            case "drain":
                assert [
                    {
                        "containerID": update.container_id,
                        "result": str(update.result),
                        "podUID": update.pod_uid,
                    }
                    for update in waiting
                ] == [
                    {"podUID": "", **update} for update in expected.get("updates") or []
                ], operation
                waiting.clear()
            case other:
                raise AssertionError(other)
