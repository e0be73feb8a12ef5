"""What people did to probes, as far as the probes themselves have to know."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

from probetui.k8s.pod import Pod
from probetui.k8s.probe import Probe, ProbeKey
from probetui.kubelet.answers import Answers
from probetui.kubelet.breaker import Breaker
from probetui.kubelet.delay import NO_DELAY
from probetui.kubelet.injection import Injections
from probetui.kubelet.scope import Scope, Scoped
from probetui.kubelet.timing import Timing
from probetui.kubelet.worker import Worker

_NO_PODS: Mapping[str, Pod] = MappingProxyType({})


class Interventions:
    """Injected results, delays, break-points, mutes and timings; owned by the engine.

    `answers` are those of probes under way that come at an instant of their own.

    Args:
        pods: the pods that are known, by UID; for their names.
    """

    __slots__ = ("answers", "breaker", "delays", "injections", "muted", "timings")

    def __init__(self, pods: Mapping[str, Pod] = _NO_PODS) -> None:
        self.answers = Answers()
        self.injections = Injections(self.answers)
        self.delays: Scoped[timedelta] = Scoped(default=NO_DELAY)
        self.breaker = Breaker(pods)
        self.muted: Scoped[bool] = Scoped(default=False)
        self.timings: dict[ProbeKey, Timing] = {}

    def probe(self, key: ProbeKey, manifest: Probe) -> Probe:
        """Return a probe with the timing that it is to have."""
        timing = self.timings.get(key)
        return manifest if timing is None else timing.applied_to(manifest)

    def is_muted(self, key: ProbeKey) -> bool:
        """Tell whether the results of a probe have no consequences."""
        return self.muted.of(Scope.of(key))

    def delay(self, key: ProbeKey) -> timedelta:
        """Return how much later a probe is answered than it would be."""
        return self.delays.of(Scope.of(key)) if self.delays else NO_DELAY

    def apply_to(self, worker: Worker) -> None:
        """Let a worker that was just made be as people want it."""
        worker.probe = self.probe(worker.key, worker.probe)
        worker.muted = self.is_muted(worker.key)

    def forget_pod(self, pod_uid: str) -> None:
        """Drop what was said of a pod that is gone."""
        self.injections.forget_pod(pod_uid)
        self.delays.forget_pod(pod_uid)
        self.breaker.points.forget_pod(pod_uid)
        self.muted.forget_pod(pod_uid)
        for key in [each for each in self.timings if each.pod_uid == pod_uid]:
            del self.timings[key]
