"""The hash of a container, and its key in back-off."""

from __future__ import annotations

from typing import Any

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import ContainerID, RuntimeContainerStatus, RuntimeState
from probetui.kubelet.kuberuntime.container_hash import (
    container_hash,
    has_changed,
    stable_key,
)
from tests.parity import api_json


def judge(case: dict[str, Any]) -> None:
    expect = case["expect"]
    match case["kind"]:
        case "value":
            container = Container(name=case["name"], image=case["image"])
            pod = Pod(case["podUID"], case["podName"], case["podNamespace"])
            assert {
                "hash": str(container_hash(container)),
                "hashHex": f"{container_hash(container):x}",
                "backOffKey": stable_key(pod, container),
            } == expect
        case "mutation":
            before = api_json.container(case["before"])
            after = api_json.container(case["after"])
            instance = RuntimeContainerStatus(
                ContainerID("containerd://c1"),
                before.name,
                RuntimeState.RUNNING,
                hash=container_hash(before),
            )
            assert {
                "hashBefore": str(container_hash(before)),
                "hashAfter": str(container_hash(after)),
                "containerChanged": has_changed(after, instance),
            } == expect
        case kind:
            raise AssertionError(kind)
