"""Answers about the containers of a simulated session, on virtual time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from probetui.analysis.causes.answer import explain
from probetui.analysis.causes.cause import WhyAnswer
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.container_history import SessionHistory
from probetui.drive.scenario.behavior import (
    IMMEDIATE,
    CallBehavior,
    InstanceBehavior,
    RuntimeBehavior,
)
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import KubeletRules
from tests.builders import at
from tests.drive.engine_bench import EngineBench

STUBBORN = InstanceBehavior(stops_after=None)


def exits(code: int, seconds: float = 4) -> InstanceBehavior:
    """Return the behavior of an instance that exits by itself."""
    return InstanceBehavior(timedelta(seconds=seconds), exit_code=code)


def takes(kind: type, seconds: float, error: str = "") -> RuntimeBehavior:
    """Return a runtime whose calls of a kind take that long, and may fail then."""

    def answer(call: object) -> CallBehavior:
        if isinstance(call, kind):
            return CallBehavior(timedelta(seconds=seconds), error)
        return IMMEDIATE

    return answer


class CauseBench(EngineBench):
    """A session of one pod, and the answers about its containers.

    Args:
        pod: the pod.
        script: what `EngineBench` takes.
    """

    def __init__(self, pod: Pod, **script: Any) -> None:
        config = script.get("config") or KubeletConfig()
        super().__init__(pod, **script)
        self.pod = pod
        self.rules: KubeletRules = config.rules

    def answer(self, seconds: float, container: str = "app") -> WhyAnswer:
        """Run up to that second, and return why a container is as it is."""
        self.run_until(seconds)
        past = SessionHistory(self.journal)
        past.add_entries(self.journal, 0)
        found = self.pod.container(container)
        assert found is not None
        return explain(self.pod, found, past, at(seconds), self.rules)

    def chain(self, seconds: float, container: str = "app") -> list[CauseKind]:
        """Return the kinds of the chain at that second."""
        return kinds(self.answer(seconds, container))


def kinds(answer: WhyAnswer) -> list[CauseKind]:
    """Return the kinds of the chain of an answer."""
    return [cause.kind for cause in answer.now.chain]
