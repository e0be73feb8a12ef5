"""Running a command in a container: one call, whose time limit is the runtime's."""

from __future__ import annotations

from datetime import timedelta

import grpc

from probetui.errors import ExecTimeoutError
from probetui.ports import ExecResult
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import EXEC_SYNC, Client
from probetui.runtimes.cri.faults import NoAnswerError, RefusedError, text_refusals
from probetui.runtimes.missing import is_missing, refused_command

OUTPUT_LIMIT_BYTES = 64 * 1024
"""How much of each stream is kept; the kubelet looks at 10 KiB."""


async def exec_sync(
    client: Client,
    cri_id: str,
    command: tuple[str, ...],
    timeout_seconds: int,
    patience: timedelta,
) -> ExecResult:
    """Run a command in any container; 0 seconds is no limit.

    A runtime kills the process that it started, and none of its children. One that
    waits for them, because they hold on to the output, may not answer at all: after
    the limit it is waited for as long as `patience`, and then the command is left.

    Source: cri-client/pkg/remote_runtime.go, v1.32.10, ExecSync.
    """
    with text_refusals():
        request = cri.ExecSyncRequest(
            container_id=cri_id, cmd=command, timeout=timeout_seconds
        )
    limit = timedelta(seconds=timeout_seconds) + patience if timeout_seconds else None
    try:
        answer = await client.call(EXEC_SYNC, request, limit=limit)
    except RefusedError as error:
        if is_missing(str(error)):
            raise refused_command(str(error)) from error
        if error.code is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
        raise ExecTimeoutError(_timed_out(command), killed=True) from error
    except NoAnswerError as error:
        raise ExecTimeoutError(_timed_out(command), killed=False) from error
    return ExecResult(
        answer.exit_code,
        answer.stdout[:OUTPUT_LIMIT_BYTES],
        answer.stderr[:OUTPUT_LIMIT_BYTES],
    )


def _timed_out(command: tuple[str, ...]) -> str:
    return f'command "{" ".join(command)}" timed out'
