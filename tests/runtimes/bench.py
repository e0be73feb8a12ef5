"""The base of the contract tests: a runtime, its clock, and shell scripts.

All programs are the scripts named here, run by `/bin/sh -c`, so that a fake can say
what each of them would do. They fit dash and busybox, also as process 1 of a PID
namespace, where a signal without a handler is ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet.effects import CreateContainer, RunPodSandbox
from probetui.ports import (
    Clock,
    ExecResult,
    Runtime,
)
from tests.builders import a_pod

POLITE = 'trap "exit 7" TERM; touch ready; sleep 300 & wait'
"""Ends with 7 when it is asked to stop."""

STUBBORN = 'trap "" TERM; touch ready; while :; do sleep 0.2; done'
"""Ignores SIGTERM."""

HEEDS_USR1 = "trap 'exit 11' USR1; touch ready; while :; do sleep 0.2; done"
UNAWARE = "touch ready; exec sleep 300"
"""Has no handler for SIGTERM."""

COMPLETES = "exit 0"
FAILS = "exit 3"
SPEAKS = "echo one; echo two; echo three; exit 0"
SPEAKS_LATER = "echo first; sleep 0.5; echo last; exit 0"
SPEAKS_AND_STAYS = "echo here; sleep 300"
FLOODS = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end; exit 4"
MUMBLES = r"printf '\377 \033[31m\n'; exit 0"
"""Prints a byte that is not UTF-8, and an escape sequence."""

IS_READY = "test -e ready"
APART = "printf out; printf err >&2; exit 5"
BYTES = r"printf '\377\000\376'"
LONG = "head -c 1048576 /dev/zero | tr '\\0' x; printf end >&2"
GREETING = 'printf %s "$GREETING"'
WHERE = "pwd"
ECHO = 'sleep 0.5; printf %s "$0"'
MEETING = 10
MEETS = (
    'touch "here-$0"; '
    f'until [ "$(ls -d here-* | wc -l)" -eq {MEETING} ]; do sleep 0.1; done; '
    'printf %s "$0"'
)
"""Ends once so many run, each with another argument."""

SLOW = "sleep 30"
BEATS = "(while :; do touch beat; sleep 0.05; done) & wait"
"""A command whose child shows that it runs."""

HAS_BEATEN = "test -e beat"
BEATS_NO_MORE = "test -e beat && rm beat && sleep 0.4 && test ! -e beat"

MISSING_PROGRAM = "/no/such/program"
SLACK = timedelta(seconds=20)
"""How much longer than specified anything may take on a busy machine.

Less than what it would take if a limit did not hold.
"""

PATIENCE = timedelta(seconds=60)
"""How long a busy machine may take until a condition holds."""


def sh(script: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a script."""
    return ("/bin/sh", "-c", script, *arguments)


class Bench(ABC):
    """A runtime under test, its clock, and shortcuts to use it."""

    image = "busybox:1.36"
    """An image that is here and has a shell."""

    root = ""
    """The prefix of mount paths in scripts."""

    beats = BEATS
    """A script that shows that it runs, and ends if the engine kills it."""

    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        self.runtime = runtime
        self.clock = clock

    @abstractmethod
    def another(self) -> Runtime:
        """Return another client of the same engine, like the next probetui."""

    @abstractmethod
    async def add_unmanaged(self) -> None:
        """Run an unmanaged container in the engine."""

    @abstractmethod
    async def unmanaged_is_running(self) -> bool:
        """Return whether the unmanaged container is unchanged."""

    def container(self, script: str, name: str = "app", **fields: Any) -> Container:
        """Return a container that runs a script."""
        return Container(name, self.image, command=sh(script), **fields)

    async def sandbox(self, pod: Pod, attempt: int = 0) -> str:
        """Run a sandbox and return its ID."""
        return await self.runtime.run_pod_sandbox(RunPodSandbox(pod, attempt))

    async def create(
        self, container: Container, *, attempt: int = 0, sandbox_id: str = ""
    ) -> ContainerID:
        """Create a container, in a sandbox of its own unless one is given."""
        pod = a_pod(container)
        return await self.runtime.create_container(
            CreateContainer(
                pod,
                container,
                sandbox_id or await self.sandbox(pod),
                attempt,
                await self.runtime.image_status(self.image) or "",
            )
        )

    async def run(
        self, script: str, *, attempt: int = 0, sandbox_id: str = "", **fields: Any
    ) -> ContainerID:
        """Create and start a container that runs a script."""
        created = await self.create(
            self.container(script, **fields), attempt=attempt, sandbox_id=sandbox_id
        )
        await self.runtime.start_container(created)
        return created

    async def run_ready(self, script: str, **fields: Any) -> ContainerID:
        """Run a script that makes a file `ready`, and wait for it."""
        container_id = await self.run(script, **fields)

        async def is_ready() -> bool:
            return (await self.sh(container_id, IS_READY)).exit_code == 0

        await self.until(is_ready)
        return container_id

    async def sh(
        self, container_id: ContainerID, script: str, *arguments: str, limit: int = 10
    ) -> ExecResult:
        """Run a script in a container."""
        command = sh(script, *arguments)
        return await self.runtime.exec_sync(container_id, command, limit)

    async def pod(self) -> RuntimePodStatus:
        """Return the only pod there is."""
        (found,) = await self.runtime.relist()
        return found

    async def status(
        self, container_id: ContainerID, runtime: Runtime | None = None
    ) -> RuntimeContainerStatus | None:
        """Return the status of a container in a relist, None if it is missing."""
        for pod in await (runtime or self.runtime).relist():
            for container in pod.containers:
                if container.container_id == container_id:
                    return container
        return None

    async def state(self, container_id: ContainerID) -> RuntimeState | None:
        """Return the state of a container, None if it is missing."""
        status = await self.status(container_id)
        return status.state if status else None

    async def ended(
        self, container_id: ContainerID, runtime: Runtime | None = None
    ) -> RuntimeContainerStatus:
        """Wait until a container has exited and return its status in a relist."""
        found: list[RuntimeContainerStatus] = []

        async def has_ended() -> bool:
            status = await self.status(container_id, runtime)
            if status and status.state is RuntimeState.EXITED:
                found.append(status)
            return bool(found)

        await self.until(has_ended)
        return found[0]

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Check a condition repeatedly until it holds."""
        give_up_at = self.clock.now() + PATIENCE
        while not await holds():
            assert self.clock.now() < give_up_at, "it never came to that"
            await self.wait(timedelta(milliseconds=20))

    async def wait(self, duration: timedelta) -> None:
        """Let time pass."""
        await self.clock.sleep_until(self.clock.now() + duration)

    @contextlib.asynccontextmanager
    async def meanwhile(self, call: Awaitable[object]) -> AsyncIterator[None]:
        """Run a call during the block, then cancel it."""
        task = asyncio.ensure_future(call)
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def is_between(instant: datetime | None, first: datetime, last: datetime) -> bool:
    """Return whether an instant is aware, in UTC and approximately in a span."""
    second = timedelta(seconds=1)
    return (
        instant is not None
        and instant.tzinfo is UTC
        and first - second <= instant <= last + second
    )
