"""The results manager: set, get, remove, and what it tells of."""

from __future__ import annotations

from typing import Any

from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import parse_container_id
from probetui.kubelet.outcome import Result
from probetui.kubelet.results import ResultsManager, Update

CAPACITY = 20
"""Of the kubelet's channel: a set beyond it waits until somebody reads."""


def judge(case: dict[str, Any]) -> None:
    manager = ResultsManager(ProbeType.LIVENESS)
    waiting: list[Update] = []
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
                # What comes with "not found" is Go's zero value.
                assert str(Result.SUCCESS if got is None else got) == expected["result"]
            case "remove":
                manager.remove(parse_container_id(operation["containerID"]))
            case "drain":
                assert [
                    {
                        "containerID": each.container_id,
                        "result": str(each.result),
                        "podUID": each.pod_uid,
                    }
                    for each in waiting
                ] == [
                    {"podUID": "", **each} for each in expected.get("updates") or []
                ], operation
                waiting.clear()
            case other:
                raise AssertionError(other)
