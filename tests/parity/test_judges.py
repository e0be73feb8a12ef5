"""Tests of the judges, with cases that no vector has.

The expected values are read from the kubelet's source, not recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.parity import api_json
from tests.parity.judges import (
    grpc_result,
    labels,
    pod_workers,
    port,
    prober,
    syncpod,
    tcp_result,
    termination_kill,
    worker_run,
)

RUN = {"op": "RunPodSandbox", "attempt": 0, "sandboxID": "p_ns_uid1_0"}
SANDBOX_STATUS = {"op": "PodSandboxStatus", "sandboxID": "p_ns_uid1_0"}
CREATED = [
    {"action": "KillPodSandbox", "target": "uid1"},
    {"action": "CreatePodSandbox", "target": "p_ns(uid1)"},
]


def a_sync(call: str, expect: dict[str, Any]) -> dict[str, Any]:
    """Return a case in which one call of the first sync fails with `boom`."""
    container = {"name": "a", "image": "busybox", "imagePullPolicy": "IfNotPresent"}
    return {
        "pod": {
            "metadata": {"name": "p", "namespace": "ns", "uid": "uid1"},
            "spec": {"containers": [container]},
        },
        "steps": [
            {"op": "image", "image": "busybox", "present": True},
            {"op": "injectError", "call": call, "error": "boom"},
            {"op": "sync", "at": 0, "expect": {"containersAfter": [], **expect}},
        ],
    }


def a_warning(reason: str, message: str, **fields: str) -> dict[str, str]:
    event = {"op": "event", "type": "Warning", "reason": reason, "message": message}
    return {**event, **fields}


def test_an_image_whose_status_cannot_be_read() -> None:
    # Quirk: the kubelet names the image reference that it could not read.
    message = 'Failed to inspect image "": boom'
    where = {"fieldPath": "spec.containers{a}"}
    failed = {"action": "StartContainer", "target": "a", "error": "ImageInspectError"}
    error = 'failed to "StartContainer" for "a" with ImageInspectError: '
    case = a_sync(
        "ImageStatus",
        {
            "ops": [
                RUN,
                SANDBOX_STATUS,
                a_warning("InspectFailed", message, **where),
                a_warning("Failed", "Error: ImageInspectError", **where),
            ],
            "results": [
                *CREATED,
                {"action": "ConfigPodSandbox", "target": "p_ns_uid1_0"},
                {**failed, "message": message},
            ],
            "error": error + '"Failed to inspect image \\"\\": boom"',
        },
    )

    syncpod.judge(case)


def test_a_sandbox_whose_status_cannot_be_read() -> None:
    message = "Unable to get pod sandbox status: boom"
    case = a_sync(
        "PodSandboxStatus",
        {
            "ops": [
                RUN,
                {**SANDBOX_STATUS, "error": "boom"},
                a_warning("FailedPodSandBoxStatus", message),
            ],
            "results": CREATED,
            "error": "failed to SyncPod: boom",
        },
    )

    syncpod.judge(case)


@pytest.mark.parametrize("output", ["", "said \\n so"])
def test_a_hook_that_fails_whatever_it_printed(output: str) -> None:
    where = {"fieldPath": "spec.containers{a}"}
    message = (
        'Exec lifecycle hook ([hook arg]) for Container "a" in Pod "p_ns(uid1)" '
        f'failed - error: exit 1, message: "{output}"'
    )
    quoted = message.replace("\\", "\\\\").replace('"', '\\"')
    error = f'failed to "StartContainer" for "a" with PostStartHookError: "{quoted}"'
    started = [
        {"op": "event", "type": "Normal", "reason": reason, "message": text, **where}
        for reason, text in (
            ("Pulled", 'Container image "busybox:1" already present on machine'),
            ("Created", "Created container: a"),
            ("Started", "Started container a"),
            ("Killing", "FailedPostStartHook"),
        )
    ]
    container_id = "p_ns_uid1_0_a_0"
    case = a_sync(
        "",
        {
            "ops": [
                RUN,
                SANDBOX_STATUS,
                started[0],
                {
                    "op": "CreateContainer",
                    "attempt": 0,
                    "containerID": container_id,
                    "image": "busybox:1",
                    "name": "a",
                    "sandboxID": "p_ns_uid1_0",
                    "userSpecifiedImage": "busybox:1",
                },
                started[1],
                {"op": "StartContainer", "containerID": container_id},
                started[2],
                {
                    "op": "ExecSync",
                    "cmd": ["hook", "arg"],
                    "containerID": container_id,
                    "timeout": 0,
                    "error": "exit 1",
                },
                a_warning("FailedPostStartHook", "PostStartHook failed", **where),
                started[3],
                {"op": "StopContainer", "containerID": container_id, "timeout": 2},
            ],
            "results": [
                *CREATED,
                {"action": "ConfigPodSandbox", "target": "p_ns_uid1_0"},
                {
                    "action": "StartContainer",
                    "target": "a",
                    "error": "PostStartHookError",
                    "message": message,
                },
            ],
            "error": error,
            "containersAfter": [
                {
                    "attempt": 0,
                    "id": container_id,
                    "name": "a",
                    "state": "CONTAINER_EXITED",
                }
            ],
        },
    )
    hook = {"postStart": {"exec": {"command": ["hook", "arg"]}}}
    container = {"name": "a", "image": "busybox:1", "lifecycle": hook}
    case["pod"]["spec"]["containers"] = [container]
    case["steps"][0]["image"] = "busybox:1"
    case["steps"][1] = {"op": "execError", "command": "hook", "error": "exit 1"}

    syncpod.judge(case)


def a_kill(
    hook: dict[str, Any], *calls: dict[str, Any], ports: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return a case in which a container with a preStop hook is killed."""
    killing = {"op": "event", "type": "Normal", "reason": "Killing"}
    where = {"fieldPath": "spec.containers{a}", "message": "Stopping container a"}
    stop = {"op": "StopContainer", "containerID": "c1", "timeout": 30}
    container = {"name": "a", "image": "busybox", "ports": list(ports)}
    return {
        "kind": "killContainer",
        "pod": {
            "metadata": {"name": "p", "namespace": "ns", "uid": "uid1"},
            "spec": {
                "containers": [{**container, "lifecycle": {"preStop": hook}}],
                "terminationGracePeriodSeconds": 30,
            },
        },
        "podSpecAvailable": True,
        "containerID": "containerd://c1",
        "containerName": "a",
        "message": "",
        "reason": "Unknown",
        "gracePeriodOverride": None,
        "preStopSeconds": 0,
        "preStopError": "",
        "stopError": "",
        "expect": {"ops": [{**killing, **where}, *calls, stop], "error": None},
    }


@pytest.mark.parametrize("given", [{}, {"command": []}], ids=["absent", "empty"])
@pytest.mark.parametrize("command", [None, []], ids=["null", "list"])
def test_a_hook_with_an_empty_command(
    given: dict[str, Any], command: list[str] | None
) -> None:
    call = {"op": "ExecSync", "cmd": command, "containerID": "c1", "timeout": 0}

    termination_kill.judge(a_kill({"exec": given}, call))


@pytest.mark.parametrize(
    ("port", "calls"),
    [
        pytest.param("web", [{"op": "HTTP", "url": "http://x:8080/"}], id="known"),
        pytest.param(
            "other",
            [
                a_warning(
                    "FailedPreStopHook",
                    "PreStopHook failed",
                    fieldPath="spec.containers{a}",
                )
            ],
            id="unknown",
        ),
    ],
)
def test_a_hook_that_sends_a_request_to_a_named_port(
    port: str, calls: list[dict[str, Any]]
) -> None:
    hook = {"httpGet": {"host": "127.0.0.1", "path": "/bye", "port": port}}
    ports = [{"name": "web", "containerPort": 8080}]

    termination_kill.judge(a_kill(hook, *calls, ports=ports))


@pytest.mark.parametrize(
    ("action", "observed"),
    [
        pytest.param(
            {"atMs": 100, "op": "stop"},
            {
                "callsMs": [700],
                "exitMs": 700,
                "updates": ["containerd://a1=Failure", "containerd://a1=Success"],
            },
            id="it probes once and ends",
        ),
        pytest.param(
            {"atMs": 100, "op": "statusGone"},
            {"callsMs": None, "exitMs": None, "workersAtEnd": 1},
            id="it never probes, nor ends",
        ),
        pytest.param(
            {"atMs": 100, "op": "phaseFailed"},
            {"callsMs": None, "exitMs": 700},
            id="it ends without a probe",
        ),
    ],
)
def test_a_change_during_the_first_wait_of_a_worker(
    action: dict[str, Any], observed: dict[str, Any]
) -> None:
    case = {
        "desc": "a random first wait",
        "probeType": "Readiness",
        "periodSeconds": 2,
        "probe": {},
        "managerAgeSeconds": 0,
        "attempts": [{"lastsMs": 0, "outcome": "success"}],
        "actions": [action],
        "observeMs": 2600,
        "observed": [
            {"workersAtEnd": 0, "metricSeriesAtEnd": 0, "updates": [], **observed}
        ],
    }

    worker_run.judge(case)


def a_probe(
    probe: dict[str, Any], answer: dict[str, str], out: dict[str, Any]
) -> dict[str, Any]:
    return {
        "in": {
            "probeType": "Liveness",
            "probe": {"timeoutSeconds": 1, **probe},
            "attempts": [answer],
            "container": {"name": "web", "placedIn": "containers"},
            "containerID": "containerd://abc",
            "pod": {"name": "p", "namespace": "ns", "uid": "u"},
            "podIP": "10.1.2.3",
        },
        "out": {"calls": [], "error": None, "handlerCalls": 0, **out},
    }


def unhealthy(message: str) -> list[dict[str, str]]:
    event = {"type": "Warning", "reason": "Unhealthy", "message": message}
    return [{**event, "fieldPath": "spec.containers{web}"}]


async def test_an_unknown_result_of_a_handler() -> None:
    call = {"handler": "exec", "command": ["x"], "containerID": "containerd://abc"}
    case = a_probe(
        {"exec": {"command": ["x"]}},
        {"result": "odd", "output": "said"},
        {
            "calls": [{**call, "timeoutSeconds": 1}],
            "handlerCalls": 1,
            "result": "Failure",
            "events": unhealthy("Liveness probe failed: said"),
        },
    )

    await prober.judge(case)


@pytest.mark.parametrize("action", [{}, {"port": 0}], ids=["absent", "zero"])
@pytest.mark.parametrize("handler", ["httpGet", "tcpSocket"])
async def test_port_0_is_none(handler: str, action: dict[str, int]) -> None:
    error = "invalid port number: 0"
    out = {"error": error, "result": "Failure"}
    events = unhealthy(f"Liveness probe errored: {error}")
    case = a_probe({handler: action}, {"result": "success"}, {**out, "events": events})

    await prober.judge(case)


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param({"port": {"type": "int"}}, id="absent"),
        pytest.param({"port": {"type": "int", "value": 0}}, id="zero"),
        pytest.param(
            {
                "port": {"type": "string", "value": "a"},
                "containerPorts": [{"name": "a"}],
            },
            id="of a container",
        ),
    ],
)
def test_port_0_is_refused(inputs: dict[str, Any]) -> None:
    port.judge({**inputs, "out": {"error": "invalid port number: 0"}})


async def test_port_0_is_dialled_by_tcp_and_grpc_probes() -> None:
    inputs = {"host": "127.0.0.1", "port": 0, "timeoutMs": 300}
    refused = "dial tcp 127.0.0.1:0: connect: connection refused"
    tcp = {"result": "failure", "error": None, "output": refused}
    text = 'timeout: failed to connect service "127.0.0.1:0" within 300ms: '
    too_late = {**tcp, "output": f"{text}context deadline exceeded", "elapsedMs": 300}

    await tcp_result.judge({"in": inputs, "server": {"kind": "none"}, "out": tcp})
    await grpc_result.judge({"in": inputs, "server": {"kind": "none"}, "out": too_late})


STATE = {
    "couldHaveRunningContainers": True,
    "isPodKnownTerminated": False,
    "isPodTerminationRequested": False,
    "shouldPodBeFinished": False,
    "shouldPodContainersBeTerminating": False,
    "shouldPodContentBeRemoved": False,
    "shouldPodRuntimeBeRemoved": False,
}
TERMINATING = {
    "isPodTerminationRequested": True,
    "shouldPodContainersBeTerminating": True,
}
KILL = "SyncTerminatingRuntimePod"


def a_step(
    calls: list[dict[str, str]],
    state: dict[str, bool],
    kind: str = "",
    **step: Any,
) -> dict[str, Any]:
    """Return a step after which a call of a kind is in progress, if any is."""
    busy = {"u9": {"call": kind, "contextCanceled": False}} if kind else {}
    world = {"calls": calls, "enqueued": [], "inProgress": busy}
    return {**step, "expect": {**world, "state": {"u9": {**STATE, **state}}}}


def an_update(kind: str, **fields: Any) -> dict[str, Any]:
    return {"op": "update", "update": {"uid": "u9", "updateType": kind, **fields}}


class TestAnOrphanedPod:
    def test_an_orphaned_pod_is_killed_and_then_forgotten(self) -> None:
        killed = an_update("kill", runningPodOnly=True)
        call = {"call": KILL, "uid": "u9"}
        steps = [
            a_step([call], TERMINATING, KILL, **killed),
            a_step([], {}, op="finish", uid="u9", result="ok"),
        ]

        pod_workers.judge({"steps": steps})

    @pytest.mark.parametrize("kind", ["create", "update", "sync"])
    def test_an_orphaned_pod_can_only_be_killed(self, kind: str) -> None:
        ignored = an_update(kind, runningPodOnly={"name": "n"})

        pod_workers.judge({"steps": [a_step([], {}, **ignored)]})

    def test_a_definition_of_an_orphaned_pod_is_used(self) -> None:
        synced = an_update("sync", runningPodOnly=True, pod={"version": "v1"})
        call = {"call": "SyncPod", "uid": "u9", "updateType": "sync", "version": "v1"}

        pod_workers.judge({"steps": [a_step([call], {}, "SyncPod", **synced)]})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, {"pid": "CONTAINER", "ipc": "POD"}, id="own"),
        pytest.param(
            {"hostPID": True, "hostIPC": True},
            {"pid": "NODE", "ipc": "NODE"},
            id="host",
        ),
        pytest.param(
            {"hostPID": True, "shareProcessNamespace": False},
            {"pid": "NODE", "ipc": "POD"},
            id="host-processes",
        ),
    ],
)
def test_the_namespaces_of_a_sandbox_are_judged(
    spec: dict[str, Any], expected: dict[str, str]
) -> None:
    pod = {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
        "spec": {"containers": [{"name": "a", "image": "busybox"}], **spec},
    }
    case = {"pod": pod, "sandboxAttempt": 0}

    found = labels.sandbox(api_json.pod(pod), case)["namespaceOptions"]

    assert found == {"network": "POD", **expected}
