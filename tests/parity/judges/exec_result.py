"""The exec prober: from the runtime's answer to the event."""

from __future__ import annotations

from functools import partial
from typing import Any

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.k8s.pod import EnvVar
from probetui.k8s.probe import ExecAction, Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt
from probetui.kubelet.prober.prober import judge_outcome
from probetui.kubelet.runtime.go_format import to_bytes
from probetui.kubelet_rules import rules_of
from probetui.ports import ExecResult
from probetui.probers.exec_probe import probe_exec
from tests.builders import a_container, a_pod
from tests.parity.prober_cases import blob, digest
from tests.probers.dispatching import a_dispatch

CONTAINER = ContainerID("containerd://cid")


class ScriptedRunner:
    """A fake runtime that answers commands in order and repeats the last answer."""

    def __init__(self, inputs: dict[str, Any], layer: str) -> None:
        self._answers = list(inputs["answers"])
        self._timeout_ms = inputs.get("runtimeRequestTimeoutMs", 0)
        self._answer = {"runner": self._by_runner, "cri": self._by_cri}[layer]
        self.calls: list[tuple[ContainerID, tuple[str, ...], int]] = []

    async def exec_sync(
        self, container_id: ContainerID, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        self.calls.append((container_id, command, timeout_seconds))
        answer = self._answers[0]
        del self._answers[: len(self._answers) - 1 and 1]
        return self._answer(answer, timeout_seconds)

    def _by_runner(self, answer: dict[str, Any], _: int) -> ExecResult:
        match answer.get("error"):
            case None | "exit":
                exit_code = answer.get("exitCode", 0)
                return ExecResult(exit_code, blob(answer.get("output")), b"")
            case "timeout" | "wrappedTimeout":
                raise ExecTimeoutError(answer.get("message", ""), killed=True)
            case "contextDeadline":
                raise ContainerRuntimeError("context deadline exceeded")
            case "wrappedExit":
                raise ContainerRuntimeError(f"wrapped: {answer['message']}")
            case "other":
                raise ContainerRuntimeError(answer.get("message", ""))
            case other:
                raise AssertionError(other)

    def _by_cri(self, answer: dict[str, Any], timeout_seconds: int) -> ExecResult:
        """Answer as the adapter of a CRI runtime: only one code is a time-out."""
        limit = timeout_seconds * 1000 + self._timeout_ms
        code = answer.get("grpcCode")
        if code == "DeadlineExceeded" or answer.get("hangMs", 0) > limit:
            raise ExecTimeoutError(answer.get("grpcMessage", ""), killed=False)
        if code is not None:
            text = f"rpc error: code = {code} desc = {answer['grpcMessage']}"
            raise ContainerRuntimeError(text)
        stdout, stderr = blob(answer.get("stdout")), blob(answer.get("stderr"))
        return ExecResult(answer.get("exitCode", 0), stdout, stderr)


async def judge(case: dict[str, Any]) -> None:
    inputs, out = case["in"], case["out"]
    runtime = ScriptedRunner(inputs, case["layer"])
    gate = f"ExecProbeTimeout={case['execProbeTimeoutGate']}"
    handler = partial(probe_exec, runtime)
    probe = Probe(
        ExecAction(tuple(inputs["command"] or ())),
        timeout_seconds=inputs["timeoutSeconds"],
    )
    container = a_container("c", env=(EnvVar("A", "1"),), liveness_probe=probe)
    pod = a_pod(container, name="p", namespace="ns")
    key = ProbeKey(pod.uid, "c", ProbeType.LIVENESS)
    effect = RunProbe(1, key, pod, container, probe, CONTAINER, "10.1.2.3")
    effect = effect._replace(rules=rules_of("1.32", (gate,)))

    outcome = await a_dispatch(exec_=handler).probe(effect)

    judged = judge_outcome(ProbeType.LIVENESS, outcome)
    assert [_calls(case["layer"], *call) for call in runtime.calls] == out["calls"]
    compare = _compare_bare_timeout if _is_bare_timeout(case) else _compare_attempt
    for attempt, expected in zip(outcome.attempts, out["attempts"], strict=True):
        compare(attempt, expected)
    assert (str(judged.result), judged.error) == (out["result"], out["error"])
    assert (judged.reason is not None) == bool(out["events"])
    for expected in out["events"] if not _is_bare_timeout(case) else ():
        assert judged.reason == expected["reason"]
        _compare_text(judged.message or "", expected["message"])


def _is_bare_timeout(case: dict[str, Any]) -> bool:
    """Return whether an answer is a time-out without text, as of no CRI client."""
    return any(answer.get("error") == "timeout" for answer in case["in"]["answers"])


def _compare_bare_timeout(attempt: Attempt, expected: dict[str, Any]) -> None:
    """Compare without the command and the duration, which ours always has."""
    assert (attempt.result, attempt.error) == (expected["result"], expected["error"])
    assert attempt.output.startswith(expected["output"]["text"] + ": ")


def _compare_attempt(attempt: Attempt, expected: dict[str, Any]) -> None:
    assert (attempt.result, attempt.error) == (expected["result"], expected["error"])
    _compare_text(attempt.output, expected["output"])


def _compare_text(text: str, expected: dict[str, Any]) -> None:
    assert digest(text) == (expected["len"], expected["sha256"])
    assert to_bytes(text).startswith(
        blob(expected) if "prefix" not in expected else expected["prefix"].encode()
    )


def _calls(
    layer: str, container_id: str, command: tuple[str, ...], timeout_seconds: int
) -> dict[str, Any]:
    if layer == "cri":
        short_id = container_id.removeprefix("containerd://")
        return {
            "cmd": list(command),
            "containerId": short_id,
            "timeout": timeout_seconds,
        }
    return {
        "command": list(command),
        "containerID": container_id,
        "timeoutSeconds": timeout_seconds,
    }
