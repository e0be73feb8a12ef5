"""A fake session whose journal tests write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from probetui.drive.session import Playback
from probetui.engine.inputs import Command
from probetui.engine.snapshot import PodSnapshot, Snapshot
from probetui.k8s.pod import Pod
from probetui.k8s.status import PodStatus
from probetui.kubelet.journal import JournalEntry, StatusEntry
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from tests.builders import START


class FakeSession:
    """Notifies its subscribers at once; the snapshot has the statuses written."""

    runtime_name = "fake 1.0"

    def __init__(self, *pods: Pod) -> None:
        self.entries: list[JournalEntry] = []
        self.sent: list[Command] = []
        self.now = START
        self._pods = {pod.uid: (pod, PodStatus()) for pod in pods}
        self._callbacks: list[Callable[[], None]] = []

    @property
    def snapshot(self) -> Snapshot:
        return replace(a_snapshot(*self._pods.values()), taken_at=self.now)

    @property
    def journal(self) -> Sequence[JournalEntry]:
        return self.entries

    @property
    def playback(self) -> Playback | None:
        return None

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def send(self, command: Command) -> None:
        self.sent.append(command)

    def write(self, *entries: JournalEntry) -> None:
        """Add entries to the journal and notify the subscribers."""
        for entry in entries:
            self.entries.append(entry)
            if isinstance(entry, StatusEntry):
                pod, _ = self._pods[entry.pod_uid]
                self._pods[entry.pod_uid] = (pod, entry.status)
        for callback in tuple(self._callbacks):
            callback()


def a_snapshot(*pods: tuple[Pod, PodStatus], runtime_error: str = "") -> Snapshot:
    """Return a snapshot of pods with these statuses."""
    return Snapshot(
        taken_at=START,
        started_at=START,
        sequence=0,
        pods=tuple(
            PodSnapshot(pod, status, PodWorkerState.SYNC, "", ())
            for pod, status in pods
        ),
        entries=(),
        queue=(),
        is_paused=False,
        restarts=0,
        faults=0,
        runtime_lost_since=START if runtime_error else None,
        runtime_error=runtime_error,
    )
