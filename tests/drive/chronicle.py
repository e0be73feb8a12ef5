"""One eventful session, told on standard output: every turn, then its record.

Run by `test_determinism` in processes of its own.
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
from tests.drive.plots import WatchedEngine
from tests.drive.stage import ERRS, FAILS, SUCCEEDS, Stage

NAMES = ("shop", "cache", "proxy", "web", "queue")


def tell() -> None:
    """Play the session and print it."""
    stage, engine = play()
    pods = {f"uid-of-{name}": a_pod(name=name) for name in NAMES}
    context = RecordContext(START, pods)
    out = sys.stdout.buffer
    for turn in engine.turns:
        out.write(f"{turn!r}\n".encode())
    for entry in stage.journal:
        out.write(encode_line(encode_entry(entry, context)))


def play(seed: int = 7) -> tuple[Stage, WatchedEngine]:
    probe = a_probe(period_seconds=3, failure_threshold=2)
    app = a_container(startup_probe=probe, liveness_probe=probe, readiness_probe=probe)
    side = a_container(
        "side", restart_policy=RestartPolicy.ALWAYS, readiness_probe=probe
    )
    pods = [a_pod(app, init_containers=(side,), name=name) for name in NAMES]
    # A young kubelet, so that chance has a say in every worker's first tick.
    engine = WatchedEngine(KubeletConfig(seed=seed, age=timedelta()))
    answered = 0
    dealt = 0

    def answer(_effect: RunProbe, _age: timedelta) -> ProbeAnswer:
        nonlocal answered
        answered += 1
        kind = (SUCCEEDS, SUCCEEDS, FAILS, SUCCEEDS, ERRS, FAILS, FAILS)[answered % 7]
        return ProbeAnswer(kind.attempt, timedelta(milliseconds=answered * 37 % 1500))

    def deal(_call: Operation | Relist) -> CallBehavior:
        nonlocal dealt
        dealt += 1
        return CallBehavior(
            timedelta(milliseconds=dealt * 53 % 400), "no" * (dealt % 23 == 0)
        )

    lives = {
        "app": (
            InstanceBehavior(timedelta(seconds=17), 1),
            InstanceBehavior(stops_after=None),
        )
    }
    stage = Stage(*pods, engine=engine, lives=lives, probing=answer, dealing=deal)
    for second, command in (
        (20, TriggerProbe(a_key(ProbeType.LIVENESS, pod="cache"))),
        (25, PauseProbes()),
        (28, StepProbe()),
        (30, ResumeProbes()),
        (33, RestartContainer("uid-of-web", "app")),
        (40, DeletePod("uid-of-proxy")),
        (41, DeletePod("uid-of-queue", grace_period_seconds=3)),
    ):
        stage.run_until(second)
        stage.send(command)
    stage.world.unreachable = "no daemon"
    stage.run_until(50)
    stage.world.unreachable = ""
    stage.run_until(120)
    return stage, engine


if __name__ == "__main__":
    tell()
