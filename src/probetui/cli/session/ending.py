"""The end of a session: signals, and pods stopped as the kubelet stops them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Self

from msgspec.structs import replace

from probetui.cli.printing import Notes
from probetui.cli.runtimes import all_pods, remove_pods
from probetui.cli.session.signal_watch import INSISTING, Signals
from probetui.drive.realtime import RealtimeSession
from probetui.errors import ContainerRuntimeError
from probetui.headless.follow import Follower
from probetui.headless.verdict import (
    ANOTHER_LESSON,
    EXIT_INTERRUPTED,
    EXIT_RUNTIME_LOST,
    EXIT_TERMINATED,
    PODS_ENDED,
    Verdict,
)
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus, RuntimeState
from probetui.kubelet.effects import RunHook
from probetui.kubelet_rules import KubeletRules
from probetui.ports import Runtime
from probetui.probers.lifecycle_hooks import LifecycleHookRunner
from probetui.suggestions import removal_command

SIGNALLED = 128
"""What the number of a signal is added to for the exit status."""

SILENCE_WARNED_SECONDS = 3
"""How long a runtime may not answer at the end before a warning."""

SILENCE_SECONDS = 10
"""How much longer to wait for it."""

PING_SECONDS = 1

LEAST_GRACE_SECONDS = 2
DEFAULT_GRACE_SECONDS = 30

REMOVAL_SECONDS = 60
"""How long a runtime may take to remove what is left of the pods."""

_HUNG_UP = SIGNALLED + signal.SIGHUP
_VERDICTS = {
    signal.SIGINT: Verdict("interrupted", EXIT_INTERRUPTED),
    signal.SIGTERM: Verdict("terminated", EXIT_TERMINATED),
    signal.SIGHUP: Verdict("terminated", _HUNG_UP),
    signal.SIGQUIT: Verdict("terminated", SIGNALLED + signal.SIGQUIT),
}


class EarlyEnd:
    """Ends a program on a signal before its session begins.

    The task that made it is cancelled, so that whatever it has opened is closed again.
    `Interrupts` takes over once there is a session.

    Args:
        signals: delivers them.

    Attributes:
        received: the signal that came first, None before.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._task = asyncio.current_task()
        self.received: signal.Signals | None = None
        signals.deliver(self._receive, str)

    def _receive(self, number: signal.Signals) -> None:
        if self.received is None and self._task is not None:
            self.received = number
            self._signals.leave(number)
            self._task.cancel()


class Interrupts:
    """Handles signals during a session; a context manager.

    The first ends the session, if nothing else has. A SIGINT or SIGTERM that comes
    while the pods are being stopped leaves them as they are: `leave` is set. A SIGHUP
    does not: a terminal that is closed meanwhile asks for nothing.

    Args:
        follower: ends the session.
        signals: delivers them.
        left: returns the names of pods that stay if the program ends now.
    """

    def __init__(
        self, follower: Follower, signals: Signals, left: Callable[[], str] = str
    ) -> None:
        self._follower = follower
        self._signals = signals
        self._left = left
        self.leave = asyncio.Event()
        self.left_by = signal.SIGINT
        """The signal that set `leave`."""

    def __enter__(self) -> Self:
        """Handle signals from now on."""
        self._signals.deliver(self._receive, self._left)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave signals to the watch, which ends what does not end by itself."""

    def _receive(self, number: signal.Signals) -> None:
        if not self._follower.is_over:
            self._follower.end(_VERDICTS[number])
        elif number in INSISTING:
            self._signals.leave(number)
            self.left_by = number
            self.leave.set()


async def end_pods(
    session: RealtimeSession,
    pods: Sequence[Pod],
    runtime: Runtime,
    interrupts: Interrupts,
    notes: Notes,
    verdict: Verdict,
) -> Verdict:
    """Stop all pods, with their grace periods and hooks, and remove them.

    It ends when that is done, on a signal, or when the runtime does not answer.
    Returns the verdict, changed if pods could not be stopped or were left running.
    """
    there = _still_there(session, pods)
    grace = max((pod.termination_grace_period_seconds or 0 for pod in there), default=0)
    names = ", ".join(pod.name for pod in there or pods)
    if there and verdict.reason not in {PODS_ENDED, ANOTHER_LESSON}:
        notes.note(f"stopping {names} (within {grace}s; ^C leaves them running)")
    stopping = asyncio.ensure_future(_stop_and_remove(session, pods, runtime, notes))
    leaving = asyncio.ensure_future(interrupts.leave.wait())
    silence = asyncio.ensure_future(_wait_for_silence(runtime, names, notes))
    tasks = {stopping, leaving, silence}
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    is_left = not stopping.done() and leaving.done()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    session.stop()
    if is_left:
        notes.warning(f"left running: {names}; {removal_command(names)} removes them")
        return replace(verdict, exit_status=SIGNALLED + interrupts.left_by)
    if stopping.cancelled():
        notes.error(
            f"could not stop {names}: {runtime.name} does not answer; later: "
            f"{removal_command(names)}"
        )
        return replace(verdict, exit_status=verdict.exit_status or EXIT_RUNTIME_LOST)
    error = stopping.exception()
    if isinstance(error, ContainerRuntimeError):
        notes.error(
            f"could not remove {names}: {error}; later: {removal_command(names)}"
        )
        return replace(verdict, exit_status=verdict.exit_status or error.exit_status)
    if isinstance(error, TimeoutError):
        notes.error(
            f"could not remove {names} within {REMOVAL_SECONDS}s; later: "
            f"{removal_command(names)}"
        )
        return replace(verdict, exit_status=verdict.exit_status or EXIT_RUNTIME_LOST)
    if error is not None:
        raise error
    return verdict


def _still_there(session: RealtimeSession, pods: Sequence[Pod]) -> Sequence[Pod]:
    """Return the pods that the session still has; a reload may have removed some."""
    known = {pod.pod.uid for pod in session.snapshot.pods}
    return [pod for pod in pods if pod.uid in known]


async def _stop_and_remove(
    session: RealtimeSession, pods: Sequence[Pod], runtime: Runtime, notes: Notes
) -> None:
    rules = session.snapshot.rules
    names = ", ".join(pod.name for pod in _still_there(session, pods))
    if not await session.shutdown():
        if session.has_run_ended:
            notes.error(f"a bug ended the session; {names} is stopped without it")
            await stop_containers(runtime, pods, rules)
        else:
            notes.warning(f"{names} did not end in time; removing what is left")
    session.stop()
    async with asyncio.timeout(REMOVAL_SECONDS):
        await remove_session_pods(runtime, pods)


async def stop_containers(
    runtime: Runtime, pods: Sequence[Pod], rules: KubeletRules
) -> None:
    """Stop containers as the engine does, where that cannot: preStop, SIGTERM, SIGKILL.

    Raises:
        ContainerRuntimeError: the runtime refused, for the first container it did so.
    """
    known = {pod.uid: pod for pod in pods}
    results = await asyncio.gather(
        *(
            _stop_container(runtime, known[status.pod_uid], status, container, rules)
            for status in await all_pods(runtime)
            if status.pod_uid in known
            for container in status.containers
            if container.state is RuntimeState.RUNNING
        ),
        return_exceptions=True,
    )
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def _stop_container(
    runtime: Runtime,
    pod: Pod,
    status: RuntimePodStatus,
    running: RuntimeContainerStatus,
    rules: KubeletRules,
) -> None:
    """Run a container's preStop hook and stop it, all within its grace period."""
    grace = pod.termination_grace_period_seconds
    left = max(LEAST_GRACE_SECONDS, DEFAULT_GRACE_SECONDS if grace is None else grace)
    container = pod.container(running.name)
    if container is not None and container.pre_stop is not None:
        hook = RunHook(
            pod,
            container,
            running.container_id,
            container.pre_stop,
            next(iter(status.ips), ""),
            rules,
            is_pre_stop=True,
        )
        began_at = asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await LifecycleHookRunner(runtime, runtime).run(hook)
        elapsed = asyncio.get_running_loop().time() - began_at
        left = max(LEAST_GRACE_SECONDS, left - int(elapsed))
    await runtime.stop_container(running.container_id, left)


async def _wait_for_silence(runtime: Runtime, names: str, notes: Notes) -> None:
    """Return when the runtime has not answered for long; warn before.

    It is asked for its version every second.
    """
    while True:
        asked = asyncio.ensure_future(_wait_for_answer(runtime))
        try:
            await asyncio.wait({asked}, timeout=SILENCE_WARNED_SECONDS)
            if not asked.done():
                notes.warning(
                    f"waiting for {runtime.name} to answer, for at most "
                    f"{SILENCE_SECONDS}s more; ^C or SIGTERM leaves {names} running"
                )
                await asyncio.wait({asked}, timeout=SILENCE_SECONDS)
            if not asked.done():
                return
        finally:
            asked.cancel()
        await asyncio.sleep(PING_SECONDS)


async def _wait_for_answer(runtime: Runtime) -> None:
    """Return when the runtime answers."""
    while True:
        try:
            await runtime.version()
        except ContainerRuntimeError as error:
            if not error.unreachable:
                return
            await asyncio.sleep(PING_SECONDS)
        else:
            return


async def remove_session_pods(runtime: Runtime, pods: Sequence[Pod]) -> None:
    """Remove at once what the runtime still has of these pods.

    Raises:
        ContainerRuntimeError: it refused.
    """
    uids = {pod.uid for pod in pods}
    left = [pod for pod in await all_pods(runtime) if pod.pod_uid in uids]
    await remove_pods(runtime, left, grace_period_seconds=0)


class CollectedErrors:
    """Errors of steps that must all be run; they are raised after the last step."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Keep the error that ends a step."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  # it is raised after the last step
            self.errors.append(error)

    async def watch(self, work: Awaitable[None]) -> None:
        """Keep the error that ends a background task."""
        with self.caught():
            await work

    def raise_first(self) -> None:
        """Raise the first error, if there is any, with notes of the others."""
        if not self.errors:
            return
        first, *others = self.errors
        for error in others:
            first.add_note(f"after that: {type(error).__name__}: {error}")
        raise first
