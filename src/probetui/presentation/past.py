"""What a session's journal has told so far, by probe and by container."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import Entry, FindingEntry, TickEntry
from probetui.presentation.lives import ContainerPast, Lives
from probetui.presentation.timeline import Timeline, Timelines


class Past:
    """Every probe's ticks and every container's lives; one owner lets it read on.

    Args:
        journal: the whole session's, of which the start may be gone.
    """

    def __init__(self, journal: Sequence[Entry]) -> None:
        self._journal = journal
        self._timelines = Timelines(journal)
        self._lives = Lives()

    def feed(self, entries: Sequence[Entry], place: int) -> None:
        """Take in what is new; the first entry is at that place of the journal."""
        self._timelines.feed(entries, place)
        self._lives.feed(entries)

    def timeline(self, key: ProbeKey) -> Timeline:
        """Return the ticks of a probe."""
        return self._timelines.of(key)

    def tick(self, sequence: int) -> TickEntry | None:
        """Return the tick with that number; None if the journal has it no more."""
        # An engine numbers entries from 1 on, by their place.
        try:
            entry = self._journal[sequence - 1] if sequence > 0 else None
        except IndexError:
            return None
        if isinstance(entry, TickEntry) and entry.sequence == sequence:
            return entry
        return None

    def container(self, pod_uid: str, container_name: str) -> ContainerPast:
        """Return the lives of a container."""
        return self._lives.of(pod_uid, container_name)

    def findings(self, pod_uid: str) -> list[FindingEntry]:
        """Return what the probes of a pod showed to be unwise."""
        return self._lives.findings(pod_uid)

    def containers(self) -> list[tuple[str, str]]:
        """Return pod UID and name of every container that was told of, in order."""
        return self._lives.containers()

    def probes(self, pod_uid: str, container_name: str) -> list[ProbeKey]:
        """Return the probes of a container that have ticked, in the order they did."""
        return [
            each
            for each in self._timelines.probes()
            if (each.pod_uid, each.container_name) == (pod_uid, container_name)
        ]

    def pod_ip(self, pod_uid: str) -> str:
        """Return the last IP that a pod is known to have had, empty if none."""
        return self._lives.pod_ip(pod_uid)
