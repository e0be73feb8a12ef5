"""One complete probe: its handler, attempts, outcome and event."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import GRPCAction, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt
from probetui.kubelet.prober.prober import JudgedOutcome, judge_outcome
from probetui.probers.http_request import ProbeRequest
from probetui.probers.prober import ProbeDispatcher
from probetui.probers.route import Route
from tests.parity.prober_cases import a_container, a_probe, handler_result
from tests.probers.dispatching import a_dispatch


class Recorder:
    """Handlers that record their arguments and answer in order."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self.calls: list[dict[str, Any]] = []
        self._answers = list(answers)

    def dispatch(self) -> ProbeDispatcher:
        return a_dispatch(
            exec_=self._exec,
            http_get=self._http_get,
            tcp_socket=self._tcp_socket,
            grpc=self._grpc,
        )

    def _answer(self, handler: str, seconds: int, **call: Any) -> Attempt:
        self.calls.append({"handler": handler, "timeoutSeconds": seconds, **call})
        answer = self._answers[0]
        del self._answers[: len(self._answers) - 1 and 1]
        return Attempt(
            handler_result(answer.get("result", "")),
            answer.get("output", ""),
            answer.get("error"),
        )

    async def _exec(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        seconds: int,
        *_: object,
    ) -> Attempt:
        return self._answer(
            "exec", seconds, containerID=container_id, command=list(command) or None
        )

    async def _http_get(
        self, request: ProbeRequest, limit: timedelta, _: Route
    ) -> Attempt:
        headers = {name: list(values) for name, values in request.headers.items()}
        return self._answer(
            "httpGet",
            limit // timedelta(seconds=1),
            method="GET",
            url=str(request.url),
            host=request.host,
            headers=headers,
        )

    async def _tcp_socket(
        self, host: str, port: int, limit: timedelta, _: Route
    ) -> Attempt:
        seconds = limit // timedelta(seconds=1)
        return self._answer("tcpSocket", seconds, host=host, port=port)

    async def _grpc(
        self, host: str, action: GRPCAction, limit: timedelta, *_: object
    ) -> Attempt:
        seconds = limit // timedelta(seconds=1)
        port, service = action.port, action.service
        return self._answer("grpc", seconds, host=host, port=port, service=service)


async def judge(case: dict[str, Any]) -> None:
    inputs, out = case["in"], case["out"]
    if inputs["probeType"] not in set(ProbeType):
        # Only our own code could request such a probe, and it has no name for it.
        with pytest.raises(ValueError, match=inputs["probeType"]):
            ProbeType(inputs["probeType"])
        assert (out["calls"] or [], out["events"] or []) == ([], [])
        return
    probe_type = ProbeType(inputs["probeType"])
    container = _container(inputs, probe_type)
    if container.probe(probe_type) is None:
        # Without a probe there is no worker that could run it.
        assert (out["calls"] or [], out["events"] or []) == ([], [])
        return
    recorder = Recorder(inputs["attempts"])
    effect = _effect(inputs, container, probe_type)

    outcome = await recorder.dispatch().probe(effect)

    judged = judge_outcome(probe_type, outcome)
    assert recorder.calls == (out["calls"] or [])
    assert len(recorder.calls) == out["handlerCalls"]
    assert (str(judged.result), judged.error) == (out["result"], out["error"])
    assert _events(judged, effect.pod, container) == (out["events"] or [])


def _container(inputs: dict[str, Any], probe_type: ProbeType) -> Container:
    container = a_container(inputs["container"])
    if inputs["probe"] is None:
        return container
    probe = a_probe(inputs["probe"])
    match probe_type:
        case ProbeType.LIVENESS:
            return replace(container, liveness_probe=probe)
        case ProbeType.READINESS:
            return replace(container, readiness_probe=probe)
        case ProbeType.STARTUP:
            return replace(container, startup_probe=probe)


def _effect(
    inputs: dict[str, Any], container: Container, probe_type: ProbeType
) -> RunProbe:
    placed = inputs["container"]["placedIn"]
    other = Container("other")
    pod = Pod(
        **inputs["pod"],
        containers=(other, container) if placed == "containers" else (other,),
        init_containers=(container,) if placed == "initContainers" else (),
        ephemeral_containers=(container,) if placed == "ephemeralContainers" else (),
    )
    probe = container.probe(probe_type)
    assert probe is not None
    return RunProbe(
        1,
        ProbeKey(pod.uid, container.name, probe_type),
        pod,
        container,
        probe,
        ContainerID(inputs["containerID"]),
        inputs["podIP"],
    )


def _events(
    judged: JudgedOutcome, pod: Pod, container: Container
) -> list[dict[str, str]]:
    if judged.reason is None:
        return []
    event = {
        "type": "Warning",
        "reason": judged.reason,
        "message": judged.message or "",
        "fieldPath": pod.field_path(container.name),
    }
    return [event]
