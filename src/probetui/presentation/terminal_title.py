"""The title of the terminal: what is in trouble, for who looks at another window."""

from __future__ import annotations

from typing import NamedTuple

from probetui.engine.snapshot import PodSnapshot, ProbeSnapshot, Snapshot
from probetui.kubelet.journal import JournalEntry, TickAction, TickEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.container.health import (
    Health,
    Urgency,
    container_health,
    probe_urgency,
    urgency,
)
from probetui.presentation.per_pod import PerPod
from probetui.presentation.probe.state import (
    is_running_towards_change,
    run_count,
    threshold,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import MarkSet

LONGEST_TITLE = 80
"""Cells: windows show less of it, and a name is no reason for more."""

_CUT = "…"
_WORDS = {
    Health.KILLED: "stopping",
    Health.BACK_OFF: "back-off",
    Health.ERRORED: "errors",
    Health.NOT_READY: "not ready",
    Health.STARTING: "starting",
}
_KILLS = {TickAction.KILL: "killed", TickAction.WOULD_KILL: "would be killed"}


class _Worst(NamedTuple):
    urgency: Urgency
    text: str


class TerminalTitle:
    """The title for a snapshot: `✗2/3 shop/web`, or how many pods are well.

    The most urgent container is named, whichever is selected. Pods that have not
    changed are not looked at again.
    """

    def __init__(self, marks: MarkSet) -> None:
        self._marks = marks
        self._worst = PerPod(self._worst_of)

    def of(self, snapshot: Snapshot, view: View) -> str:
        """Return the title, safe to be sent to a terminal."""
        found = [worst for worst in self._worst.of(snapshot.pods) if worst is not None]
        worst = min(found, default=None, key=lambda worst: worst.urgency)
        if worst is not None and worst.urgency[0] is not Health.CALM:
            return _short(view.safe(worst.text))
        count = len(snapshot.pods)
        name = snapshot.pods[0].pod.name if count == 1 else f"{count} pods"
        return _short(view.safe(f"{self._marks.success} {name}"))

    def _worst_of(self, pod: PodSnapshot) -> _Worst | None:
        ranked = [
            (urgency(container_health(pod, container), container), index)
            for index, container in enumerate(pod.containers)
        ]
        if not ranked:
            return None
        rank, index = min(ranked)
        container = pod.containers[index]
        probe = min(
            container.probes,
            key=lambda probe: probe_urgency(container, probe),
            default=None,
        )
        name = f"{pod.pod.name}/{container.container.name}"
        return _Worst(rank, f"{self._state(rank[0], probe)} {name}")

    def _state(self, health: Health, probe: ProbeSnapshot | None) -> str:
        marks = self._marks
        if (
            probe is not None
            and health in {Health.LAST_CHANCE, Health.COUNTING, Health.STARTING}
            and probe.last_result is Result.FAILURE
            and is_running_towards_change(probe)
        ):
            most = threshold(probe, Result.FAILURE)
            return f"{marks.failure}{run_count(probe)}/{most}"
        word = _WORDS.get(health, "failing")
        return word if health is Health.STARTING else f"{marks.failure} {word}"


def kill_notice(entry: JournalEntry, name: str, view: View) -> str:
    """Return what to say of a tick that has a container killed; empty for others.

    Args:
        entry: any entry of the journal.
        name: the name of its pod.
        view: how it is shown.
    """
    if not isinstance(entry, TickEntry) or entry.action not in _KILLS:
        return ""
    key = entry.key
    verb, kind = _KILLS[entry.action], key.probe_type.lower()
    text = f"probetui: {name}/{key.container_name} {verb}: {kind} probe failed"
    return _short(view.safe(text))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + _CUT
