"""A process runtime under test, and another probetui beside it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from probetui.drive.clocks import SystemClock
from probetui.k8s.runtime import ContainerID
from probetui.ports import Runtime
from probetui.runtimes.process.runtime import ProcessRuntime
from probetui.runtimes.process_identity import identify, is_alive
from tests.runtimes.bench import Bench

ROOT = Path(__file__).parents[3]


class ProcessBench(Bench):
    """Processes below a folder of the test's."""

    root = "$HOME"

    def __init__(self, base: Path) -> None:
        self.base = base
        clock = SystemClock()
        super().__init__(ProcessRuntime(base, clock), clock)

    def another(self) -> Runtime:
        return ProcessRuntime(self.base, SystemClock())

    async def add_unmanaged(self) -> None:
        (self.base / "theirs").mkdir(parents=True)
        (self.base / "theirs/sandbox.json").write_text("[]")

    async def unmanaged_is_running(self) -> bool:
        return (self.base / "theirs/sandbox.json").exists()

    def home(self, container_id: ContainerID) -> Path:
        """Return the working folder of a container's program."""
        (found,) = self.base.glob(f"*/{container_id.removeprefix('process://')}/home")
        return found

    def pid_in(self, container_id: ContainerID, file: str) -> int | None:
        """Return the process ID that a script left in a file, None before it has."""
        path = self.home(container_id) / file
        text = path.read_text() if path.exists() else ""
        return int(text) if text.endswith("\n") else None

    async def printed(self, container_id: ContainerID) -> list[str]:
        """Return what a container has printed, once it has ended."""
        await self.ended(container_id)
        lines = self.runtime.follow_logs(container_id, tail=100, follow=False)
        return [line.text async for line in lines]

    async def until_dead(self, pid: int | None) -> None:
        """Wait until a process has ended."""
        assert pid

        async def is_dead() -> bool:
            return not runs(pid)

        await self.until(is_dead)

    async def clean_up(self) -> None:
        cleaner = ProcessRuntime(self.base, SystemClock(), sees_all=True)
        for pod in await cleaner.relist():
            for sandbox in pod.sandboxes:
                await cleaner.remove_pod_sandbox(sandbox.sandbox_id)
        await cleaner.close()
        await self.runtime.close()


def runs(pid: int | None) -> bool:
    """Return whether a process runs."""
    process = identify(pid) if pid else None
    return process is not None and is_alive(process)


class AnotherProbetui:
    """A probetui of its own that runs one script in a pod `other`, or freezes it."""

    def __init__(self, base: Path, script: str, *, freezes: bool = False) -> None:
        program = [sys.executable, "-m", "tests.runtimes.process.another"]
        self._process = subprocess.Popen(
            [*program, base, script, "freeze" if freezes else ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        line = _pipe(self._process.stdout).readline()
        self.container_id = ContainerID(line.decode().strip())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.crash()
        _pipe(self._process.stdin).close()
        _pipe(self._process.stdout).close()

    def crash(self) -> None:
        """Kill it with SIGKILL."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Freeze it."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Thaw it."""
        self._process.send_signal(signal.SIGCONT)

    def leave(self) -> None:
        """End it normally, leaving its pod unchanged."""
        _pipe(self._process.stdin).close()
        self._process.wait()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe
    return pipe
