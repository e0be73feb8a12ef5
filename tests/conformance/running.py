"""One case run by the installed program, from its manifest to its observation."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.adaptation import for_processes
from tests.conformance.cases import Case
from tests.conformance.live import EndedError, LiveObservation
from tests.conformance.translation import Record
from tests.engines import cri_variables
from tests.lateness import Lateness

PROCESS = "process"
LONGEST_LINE = 2**24
LONGEST_START = 60.0
"""Seconds until the program must have begun its session."""

LONGEST_END = 30.0
"""Seconds that the program may take to end, beyond the pod's grace period."""

DEFAULT_GRACE = 30

MOST_LATE = 2
"""So many times its duration a case may take longer, on a machine that is that busy."""


class NoProgramError(Exception):
    """There is no program to run cases with."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of running a case.

    `observation` is what was seen, `written` is probetui's own record, `told` is what
    it said on standard error, `problem` is what kept it from doing its part.
    """

    case: Case
    observation: Sequence[Record]
    written: bytes
    told: str
    problem: str


def installed_program() -> Path:
    """Return the `probetui` that belongs to this Python, else the one in the PATH.

    Raises:
        NoProgramError: there is none.
    """
    beside = Path(sys.executable).with_name("probetui")
    found = str(beside) if beside.exists() else shutil.which("probetui")
    if found is None:
        raise NoProgramError("probetui is not installed")
    return Path(found)


async def run_case(
    case: Case,
    runtime: str,
    program: Path,
    starting: asyncio.Semaphore,
    lateness: Lateness | None = None,
) -> Run:
    """Run a case from its submission to the end of its observation.

    `starting` is held while the program starts: many that do so at once would take
    the machine's time from pods that run. A case that ends after some moment may wait
    for it as much longer as the machine was late.
    """
    live = LiveObservation(case["id"])
    with tempfile.TemporaryDirectory(prefix="probetui-") as scratch:
        pods = PodFolder(Path(scratch), runtime)
        pods.put(case["pod"])
        async with AsyncExitStack() as stack:
            async with starting:
                running = _running(program, pods, live)
                session = await stack.enter_async_context(running)
                await _begin(session, live)
            await _observe(case, pods, live, lateness or Lateness())
        return Run(case, live.records, session.written, session.told, session.problem)


class PodFolder:
    """The folder that probetui watches, with one manifest in it.

    `scratch` is a folder for this and for all that a session leaves on disk.
    """

    def __init__(self, scratch: Path, runtime: str) -> None:
        self.scratch = scratch
        self.runtime = runtime
        self.path = scratch / "manifests"
        self.path.mkdir()
        self.longest_grace = 0
        self._file = self.path / "pod.yaml"

    def put(self, pod: Mapping[str, Any]) -> None:
        """Put a manifest there, in place of the one before; watchers see it whole."""
        if self.runtime == PROCESS:
            pod = for_processes(pod)
        grace = pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE)
        self.longest_grace = max(self.longest_grace, grace)
        # Beside the folder: what is in it would be a manifest.
        new = self.scratch / "new.yaml"
        new.write_text(yaml.safe_dump(dict(pod)), encoding="utf-8")
        new.replace(self._file)

    def remove(self) -> None:
        """Remove the manifest."""
        self._file.unlink()


async def _begin(session: _Session, live: LiveObservation) -> None:
    """Return when the pod has been submitted, or will never be."""
    try:
        async with asyncio.timeout(LONGEST_START):
            await live.begun()
    except TimeoutError:
        session.problem = "it does not begin"
    except EndedError:
        await live.refused()


async def _observe(
    case: Case, pods: PodFolder, live: LiveObservation, lateness: Lateness
) -> None:
    """Do what a case asks for, when it does, until its observation is over."""
    actions = case.get("actions", [])
    acting = asyncio.create_task(_act(actions, pods, live))
    with suppress(EndedError):
        await _reach_the_end(case, live, lateness)
    acting.cancel()
    with suppress(asyncio.CancelledError, EndedError):
        await acting
    missed = actions[len(live.seen.actions) :]
    await live.end(
        [
            f"{action['do']}: {action.get('after', 'its time')} not reached"
            for action in missed
        ]
    )


async def _reach_the_end(case: Case, live: LiveObservation, lateness: Lateness) -> None:
    """Wait for the end of a case, or until its time and what the machine took is over.

    Raises:
        EndedError: the end can no longer come.
    """
    duration, begun_at = case["duration"], lateness.now
    if "end" not in case:
        await live.due({"at": duration})
        return
    while (
        left := duration + min(lateness.lost(begun_at), MOST_LATE * duration) - live.t
    ) > 0:
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await live.due(case["end"])
                return


async def _act(
    actions: Sequence[Mapping[str, Any]], pods: PodFolder, live: LiveObservation
) -> None:
    for action in actions:
        await live.due(action)
        await live.act(action["do"])
        if action["do"] == "replace":
            pods.put(action["pod"])
        else:
            pods.remove()


@dataclass(slots=True)
class _Session:
    """What a run of the program writes and tells."""

    written: bytes = b""
    told: str = ""
    problem: str = ""
    is_writing: bool = True


@asynccontextmanager
async def _running(
    program: Path, pods: PodFolder, live: LiveObservation
) -> AsyncIterator[_Session]:
    """Have the program run what is in a folder, and end it afterwards."""
    session = _Session()
    told = pods.scratch / "stderr"
    with told.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(program, "run", "-f", pods.path, "--watch"),
            *("--runtime", pods.runtime, "-o", "jsonl", "--kubelet", "1.32"),
            env=_environment(pods.scratch),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            limit=LONGEST_LINE,
            # An interrupt from the keyboard is ours: a second one would be one more.
            start_new_session=True,
        )
    reading = asyncio.create_task(_read(process, session, live))
    try:
        yield session
    finally:
        if session.is_writing:
            # By hand: asyncio's way may reap a process that has just ended.
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGINT)
        try:
            async with asyncio.timeout(pods.longest_grace + LONGEST_END):
                await asyncio.shield(reading)
        except TimeoutError:
            session.problem = "it does not end"
            process.kill()
        await reading
        await process.wait()
        session.told = told.read_text(encoding="utf-8", errors="replace")


async def _read(
    process: asyncio.subprocess.Process, session: _Session, live: LiveObservation
) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        session.written += line
        await live.take(json.loads(line))
    session.is_writing = False
    await live.source_ended()


def _environment(scratch: Path) -> dict[str, str]:
    """Return an environment with no settings, locks and logs but the session's own."""
    return {
        **{key: value for key, value in os.environ.items() if "PROBETUI" not in key},
        **cri_variables(),
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "XDG_STATE_HOME": str(scratch / "state"),
    }
