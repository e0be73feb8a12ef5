"""Run a case with the installed program, from its manifest to its observation."""

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
from tests.conformance.live_observation import LiveObservation, ObservationEndedError
from tests.conformance.translation import Record
from tests.engines import cri_variables, unique_namespace
from tests.lateness import Lateness

PROCESS = "process"
MAX_LINE_LENGTH = 2**24
START_TIMEOUT = 60.0
"""The time limit for the start of a session, in seconds."""

END_TIMEOUT = 30.0
"""The time limit for the end of a session, in seconds beyond the pod's grace period."""

DEFAULT_GRACE = 30

MAX_EXTENSION = 2
"""How much longer a case may take on a busy machine, as a multiple of its duration."""


class NoProgramError(Exception):
    """There is no program that can run cases."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of running a case.

    `observation` has the records of the pod, `written` is probetui's own record,
    `stderr` its standard error, `problem` why it did not start or end in time.
    """

    case: Case
    observation: Sequence[Record]
    written: bytes
    stderr: str
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

    `starting` is held while the program starts: many starts at once would slow down
    the pods that run. A case that ends after a moment may wait longer for it, by the
    lateness of the machine.
    """
    live = LiveObservation(case["id"])
    with tempfile.TemporaryDirectory(prefix="probetui-") as scratch:
        pods = PodFolder(Path(scratch), runtime)
        pods.put(case["pod"])
        async with AsyncExitStack() as stack:
            async with starting:
                program_running = _running_program(program, pods, live)
                session = await stack.enter_async_context(program_running)
                await _wait_for_submission(session, live)
            if not session.problem:
                await _act_until_the_end(case, pods, live, lateness or Lateness())
        return Run(case, live.records, session.written, session.stderr, session.problem)


class PodFolder:
    """The folder that probetui watches, with one manifest in it.

    `scratch` is the parent folder, for all files of the session.
    """

    def __init__(self, scratch: Path, runtime: str) -> None:
        self.scratch = scratch
        self.runtime = runtime
        self.path = scratch / "manifests"
        self.path.mkdir()
        self.longest_grace = 0
        self._file = self.path / "pod.yaml"

    def put(self, pod: Mapping[str, Any]) -> None:
        """Replace the manifest atomically."""
        if self.runtime == PROCESS:
            pod = for_processes(pod)
        grace = pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE)
        self.longest_grace = max(self.longest_grace, grace)
        # Not in the folder: every file in it is a manifest.
        new = self.scratch / "new.yaml"
        new.write_text(yaml.safe_dump(dict(pod)), encoding="utf-8")
        new.replace(self._file)

    def remove(self) -> None:
        """Remove the manifest."""
        self._file.unlink()


async def _wait_for_submission(session: _Session, live: LiveObservation) -> None:
    """Wait until the pod has been submitted or refused."""
    try:
        async with asyncio.timeout(START_TIMEOUT):
            await live.wait_for_submission()
    except TimeoutError:
        session.problem = "it does not begin"
    except ObservationEndedError:
        await live.record_refusal()


async def _act_until_the_end(
    case: Case, pods: PodFolder, live: LiveObservation, lateness: Lateness
) -> None:
    """Perform the actions of a case when they are due, until its observation ends."""
    actions = case.get("actions", [])
    acting = asyncio.create_task(_perform_actions(actions, pods, live))
    try:
        with suppress(ObservationEndedError):
            await _wait_for_end(case, live, lateness)
    finally:
        acting.cancel()
        await asyncio.wait({acting})
    if not acting.cancelled():
        with suppress(ObservationEndedError):
            acting.result()
    missed = actions[len(live.observation.actions) :]
    await live.record_end(
        [
            f"{action['do']}: {action.get('after', 'its time')} not reached"
            for action in missed
        ]
    )


async def _wait_for_end(case: Case, live: LiveObservation, lateness: Lateness) -> None:
    """Wait for the end of a case, at most its duration and the lateness of the machine.

    Raises:
        ObservationEndedError: the program has ended before.
    """
    duration, begun_at = case["duration"], lateness.now
    if "end" not in case:
        await live.wait_until_due({"at": duration})
        return
    while (
        left := duration
        + min(lateness.lost(begun_at), MAX_EXTENSION * duration)
        - live.t
    ) > 0:
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await live.wait_until_due(case["end"])
                return


async def _perform_actions(
    actions: Sequence[Mapping[str, Any]], pods: PodFolder, live: LiveObservation
) -> None:
    for action in actions:
        await live.wait_until_due(action)
        await live.record_action(action["do"])
        if action["do"] == "replace":
            pods.put(action["pod"])
        else:
            pods.remove()


@dataclass(slots=True)
class _Session:
    """The standard output and standard error of a run of the program."""

    written: bytes = b""
    stderr: str = ""
    problem: str = ""
    is_writing: bool = True


@asynccontextmanager
async def _running_program(
    program: Path, pods: PodFolder, live: LiveObservation
) -> AsyncIterator[_Session]:
    """Run the program with the pods of a folder, and end it afterwards."""
    session = _Session()
    namespace = unique_namespace("conformance")
    environment = _environment(pods.scratch)
    stderr_file = pods.scratch / "stderr"
    with stderr_file.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(program, "run", "-f", pods.path, "--watch", "-n", namespace),
            *("--runtime", pods.runtime, "-o", "jsonl", "--kubelet", "1.32"),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            limit=MAX_LINE_LENGTH,
            # Not in our group: an interrupt from the keyboard would be a second SIGINT.
            start_new_session=True,
        )
    reading = asyncio.create_task(_read_records(process, session, live))
    try:
        yield session
    finally:
        if session.is_writing:
            # Not send_signal: asyncio may reap a process that has just ended.
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGINT)
        try:
            async with asyncio.timeout(pods.longest_grace + END_TIMEOUT):
                await asyncio.shield(reading)
        except TimeoutError:
            session.problem = "it does not end"
            process.kill()
            await process.wait()
            session.problem += await _remove_pods(program, pods, namespace, environment)
        await reading
        await process.wait()
        session.stderr = stderr_file.read_text(encoding="utf-8", errors="replace")


async def _remove_pods(
    program: Path, pods: PodFolder, namespace: str, environment: Mapping[str, str]
) -> str:
    """Remove what a killed program has left; return why that failed, empty if not.

    Its state folder, which says whose the pods are, is removed afterwards.
    """
    removal = await asyncio.create_subprocess_exec(
        *(program, "down", "--all", "-n", namespace, "--runtime", pods.runtime),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, stderr = await removal.communicate()
    return f"; {stderr.decode(errors='replace')}" if removal.returncode else ""


async def _read_records(
    process: asyncio.subprocess.Process, session: _Session, live: LiveObservation
) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        session.written += line
        await live.add_written(json.loads(line))
    session.is_writing = False
    await live.close_source()


def _environment(scratch: Path) -> dict[str, str]:
    """Return an environment with settings, locks and logs of this session only."""
    return {
        **{key: value for key, value in os.environ.items() if "PROBETUI" not in key},
        **cri_variables(),
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "XDG_STATE_HOME": str(scratch / "state"),
    }
