"""The kill of one container and of a whole pod: calls and their times."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.probe import TCPSocketAction
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.killing import Kill, Killer
from tests.parity import api_json
from tests.parity.fake_cri import FakeCRI, known_parts

TOLERANCE = 0.2


def judge(case: dict[str, Any]) -> None:
    match case["kind"]:
        case "killContainer":
            judge_container(case)
        case "killPod":
            judge_pod(case)
        case their_call:
            raise AssertionError(their_call)


def judge_container(case: dict[str, Any]) -> None:
    pod = api_json.pod(case["pod"])
    if {"preStop": {}} in [
        container.get("lifecycle") for container in case["pod"]["spec"]["containers"]
    ]:
        # A valid manifest has no hook without a handler, and there is no value for it
        # here: like a tcpSocket hook, it cannot be run.
        pod = replace(
            pod,
            containers=tuple(
                replace(container, pre_stop=TCPSocketAction(0))
                for container in pod.containers
            ),
        )
    if not case["podSpecAvailable"]:
        pod = _as_restored_from_labels(pod)
    cri = FakeCRI(pod.uid)
    name = case["containerName"]
    cri.hook_seconds = {name: case["preStopSeconds"]}
    if case["preStopError"]:
        cri.exec_errors["bye"] = case["preStopError"]
    if case["stopError"]:
        cri.errors["StopContainer"] = case["stopError"]
    killer = Killer(cri.turn_builder, ContainerLifecycle(cri.turn_builder))
    instance = RuntimeContainerStatus(
        ContainerID(case["containerID"]), name, RuntimeState.RUNNING
    )
    kill = Kill(
        instance,
        case["message"],
        KillReason(case["reason"]),
        override_seconds=case["gracePeriodOverride"],
        # The containers of an orphan are in no spec, so their events are not recorded.
        is_announced=case["podSpecAvailable"],
    )

    error = cri.run(killer.kill_container(pod, kill, "", cri.now))

    assert error == case["expect"]["error"]
    calls = [_without_time(call) for call in cri.log]
    assert calls == [_without_time(call) for call in case["expect"]["ops"]]


def judge_pod(case: dict[str, Any]) -> None:
    pod = api_json.pod(case["pod"])
    cri = FakeCRI(pod.uid)
    cri.stop_seconds = case.get("stopSeconds") or {}
    cri.hook_seconds = case.get("preStopSeconds") or {}
    cri.sandboxes = [SandboxStatus("sb0", is_ready=True, ip="10.0.0.1")]
    cri.containers = [
        RuntimeContainerStatus(
            ContainerID(f"containerd://id-{name}"), name, RuntimeState.RUNNING
        )
        for name in case["running"]
    ]
    killer = Killer(cri.turn_builder, ContainerLifecycle(cri.turn_builder))
    override = case["gracePeriodOverride"]

    killed = cri.run(
        killer.kill_pod(pod, cri.status(pod), cri.now, override_seconds=override)
    )

    assert killed.error == case["expect"]["error"]
    ours = sorted(cri.log, key=_name)
    theirs = sorted(case["expect"]["ops"], key=_name)
    assert [_without_time(call) for call in ours] == [
        _without_time(call) for call in theirs
    ]
    for our_call, their_call in zip(ours, theirs, strict=True):
        assert abs(our_call["t"] - their_call["t"]) <= TOLERANCE, (our_call, their_call)


def _as_restored_from_labels(pod: Pod) -> Pod:
    """Return the pod as restored from labels of an orphan's containers: no probes."""
    return replace(
        pod,
        containers=tuple(
            replace(container, liveness_probe=None, startup_probe=None)
            for container in pod.containers
        ),
    )


def _without_time(call: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in known_parts(call).items() if key != "t"}


def _name(call: dict[str, Any]) -> str:
    return json.dumps(_without_time(call), sort_keys=True)
