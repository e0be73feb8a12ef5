"""The messages between the parts of the screen."""

from __future__ import annotations

from datetime import datetime

from textual.message import Message

from probetui.engine.inputs import Command
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import TickEntry
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.host_services import Timings
from probetui.tui.services.terminal_background import TerminalBackground


class SnapshotPublished(Message):
    """A new snapshot was published; it is read when it is drawn."""

    def can_replace(self, message: Message) -> bool:
        """Replace an older pending one, so that only the newest snapshot is drawn."""
        return isinstance(message, SnapshotPublished)


class CommandRequested(Message):
    """Send a command to the engine."""

    def __init__(self, command: Command) -> None:
        super().__init__()
        self.command = command


class ListViewChanged(Message):
    """The visible part of a list, its cursor or its filter has changed."""

    def can_replace(self, message: Message) -> bool:
        """Replace an older pending one."""
        return isinstance(message, ListViewChanged)


class ManifestCopyRequested(Message):
    """Write a copy of the selected pod's manifest, including these timings."""

    def __init__(self, timings: Timings) -> None:
        super().__init__()
        self.timings = timings


class CopyRequested(Message):
    """Copy a text, which must be safe and have its secrets masked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class TickRequested(Message):
    """Select a container and, if given, a tick."""

    def __init__(self, key: ContainerKey, tick: TickEntry | None) -> None:
        super().__init__()
        self.key = key
        self.tick = tick


class WhyRequested(TickRequested):
    """Select a container and tick, and open the explanation."""


class ProbeRequested(Message):
    """Show another probe of the container."""

    def __init__(self, probe_type: ProbeType) -> None:
        super().__init__()
        self.probe_type = probe_type


class LogUpdated(Message):
    """A container's log has new lines, which are read when they are drawn."""

    def can_replace(self, message: Message) -> bool:
        """Replace an older pending one."""
        return isinstance(message, LogUpdated)


class StripTickRequested(Message):
    """Select the tick with that number in its probe's timeline."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


class TurnRequested(Message):
    """Select the next kill, restart or flip of the probe, or with -1 the previous."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class InstantRequested(Message):
    """Look at an instant of a probe, None for the selected one."""

    def __init__(self, at: datetime, probe_type: ProbeType | None = None) -> None:
        super().__init__()
        self.at, self.probe_type = at, probe_type


class StripEndRequested(Message):
    """Select the first tick of the session, or the newest."""

    def __init__(self, *, is_first: bool) -> None:
        super().__init__()
        self.is_first = is_first


class MenuRowPicked(Message):
    """A row of a menu was picked."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class FilterClosed(Message):
    """The filter bar was closed."""


class KeyClicked(Message):
    """The label of a key was clicked, which counts as pressing the key."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


class BackgroundDetected(Message):
    """The terminal has reported its background colour."""

    def __init__(self, background: TerminalBackground) -> None:
        super().__init__()
        self.background = background
