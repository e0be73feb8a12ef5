"""What a front end holds: it cannot tell which driver is behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from probetui.drive.logs import LogTail
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Disruption
from probetui.kubelet.inputs import Command
from probetui.kubelet.journal import Entry
from probetui.kubelet.snapshot import Snapshot


class Playback(Protocol):
    """The time of a session, where it is not the wall's."""

    @property
    def rewinds(self) -> int:
        """How often the journal was cut short; who follows it begins anew then."""

    def pause(self) -> None:
        """Let the clock stand still."""

    def resume(self) -> None:
        """Let the clock go on."""

    def step(self) -> None:
        """Go on by one tick, and stand still."""

    def run_to_change(self) -> None:
        """Go on until something of a container changes, and stand still."""

    def step_back(self) -> bool:
        """Go back to before the last tick; False if there was none."""

    def seek(self, instant: datetime) -> None:
        """Go to an instant as soon as possible, and stand still there."""

    def change_pace(self, steps: int) -> None:
        """Go so many steps faster, or slower if negative."""


class Session(Protocol):
    """A running engine, seen from the front end's side."""

    @property
    def runtime_name(self) -> str:
        """The runtime and its version, for people."""

    @property
    def snapshot(self) -> Snapshot:
        """The state at this moment; made afresh only if something changed."""

    @property
    def journal(self) -> Sequence[Entry]:
        """Every entry of the session, oldest first; it only grows.

        An entry keeps its place. Of a long session the oldest entries may be gone:
        a slice leaves them out, asking for one is an `IndexError`; the newest 100,000
        ticks are always there.
        """

    @property
    def playback(self) -> Playback | None:
        """What moves its time; None where that is the wall's."""

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Be called, on the event loop, after something changed.

        At most 20 times a second. Returns what ends the subscription.
        """

    def send(self, command: Command) -> None:
        """Hand a command to the engine; it acts as soon as it can."""


@runtime_checkable
class LogKeeper(Protocol):
    """A session that can show what containers print; a replay, say, cannot."""

    def follow_logs(
        self, container_id: ContainerID, callback: Callable[[], None]
    ) -> LogTail:
        """Read what a container instance prints until the tail is closed.

        The callback is called on the event loop after something changed, at most 20
        times a second.
        """


@runtime_checkable
class Disruptable(Protocol):
    """A session in which not everything may be done to containers."""

    def why_not(self, pod: Pod, disruption: Disruption) -> str:
        """Return why it cannot be done to a pod, empty where it may be tried."""
