"""The program of `AnotherProbetui`: one pod, until standard input ends."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

from probetui.drive.clocks import SystemClock
from probetui.kubelet.effects import CreateContainer, Fault, RunPodSandbox
from probetui.runtimes.process.runtime import ProcessRuntime
from tests.builders import a_pod, a_script


async def main(base: Path, script: str, *, freezes: bool) -> None:
    runtime = ProcessRuntime(base, SystemClock())
    container = a_script(script)
    pod = a_pod(container, name="other")
    sandbox_id = await runtime.run_pod_sandbox(RunPodSandbox(pod, 0))
    container_id = await runtime.create_container(
        CreateContainer(pod, container, sandbox_id, 0, "")
    )
    await runtime.start_container(container_id)
    if freezes:
        await runtime.inject_fault(container_id, Fault.FREEZE)
    sys.stdout.write(f"{container_id}\n")
    sys.stdout.flush()
    with contextlib.suppress(ValueError):
        await asyncio.to_thread(sys.stdin.read)
    await runtime.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], freezes=bool(sys.argv[3])))
