"""Exec probes: exit status 0 is a success.

Source: pkg/probe/exec/exec.go, v1.32.10, Probe; cri-client remote_runtime.go, ExecSync.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from probetui.errors import (
    ContainerRuntimeError,
    ExecTimeoutError,
    ExecutableMissingError,
)
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet.prober.timeout_text import exec_timeout
from probetui.kubelet.runtime.go_format import to_text
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.ports import ExecResult

MAX_OUTPUT_BYTES = 10 << 10

EXITED = "exit "
"""The prefix of the detail of a command that exited; the exit code follows."""


class CommandRunner(Protocol):
    """The part of `ports.Runtime` that exec probes need."""

    async def exec_sync(
        self, container_id: ContainerID, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        """Run a command in a container."""


async def probe_exec(
    runtime: CommandRunner,
    container_id: ContainerID,
    command: tuple[str, ...],
    timeout_seconds: int,
    rules: KubeletRules = PORTED_RULES,
) -> Attempt:
    """Run a command in a container and judge its exit status.

    Quirk, kept: at a time-out the output of the command is lost; and a command that
    cannot be run at all is an error, which never fails a probe.

    Args:
        runtime: the runtime of the container.
        container_id: the container to run the command in.
        command: with `$(VAR)` expanded.
        timeout_seconds: the time limit; 0 is none.
        rules: those of the kubelet's version, which decide what a time-out counts as.
    """
    try:
        done = await runtime.exec_sync(container_id, command, timeout_seconds)
    except ExecTimeoutError as error:
        text = exec_timeout(command, timedelta(seconds=timeout_seconds))
        if not rules.exec_timeout_is_failure:
            return Attempt(ProbeResult.UNKNOWN, error=text)
        detail = "timed out, killed" if error.killed else "timed out, still running"
        output = text if rules.tells_exec_timeout else ""
        return Attempt(ProbeResult.FAILURE, output, detail=detail)
    except ContainerRuntimeError as error:
        is_missing = isinstance(error, ExecutableMissingError)
        return Attempt(ProbeResult.UNKNOWN, error=str(error), is_missing=is_missing)
    return Attempt(
        ProbeResult.FAILURE if done.exit_code else ProbeResult.SUCCESS,
        to_text((done.stdout + done.stderr)[:MAX_OUTPUT_BYTES]),
        detail=f"{EXITED}{done.exit_code}",
        is_missing=done.is_missing,
    )
