"""Probes that are run for a person to see, and count for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import ContainerID, parse_container_id
from probetui.k8s.status import PodStatus, Running
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.inputs import ProbeFinished
from probetui.kubelet.interventions import Interventions
from probetui.kubelet.journal import TryEntry
from probetui.kubelet.prober import judge_outcome
from probetui.kubelet.turn import Ledger


@dataclass(frozen=True, slots=True)
class TryUnderWay:
    """A try that was begun."""

    probe_id: int
    key: ProbeKey
    container_id: ContainerID
    started_at: datetime


class Tries:
    """Tries under way, and the last one of each probe; owned by the engine.

    A try goes beside the worker: no gate is asked, and neither a pause nor the worker's
    own probe in flight is in its way. Only a container that runs can be probed.

    `under_way` has those that were begun, by the ID of their effect.
    """

    def __init__(self, ledger: Ledger, interventions: Interventions) -> None:
        self._ledger = ledger
        self._interventions = interventions
        self.under_way: dict[int, TryUnderWay] = {}
        self._by_key: dict[ProbeKey, TryUnderWay] = {}
        self._last: dict[ProbeKey, TryEntry] = {}

    def begin(
        self, pod: Pod, key: ProbeKey, status: PodStatus | None, now: datetime
    ) -> str:
        """Ask for a probe; returns why that cannot be, empty if it can."""
        container = pod.container(key.container_name)
        probe = None if container is None else container.probe(key.probe_type)
        if container is None or probe is None:
            return "there is no such probe"
        if key in self._by_key:
            return "a try is under way already"
        own = None if status is None else status.container(key.container_name)
        if status is None or own is None or not isinstance(own.state, Running):
            return "the container does not run"
        under_way = TryUnderWay(
            self._ledger.next_id(), key, parse_container_id(own.container_id), now
        )
        self.under_way[under_way.probe_id] = self._by_key[key] = under_way
        self._ledger.emit(
            RunProbe(
                under_way.probe_id,
                key,
                pod,
                container,
                self._interventions.probe(key, probe),
                under_way.container_id,
                status.pod_ip,
            )
        )
        return ""

    def finish(self, finished: ProbeFinished, now: datetime) -> bool:
        """Show what a try came to; False if it was none."""
        under_way = self.under_way.pop(finished.probe_id, None)
        if under_way is None:
            return False
        key = under_way.key
        del self._by_key[key]
        judged = judge_outcome(key.probe_type, finished.outcome)
        entry = TryEntry(
            self._ledger.next_sequence(),
            now,
            key,
            under_way.container_id,
            under_way.started_at,
            now - under_way.started_at,
            finished.outcome.attempts,
            judged.result if judged.error is None else None,
        )
        self._last[key] = entry
        self._ledger.write(entry)
        return True

    def last(self, key: ProbeKey) -> TryEntry | None:
        """Return the newest try of a probe that has ended."""
        return self._last.get(key)

    def since(self, key: ProbeKey) -> datetime | None:
        """Return when the try under way began, None if there is none."""
        under_way = self._by_key.get(key)
        return None if under_way is None else under_way.started_at

    def forget_pod(self, pod_uid: str) -> None:
        """Drop the tries of a pod that is gone; those under way still come back."""
        for key in [each for each in self._last if each.pod_uid == pod_uid]:
            del self._last[key]
