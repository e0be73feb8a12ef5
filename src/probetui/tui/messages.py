"""The messages between the parts of the screen."""

from __future__ import annotations

from textual.message import Message

from probetui.engine.inputs import Command
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import TickEntry
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.host_services import Timings
from probetui.tui.services.terminal_background import TerminalBackground


class SnapshotPublished(Message):
    """There is something newer to see; whoever draws takes the snapshot then."""

    def can_replace(self, message: Message) -> bool:
        """Swallow an older one that has not been handled: only the newest is drawn."""
        return isinstance(message, SnapshotPublished)


class CommandRequested(Message):
    """A person wants the engine to do something."""

    def __init__(self, command: Command) -> None:
        super().__init__()
        self.command = command


class ListViewChanged(Message):
    """A person reads something else of a list, or less of it."""

    def can_replace(self, message: Message) -> bool:
        """Swallow an older one that has not been handled."""
        return isinstance(message, ListViewChanged)


class ManifestCopyRequested(Message):
    """Write a copy of the selected pod's manifest, with these timings too."""

    def __init__(self, timings: Timings) -> None:
        super().__init__()
        self.timings = timings


class CopyRequested(Message):
    """A text is to be copied; it is harmless and without secrets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class TickRequested(Message):
    """A container is to be chosen and, if there is one, a tick of it looked at."""

    def __init__(self, key: ContainerKey, tick: TickEntry | None) -> None:
        super().__init__()
        self.key = key
        self.tick = tick


class WhyRequested(TickRequested):
    """The same, with the explanation of the tick opened."""


class ProbeRequested(Message):
    """Another probe of the container is to be shown."""

    def __init__(self, probe_type: ProbeType) -> None:
        super().__init__()
        self.probe_type = probe_type


class LogUpdated(Message):
    """A container has printed something; whoever shows it looks then."""

    def can_replace(self, message: Message) -> bool:
        """Swallow an older one that has not been handled."""
        return isinstance(message, LogUpdated)


class StripTickRequested(Message):
    """The tick with that number in its probe's timeline is to be looked at."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


class StripEndRequested(Message):
    """The first tick of the session is to be looked at, or the newest."""

    def __init__(self, *, is_first: bool) -> None:
        super().__init__()
        self.is_first = is_first


class MenuRowPicked(Message):
    """A row of a menu was picked."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class FilterClosed(Message):
    """The filter bar is left."""


class KeyClicked(Message):
    """A key was clicked on; it counts as pressed."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


class BackgroundDetected(Message):
    """The terminal has reported the colour behind its text."""

    def __init__(self, background: TerminalBackground) -> None:
        super().__init__()
        self.background = background
