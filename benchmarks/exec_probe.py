"""CPU time of an exec probe on plain processes, compared to the bare call.

    python benchmarks/exec_probe.py [--rounds N] [--probes N] [--json]

The bare call is asyncio's own subprocess with both outputs read. Rounds of both
alternate, and the best round of each counts; the CPU time of this process and of its
children, which are the commands. `cri.py` has the same for a CRI runtime.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from pathlib import Path

from limits import times

from probetui.drive.clocks import SystemClock
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import CreateContainer, RunPodSandbox, RunProbe
from probetui.kubelet.outcome import ProbeResult
from probetui.probers.prober import ProbeDispatcher
from probetui.runtimes.process.runtime import ProcessRuntime

COMMAND = ("true",)
MICROSECONDS = 1_000_000

Act = Callable[[], Awaitable[None]]


async def run_pod(runtime: ProcessRuntime, pod: Pod) -> ContainerID:
    """Run the pod's container and return its ID."""
    (container,) = pod.containers
    sandbox_id = await runtime.run_pod_sandbox(RunPodSandbox(pod, 0))
    container_id = await runtime.create_container(
        CreateContainer(pod, container, sandbox_id, 0, "")
    )
    await runtime.start_container(container_id)
    return container_id


def ours(runtime: ProcessRuntime, pod: Pod, container_id: ContainerID) -> Act:
    """Return an exec probe."""
    dispatch = ProbeDispatcher(runtime, SystemClock())
    probe = Probe(ExecAction(COMMAND), period_seconds=1, timeout_seconds=10)
    (container,) = pod.containers
    key = ProbeKey(pod.uid, container.name, ProbeType.LIVENESS)
    effect = RunProbe(1, key, pod, container, probe, container_id, "")

    async def act() -> None:
        outcome = await dispatch.probe(effect)
        if outcome.last.result is not ProbeResult.SUCCESS:
            raise SystemExit(f"the probe failed: {outcome.last}")

    return act


async def bare() -> None:
    process = await asyncio.create_subprocess_exec(*COMMAND, stdout=PIPE, stderr=PIPE)
    await process.communicate()
    if process.returncode:
        raise SystemExit(f"the command failed: {process.returncode}")


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its children."""
    taken = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        taken += usage.ru_utime + usage.ru_stime
    return taken


async def measure(rounds: int, probes: int) -> dict[str, float]:
    """Alternate rounds and return the best of each, in microseconds."""
    container = Container("app", "any", command=("sleep", "3600"))
    pod = Pod("bench", "bench", containers=(container,))
    with tempfile.TemporaryDirectory() as folder:
        runtime = ProcessRuntime(Path(folder), SystemClock())
        container_id = await run_pod(runtime, pod)
        acts: dict[str, Act] = {
            "exec_us": ours(runtime, pod, container_id),
            "bare_us": bare,
        }
        best = dict.fromkeys(acts, float("inf"))
        for act in acts.values():
            await act()
        for _ in range(rounds):
            for name, act in acts.items():
                before = cpu_seconds()
                for _ in range(probes):
                    await act()
                taken = (cpu_seconds() - before) / probes * MICROSECONDS
                best[name] = min(best[name], taken)
        for status in await runtime.relist():
            for sandbox in status.sandboxes:
                await runtime.stop_pod_sandbox(sandbox.sandbox_id)
                await runtime.remove_pod_sandbox(sandbox.sandbox_id)
        await runtime.close()
    figures = {name: round(value, 1) for name, value in best.items()}
    return figures | {"exec_times": times(best["exec_us"], best["bare_us"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--probes", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = asyncio.run(measure(options.rounds, options.probes))
    if options.json:
        print(json.dumps(figures))
        return
    print(
        "an exec probe takes {exec_us} µs of CPU with its command, the bare call "
        "{bare_us} µs: {exec_times} times".format(**figures)
    )


if __name__ == "__main__":
    main()
