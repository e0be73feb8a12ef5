"""What all screens share: what is seen, what is chosen, and what may be done now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from textual.app import App
from textual.dom import DOMNode
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widgets import Input

from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.inputs import Injected
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.detail import Subject, choose_probe, remembered
from probetui.safe_text import safe_lines
from probetui.tui.action import Action, Circumstances, Group
from probetui.tui.actions import action_called
from probetui.tui.container_keys import ContainerKey
from probetui.tui.options import ScreenOptions
from probetui.tui.outside import Outside
from probetui.tui.sight import Sight

_LONGEST_MESSAGE = 2000
"""Characters of a message that goes by itself."""


@dataclass(slots=True)
class Stage:
    """Owned by the app, which renews `sight`; the topmost screen sets the subject.

    Attributes:
        sight: what there is to see.
        options: how the screen looks, and what may be done.
        outside: what the program around the screen can do.
        subject: the container that is chosen, one of its probes, one of its ticks.
        wanted_probe: the kind of probe that is shown of containers that have it.
        cursor: the number of the tick that is looked at; None is the newest one.
        last_choice: what was chosen last as the result of a probe.
    """

    sight: Sight
    options: ScreenOptions
    outside: Outside = field(default_factory=Outside)
    subject: Subject | None = None
    wanted_probe: ProbeType | None = None
    cursor: int | None = None
    last_choice: Injected | None = None
    _cursor_is_of: ProbeKey | None = None

    @property
    def now(self) -> Circumstances:
        """What decides about actions at this moment."""
        return Circumstances(
            self.sight.snapshot, self.subject, self.outside, self.options
        )

    def allows(self, action: Action) -> bool:
        """Tell whether an action makes sense now and may be done here."""
        # A clock of one's own may be stopped: that changes nothing in the world.
        is_time = (
            action.group is Group.TIME and self.sight.snapshot.playback is not None
        )
        if action.changes and self.options.read_only and not is_time:
            return False
        return action.is_possible(self.now)

    def choose(self, chosen: tuple[PodSnapshot, ContainerSnapshot] | None) -> None:
        """Look at a container, at the wanted one of its probes, at the tick chosen.

        A cursor stays on its tick while its probe is looked at, and no longer.
        """
        if chosen is None:
            self.subject = None
            return
        pod, container = chosen
        probe = choose_probe(container, self.wanted_probe)
        key = None if probe is None else probe.key
        if key != self._cursor_is_of:
            self._cursor_is_of, self.cursor = key, None
        past = self.sight.past
        timeline = None if key is None else past.timeline(key)
        lives = past.container(pod.pod.uid, container.container.name)
        # Ticks from before the journal began are in the snapshot only.
        known = timeline if timeline is not None and timeline.indexes else None
        if probe is not None and known is not None:
            probe = remembered(probe, known)
        subject = Subject(pod, container, probe, known, self.cursor, lives)
        if self.cursor is not None and self.cursor not in subject.ticks.indexes:
            # Time went back, or the tick is too long ago to be kept.
            self.cursor = None
            subject = replace(subject, cursor=None)
        self.subject = subject

    def move_cursor(self, step: int) -> None:
        """Look at an older or newer tick; behind the newest, the strip goes on."""
        if self.subject is None:
            return
        indexes = self.subject.ticks.indexes
        if not indexes:
            return
        last = indexes[-1]
        at = last if self.cursor is None else self.cursor
        wanted = max(at + step, indexes.start)
        self.cursor = None if wanted >= last else wanted

    def look_at(self, tick: TickEntry | None) -> bool:
        """Look at a tick of the chosen probe, None for the newest; False if unknown."""
        index = None
        if tick is not None and self.subject is not None:
            index = self.subject.ticks.index_of(tick)
        self.cursor = index
        return tick is None or index is not None


class StagedApp(App[None], inherit_bindings=False):
    """An app that has a stage, and a list that containers are chosen in."""

    stage: Stage

    def choose(self, key: ContainerKey, probe: ProbeType | None = None) -> None:
        """Choose a container, and one of its probes."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,  # noqa: ARG002  # the framework's
    ) -> None:
        """Show a message for a while; it is made safe and never read as markup."""
        safe = safe_lines(message[:_LONGEST_MESSAGE])
        super().notify(
            safe, title=title, severity=severity, timeout=timeout, markup=False
        )


class StagedScreen(Screen[None], inherit_bindings=False):
    """A screen that shows what there is to see now, and again when that changes."""

    def show(self, sight: Sight) -> None:
        """Show what there is to see now; only what changed is painted."""

    def show_subject(self) -> None:
        """Show another probe or tick of what is chosen; the sight is the same."""


def is_allowed(node: DOMNode, name: str, parameters: tuple[object, ...]) -> bool:
    """Tell whether an action that Textual is about to run for a node is to be run.

    Keys are for typing while something is typed. Actions that are not of the table
    are the node's own business.
    """
    action = action_called(name, parameters)
    app = node.app
    if action is None or not isinstance(app, StagedApp):
        return True
    focused = app.focused if node is app else node.screen.focused
    if isinstance(focused, Input) and not action.is_priority:
        return False
    return app.stage.allows(action)
