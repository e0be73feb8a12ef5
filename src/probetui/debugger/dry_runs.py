"""Dry runs: probes whose results are shown and not counted."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from probetui.debugger.overrides import ProbeOverrides
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import ContainerID, parse_container_id
from probetui.k8s.status import PodStatus, Running
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import DryRunEntry
from probetui.kubelet.prober.prober import judge_outcome
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import PORTED_RULES, KubeletRules


class DryRunInFlight(Struct, frozen=True):
    """A dry run in flight."""

    probe_id: int
    key: ProbeKey
    container_id: ContainerID
    started_at: datetime


class DryRuns:
    """Dry runs in flight; owned by the engine.

    A dry run bypasses the worker: no gate is checked, and neither a pause nor the
    worker's own probe in flight blocks it. Only a running container can be probed.

    `under_way` has those that were begun, by the ID of their effect.
    """

    def __init__(
        self,
        turn: TurnBuilder,
        overrides: ProbeOverrides,
        rules: KubeletRules = PORTED_RULES,
    ) -> None:
        self._turn = turn
        self._rules = rules
        self._overrides = overrides
        self.under_way: dict[int, DryRunInFlight] = {}
        self._by_key: dict[ProbeKey, DryRunInFlight] = {}

    def begin(
        self, pod: Pod, key: ProbeKey, status: PodStatus | None, now: datetime
    ) -> str:
        """Request a probe; return why it is impossible, empty if it is possible."""
        container = pod.container(key.container_name)
        probe = None if container is None else container.probe(key.probe_type)
        if container is None or probe is None:
            return "there is no such probe"
        if key in self._by_key:
            return "a try is under way already"
        own = None if status is None else status.container(key.container_name)
        if status is None or own is None or not isinstance(own.state, Running):
            return "the container does not run"
        under_way = DryRunInFlight(
            self._turn.next_id(), key, parse_container_id(own.container_id), now
        )
        self.under_way[under_way.probe_id] = self._by_key[key] = under_way
        self._turn.emit(
            RunProbe(
                under_way.probe_id,
                key,
                pod,
                container,
                self._overrides.apply_timing(key, probe),
                under_way.container_id,
                status.pod_ip,
                self._rules,
            )
        )
        return ""

    def finish(self, finished: ProbeFinished, now: datetime) -> bool:
        """Journal the outcome of a dry run; return False for any other probe."""
        under_way = self.under_way.pop(finished.probe_id, None)
        if under_way is None:
            return False
        key = under_way.key
        del self._by_key[key]
        judged = judge_outcome(key.probe_type, finished.outcome, self._rules)
        self._turn.write(
            DryRunEntry(
                self._turn.next_sequence(),
                now,
                key,
                under_way.container_id,
                under_way.started_at,
                now - under_way.started_at,
                finished.outcome.attempts,
                judged.result if judged.error is None else None,
            )
        )
        return True

    def since(self, key: ProbeKey) -> datetime | None:
        """Return the start of the dry run in flight, None without one."""
        under_way = self._by_key.get(key)
        return None if under_way is None else under_way.started_at
