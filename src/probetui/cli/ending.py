"""How a session ends: signals, and pods stopped as the kubelet stops them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from probetui.cli.notes import Notes
from probetui.cli.runtimes import all_pods, remove_pods
from probetui.drive.realtime import RealtimeSession
from probetui.errors import ContainerRuntimeError
from probetui.headless.follow import Follower
from probetui.headless.verdict import INTERRUPTED, PODS_ENDED, TERMINATED, Verdict
from probetui.k8s.pod import Pod
from probetui.ports import Runtime

_HUNG_UP = 129
_VERDICTS = {
    signal.SIGINT: Verdict("interrupted", INTERRUPTED),
    signal.SIGTERM: Verdict("terminated", TERMINATED),
    signal.SIGHUP: Verdict("terminated", _HUNG_UP),
}


class Interrupts:
    """What signals do to a session, while it is entered as a context manager.

    The first ends the session, if nothing else has. One that comes while the pods are
    being stopped leaves them as they are: `leave` is set.
    """

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self.leave = asyncio.Event()

    def __enter__(self) -> Self:
        """Listen for signals."""
        loop = asyncio.get_running_loop()
        for each in _VERDICTS:
            loop.add_signal_handler(each, self._receive, each)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Listen no more."""
        loop = asyncio.get_running_loop()
        for each in _VERDICTS:
            loop.remove_signal_handler(each)

    def _receive(self, number: signal.Signals) -> None:
        if self._follower.is_over:
            self.leave.set()
        else:
            self._follower.end(_VERDICTS[number])


async def end_pods(
    session: RealtimeSession,
    pods: Sequence[Pod],
    runtime: Runtime,
    interrupts: Interrupts,
    notes: Notes,
    verdict: Verdict,
) -> Verdict:
    """Stop all pods, with their grace periods and hooks, and remove what they were.

    Returns the verdict, changed if that did not work or was broken off.
    """
    grace = max(
        (each.termination_grace_period_seconds or 0 for each in pods), default=0
    )
    names = ", ".join(each.name for each in pods)
    if verdict.reason != PODS_ENDED:
        notes.note(f"stopping {names} (within {grace}s; ^C leaves them running)")
    stopping = asyncio.ensure_future(session.shutdown())
    leaving = asyncio.ensure_future(interrupts.leave.wait())
    await asyncio.wait({stopping, leaving}, return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if not stopping.done():
        stopping.cancel()
        notes.warning(f"left running: {names}; `probetui down` removes them")
        return replace(verdict, exit_status=INTERRUPTED)
    session.stop()
    try:
        await remove_own(runtime, pods)
    except ContainerRuntimeError as error:
        notes.error(f"could not remove {names}: {error}; later: `probetui down`")
        return replace(verdict, exit_status=verdict.exit_status or error.exit_status)
    return verdict


async def remove_own(runtime: Runtime, pods: Sequence[Pod]) -> None:
    """Remove at once whatever the runtime still has of these pods.

    Raises:
        ContainerRuntimeError: it refused.
    """
    uids = {each.uid for each in pods}
    left = [each for each in await all_pods(runtime) if each.pod_uid in uids]
    await remove_pods(runtime, left, grace_period_seconds=0)
