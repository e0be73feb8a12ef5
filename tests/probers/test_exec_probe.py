from __future__ import annotations

import pytest

from probetui.errors import (
    ContainerRuntimeError,
    ExecTimeoutError,
    ExecutableMissingError,
)
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet_rules import rules_of
from probetui.ports import ExecResult
from probetui.probers.exec_probe import MAX_OUTPUT_BYTES, probe_exec

CONTAINER = ContainerID("docker://abc")


class Runner:
    """Answers every command with the same result or error."""

    def __init__(self, answer: ExecResult | Exception) -> None:
        self._answer = answer

    async def exec_sync(
        self, container_id: ContainerID, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def probe(answer: ExecResult | Exception, *command: str) -> Attempt:
    return await probe_exec(Runner(answer), CONTAINER, command or ("true",), 90)


@pytest.mark.parametrize(
    ("exit_code", "result"),
    [
        pytest.param(0, ProbeResult.SUCCESS, id="zero"),
        pytest.param(1, ProbeResult.FAILURE, id="one"),
        pytest.param(137, ProbeResult.FAILURE, id="killed"),
        pytest.param(-1, ProbeResult.FAILURE, id="negative"),
    ],
)
async def test_only_zero_is_a_success(exit_code: int, result: ProbeResult) -> None:
    attempt = await probe(ExecResult(exit_code, b"out", b"err"))

    assert attempt == Attempt(result, "outerr", detail=f"exit {exit_code}")


async def test_output_is_cut_at_ten_kibibytes() -> None:
    stdout = b"o" * (MAX_OUTPUT_BYTES - 1)

    attempt = await probe(ExecResult(1, stdout, b"err"))

    assert attempt.output == stdout.decode() + "e"


async def test_bytes_that_are_no_text_are_kept() -> None:
    attempt = await probe(ExecResult(1, b"\xff\x1b[31m", b""))

    assert attempt.output == "\udcff\x1b[31m"


@pytest.mark.parametrize(
    ("killed", "detail"),
    [
        pytest.param(True, "timed out, killed", id="killed"),
        pytest.param(False, "timed out, still running", id="left running"),
    ],
)
async def test_a_command_that_is_too_slow_fails_and_its_output_is_lost(
    *, killed: bool, detail: str
) -> None:
    """Quirk: the text of the time-out takes the place of what was written."""
    attempt = await probe(ExecTimeoutError("late", killed=killed), "sh", "-c", 'a "b"')

    text = r'command timed out: "sh -c a \"b\"" timed out after 1m30s'
    assert attempt == Attempt(ProbeResult.FAILURE, text, detail=detail)


async def test_with_the_gate_off_a_slow_command_is_an_error() -> None:
    runner = Runner(ExecTimeoutError("late", killed=True))

    attempt = await probe_exec(
        runner, CONTAINER, ("x",), 1, rules_of("1.20", ("ExecProbeTimeout=false",))
    )

    text = 'command timed out: "x" timed out after 1s'
    assert attempt == Attempt(ProbeResult.UNKNOWN, error=text)


async def test_a_command_that_cannot_be_run_is_an_error_and_no_failure() -> None:
    """Quirk: a liveness probe whose command does not exist never fails."""
    attempt = await probe(ContainerRuntimeError("no such executable"))

    assert attempt == Attempt(ProbeResult.UNKNOWN, error="no such executable")


async def test_a_command_that_is_not_there_is_known_as_such() -> None:
    errored = await probe(ExecutableMissingError("not found"))
    failed = await probe(ExecResult(126, b"not found", b"", is_missing=True))

    assert errored == Attempt(ProbeResult.UNKNOWN, error="not found", is_missing=True)
    assert failed == Attempt(
        ProbeResult.FAILURE, "not found", detail="exit 126", is_missing=True
    )
