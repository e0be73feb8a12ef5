"""Print one eventful session: every turn, then its record.

`test_determinism` runs this module in other processes.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from probetui.debugger.commands import (
    PauseProbes,
    RestartContainer,
    ResumeProbes,
    StepProbe,
    TriggerProbe,
)
from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior, ProbeAnswer
from probetui.engine.inputs import DeletePod
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Operation, Relist, RunProbe
from probetui.record.codec import encode_entry, encode_line
from probetui.record.format import RecordContext
from tests.builders import START, a_container, a_key, a_pod, a_probe
from tests.drive.engine_bench import ERRS, FAILS, SUCCEEDS, EngineBench
from tests.drive.random_sessions import WatchedEngine

NAMES = ("shop", "cache", "proxy", "web", "queue")


def print_session() -> None:
    """Simulate the session and print it."""
    bench, engine = run_session()
    pods = {f"uid-of-{name}": a_pod(name=name) for name in NAMES}
    context = RecordContext(START, pods)
    out = sys.stdout.buffer
    for turn in engine.turns:
        out.write(f"{turn!r}\n".encode())
    for entry in bench.journal:
        out.write(encode_line(encode_entry(entry, context)))


def run_session(seed: int = 7) -> tuple[EngineBench, WatchedEngine]:
    probe = a_probe(period_seconds=3, failure_threshold=2)
    app = a_container(startup_probe=probe, liveness_probe=probe, readiness_probe=probe)
    side = a_container(
        "side", restart_policy=RestartPolicy.ALWAYS, readiness_probe=probe
    )
    pods = [a_pod(app, init_containers=(side,), name=name) for name in NAMES]
    # A kubelet that has just started: each worker's first tick has a random delay.
    engine = WatchedEngine(KubeletConfig(seed=seed, age=timedelta()))
    probe_count = 0
    call_count = 0

    def answer_probe(_effect: RunProbe, _age: timedelta) -> ProbeAnswer:
        nonlocal probe_count
        probe_count += 1
        kind = (SUCCEEDS, SUCCEEDS, FAILS, SUCCEEDS, ERRS, FAILS, FAILS)[
            probe_count % 7
        ]
        return ProbeAnswer(
            kind.attempt, timedelta(milliseconds=probe_count * 37 % 1500)
        )

    def call_behavior(_call: Operation | Relist) -> CallBehavior:
        nonlocal call_count
        call_count += 1
        return CallBehavior(
            timedelta(milliseconds=call_count * 53 % 400), "no" * (call_count % 23 == 0)
        )

    lives = {
        "app": (
            InstanceBehavior(timedelta(seconds=17), 1),
            InstanceBehavior(stops_after=None),
        )
    }
    bench = EngineBench(
        *pods, engine=engine, lives=lives, probing=answer_probe, dealing=call_behavior
    )
    for second, command in (
        (20, TriggerProbe(a_key(ProbeType.LIVENESS, pod="cache"))),
        (25, PauseProbes()),
        (28, StepProbe()),
        (30, ResumeProbes()),
        (33, RestartContainer("uid-of-web", "app")),
        (40, DeletePod("uid-of-proxy")),
        (41, DeletePod("uid-of-queue", grace_period_seconds=3)),
    ):
        bench.run_until(second)
        bench.send(command)
    bench.world.unreachable = "no daemon"
    bench.run_until(50)
    bench.world.unreachable = ""
    bench.run_until(120)
    return bench, engine


if __name__ == "__main__":
    print_session()
