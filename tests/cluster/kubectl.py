"""The real kubectl, run against a server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from tests.engines import KUBECTL

TIMEOUT_SECONDS = 60


class KubectlResult(Struct, frozen=True):
    """The exit code and the output of a command."""

    exit_code: int
    stdout: str
    stderr: str


class Kubectl:
    """Runs commands with one kubeconfig and an own home folder."""

    def __init__(self, kubeconfig: Path, **variables: str) -> None:
        self._kubeconfig = kubeconfig
        self._variables = variables

    async def __call__(self, *arguments: str, stdin: str = "") -> KubectlResult:
        """Run a command to its end, whatever its exit code."""
        async with (
            self.started(*arguments) as process,
            asyncio.timeout(TIMEOUT_SECONDS),
        ):
            out, err = await process.communicate(stdin.encode())
        return KubectlResult(process.returncode or 0, out.decode(), err.decode())

    async def output(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that must succeed, and return its output."""
        result = await self(*arguments, stdin=stdin)
        assert result.exit_code == 0, result
        return result.stdout

    def with_variables(self, **variables: str) -> Kubectl:
        """Return a copy with more environment variables."""
        return Kubectl(self._kubeconfig, **self._variables, **variables)

    @asynccontextmanager
    async def started(
        self, *arguments: str
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """Start a command, and kill it at the end of the context."""
        home = self._kubeconfig.parent
        process = await asyncio.create_subprocess_exec(
            KUBECTL,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "KUBECONFIG": str(self._kubeconfig),
                **self._variables,
            },
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def next_line(process: asyncio.subprocess.Process) -> str:
    """Return the next line that a command prints."""
    assert process.stdout is not None
    async with asyncio.timeout(TIMEOUT_SECONDS):
        return (await process.stdout.readline()).decode().rstrip("\n")
