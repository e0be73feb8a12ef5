"""A probe manager under test, and the pods that it probes."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from probetui.debugger.overrides import ProbeOverrides
from probetui.debugger.stepping import Stepper
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import (
    ContainerStatus,
    PodStatus,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import (
    StateEntry,
    StateField,
    TickEntry,
)
from probetui.kubelet.outcome import ProbeResult
from probetui.kubelet.prober.prober_manager import ProbeManager
from probetui.kubelet.prober.worker_loop import WorkerLoop
from probetui.kubelet.runtime.turn import TurnBuilder
from tests.builders import (
    START,
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    a_status,
    an_outcome,
    at,
)

LIVENESS, READINESS, STARTUP = ProbeType
SUCCEEDS, WARNS, FAILS, _ = ProbeResult
APP = ContainerID("fake://app-0")


def a_probed_container(name: str = "app", **fields: Any) -> Container:
    """Return a container with all three probes, with a period of one second."""
    probe = a_probe(period_seconds=1)
    return a_container(
        name,
        **{
            "startup_probe": probe,
            "readiness_probe": probe,
            "liveness_probe": probe,
            **fields,
        },
    )


def with_probe(kind: ProbeType, **probe: Any) -> Pod:
    """Return a pod with one container with one probe, once a second."""
    fields: dict[str, Any] = {
        f"{kind.lower()}_probe": a_probe(**{"period_seconds": 1, **probe})
    }
    return a_pod(a_container(**fields))


class Bench:
    """A probe manager; `answers` are used at once, `started_probes` have none yet."""

    def __init__(self, pod: Pod, *, age_seconds: float = 1e6, seed: int = 0) -> None:
        self.pod = pod
        self.turn_builder = TurnBuilder()
        self.statuses: dict[str, PodStatus] = {}
        self.overrides = ProbeOverrides()
        self.manager = ProbeManager(
            KubeletConfig(age=timedelta(seconds=age_seconds)),
            START,
            status_of=self.statuses.get,
            turn=self.turn_builder,
            rng=Random(seed),
            hooks=self.overrides,
        )
        self.stepper = Stepper(self.manager.scheduler, self.overrides)
        self.now = START
        self.started_probes: list[RunProbe] = []
        self.entries: list[Any] = []
        self.publish(a_container_status())
        self.manager.add_pod(pod, START)

    def publish(self, *containers: ContainerStatus, **status: Any) -> None:
        self.statuses[self.pod.uid] = a_status(*containers, **status)

    def run(self, seconds: float) -> None:
        """Let time pass up to that second, without answering anything."""
        end = at(seconds)
        while True:
            deadline = self.manager.scheduler.next_deadline()
            if deadline is None or deadline > end:
                break
            self.now = max(self.now, deadline)
            self.manager.scheduler.run_due(self.now)
        self.now = end
        self.manager.scheduler.run_due(end)
        self.finish_turn()

    def answer(self, result: ProbeResult = SUCCEEDS, **attempt: Any) -> None:
        """Answer the oldest probe that waits for it."""
        effect = self.started_probes.pop(0)
        outcome = an_outcome(result, **attempt)
        self.manager.scheduler.finish(ProbeFinished(effect.probe_id, outcome), self.now)
        self.finish_turn()

    def finish_turn(self) -> None:
        turn = self.turn_builder.finish()
        self.started_probes += [
            effect for effect in turn.effects if isinstance(effect, RunProbe)
        ]
        self.entries += turn.entries

    def ticks(self) -> list[TickEntry]:
        return [entry for entry in self.entries if isinstance(entry, TickEntry)]

    def states(self, what: StateField) -> list[tuple[str, str]]:
        return [
            (entry.before, entry.after)
            for entry in self.entries
            if isinstance(entry, StateEntry) and entry.what is what
        ]

    def workers(self) -> list[tuple[str, ProbeType]]:
        return [
            (loop.worker.key.container_name, loop.worker.key.probe_type)
            for loop in self.manager.scheduler.loops.values()
        ]

    def loop(self, kind: ProbeType, container: str = "app") -> WorkerLoop:
        loop = self.manager.worker(a_key(kind, container=container))
        assert loop is not None
        return loop
