"""What the user's acts did, each with its target, for notifications."""

from __future__ import annotations

from collections.abc import Mapping

from probetui.k8s.pod import Pod
from probetui.kubelet.journal import JournalEntry, TickEntry, UserEntry

_DONE = {
    "mute": "muted",
    "unmute": "unmuted",
    "restart": "restarting",
    "kill": "killed",
    "clear back-off": "cleared the back-off of",
    "inject": "injected into",
    "delay": "delayed",
    "edit": "edited",
    "break": "break-points of",
    "run to change": "running to the next change of",
}
_SHOWN_OTHERWISE = frozenset({"pause", "resume"})
"""Commands whose state the header shows."""


class ActReporter:
    """Describes acts as they are journaled; a step once its tick is over."""

    def __init__(self) -> None:
        self._stepped = ""
        """The name of the probe whose step is not over."""

    def describe(self, entry: JournalEntry, pods: Mapping[str, Pod]) -> str:
        """Return what an act did to its target, empty for other entries."""
        match entry:
            case UserEntry(command="step", target=target):
                self._stepped = target
            case UserEntry(command=command, target=target):
                if command not in _SHOWN_OTHERWISE:
                    return f"{_DONE.get(command, command)} {target}"
            case TickEntry(key=key) if self._stepped:
                pod = pods.get(key.pod_uid)
                name = f"{'' if pod is None else pod.name}/{key.container_name}"
                name = f"{name} {key.probe_type.lower()}"
                if name == self._stepped:
                    self._stepped = ""
                    return f"step {name} #{entry.n}: {_outcome(entry)}"
        return ""


def _outcome(tick: TickEntry) -> str:
    """Format the outcome of a tick: `failure 2/3`, `skipped, on hold`."""
    if tick.skip is not None:
        return f"skipped, {tick.skip.replace('-', ' ')}"
    if tick.exit is not None:
        return "the last one of its worker"
    if tick.result is None:
        return "error, not counted"
    count = min(tick.run.count, tick.run.threshold)
    return f"{tick.result.name.lower()} {count}/{tick.run.threshold}"
