"""The state that all screens share: view model, selection, permitted actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace
from textual.app import App
from textual.dom import DOMNode
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from probetui.debugger.commands import Injected
from probetui.drive.session import Session
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.journal import TickEntry
from probetui.presentation.container.detail import (
    Subject,
    choose_probe,
    with_last_run,
)
from probetui.presentation.container.table import object_name, probe_of
from probetui.presentation.text.cells import wrap_text
from probetui.presentation.text.spans import Line
from probetui.safe_text import safe_lines
from probetui.tui.actions.action import Action, ActionContext, Group
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.actions.table import find_action
from probetui.tui.host_services import HostServices
from probetui.tui.options import ScreenOptions
from probetui.tui.screens.registry import open_question
from probetui.tui.view_model import ViewModel

_LONGEST_MESSAGE = 2000
"""The most characters of a notification."""

_MOST_MESSAGES = 2
"""The most notifications at a time, and rows of one, so that they cover little."""


class UiState(Struct):
    """The state of the screens; the app owns it and updates `view_model`.

    Attributes:
        view_model: the values to show.
        options: the options of the screen.
        host: the services of the program around the screen.
        subject: the selected container, with one of its probes and ticks.
        wanted_probe: the type of probe to show of containers that have it.
        follows_trouble: whether the most urgent container and probe are selected,
            whichever these are.
        cursor: the number of the selected tick; None stands for the newest one.
        last_injection: the last injected result.
        own_choices: how often a snapshot changed the selection, and no key or click.
        named_choices: how many of those the screen names by now.
    """

    view_model: ViewModel
    options: ScreenOptions
    host: HostServices = field(default_factory=HostServices)
    subject: Subject | None = None
    wanted_probe: ProbeType | None = None
    follows_trouble: bool = False
    cursor: int | None = None
    last_injection: Injected | None = None
    own_choices: int = 0
    named_choices: int = 0
    _shown: tuple[str, str, ProbeType] | None = None
    """The names of pod and container, and the type of the selected probe."""
    _cursor_is_of: ProbeKey | None = None

    @property
    def selection(self) -> tuple[str, str, str] | None:
        """What is selected, as the screen names it; None for nothing."""
        if self.subject is None:
            return None
        pod, container, probe = (
            self.subject.pod,
            self.subject.container,
            self.subject.probe,
        )
        kind = "" if probe is None else probe.key.probe_type
        return pod.pod.full_name, container.container.name, kind

    @property
    def context(self) -> ActionContext:
        """The context that decides which actions are possible now."""
        return ActionContext(
            self.view_model.snapshot, self.subject, self.host, self.options
        )

    def allows(self, action: Action) -> bool:
        """Return whether an action is possible now, and this session permits it."""
        return self.allowed([action])[0]

    def allowed(self, actions: Sequence[Action]) -> list[bool]:
        """Return `allows` for each of the actions."""
        now = self.context
        return [
            not self.refusal(action) and action.is_possible(now) for action in actions
        ]

    def refusal(self, action: Action) -> str:
        """Return why this session refuses an action, empty if it permits it."""
        snapshot, options = self.view_model.snapshot, self.options
        # What one writes into the record at the terminal, others do not.
        is_command = options.in_browser and action.build_command is not None
        if (action.changes or is_command) and options.read_only:
            # A virtual clock may be stopped: that changes nothing outside.
            is_time = action.group is Group.TIME and snapshot.playback is not None
            if not is_time:
                return f"read-only: {action.footer_text} is off"
        if action.is_local and options.in_browser:
            return f"in a browser {action.footer_text} is off"
        if action.acts and not snapshot.acts:
            return "attach only watches; start with --act"
        return ""

    def choose(
        self,
        chosen: tuple[PodSnapshot, ContainerSnapshot] | None,
        *,
        follows_trouble: bool = False,
    ) -> None:
        """Select a container, and one of its probes and ticks.

        The most urgent probe is selected when the container is, and stays while the
        container does, unless trouble is followed. The cursor stays on its tick while
        that tick's probe is selected.
        """
        if chosen is None:
            self.subject = None
            return
        pod, container = chosen
        names = (pod.pod.full_name, container.container.name)
        shown = None
        if self._shown is not None and self._shown[:2] == names:
            shown = self._shown[2]
        wanted = shown
        if self.wanted_probe and probe_of(container, self.wanted_probe) is not None:
            wanted = self.wanted_probe
        if follows_trouble and self.cursor is None:
            wanted = None
        probe = choose_probe(container, wanted, shown)
        self._shown = None if probe is None else (*names, probe.key.probe_type)
        key = None if probe is None else probe.key
        if key != self._cursor_is_of:
            self._cursor_is_of, self.cursor = key, None
        past = self.view_model.past
        timeline = None if key is None else past.timeline(key)
        lives = past.container(pod.pod.uid, container.container.name)
        # Ticks from before the start of the journal are in the snapshot only.
        known = timeline if timeline is not None and timeline.indexes else None
        if probe is not None and known is not None:
            probe = with_last_run(probe, known)
        subject = Subject(pod, container, probe, known, self.cursor, lives, past)
        if self.cursor is not None and self.cursor not in subject.ticks.indexes:
            # The session went back in time, or the tick is no longer kept.
            self.cursor = None
            subject = replace(subject, cursor=None)
        self.subject = subject

    def move_cursor(self, step: int) -> None:
        """Select an older or newer tick; from the newest one on, follow new ticks."""
        if self.subject is None:
            return
        indexes = self.subject.ticks.indexes
        if not indexes:
            return
        last = indexes[-1]
        at = last if self.cursor is None else self.cursor
        wanted = max(at + step, indexes.start)
        self.cursor = None if wanted >= last else wanted

    def go_to_turn(self, step: int) -> bool:
        """Select the next kill, restart or flip; return False if there is none.

        Behind the last one is the newest tick.
        """
        if self.subject is None or not self.subject.ticks.indexes:
            return False
        ticks = self.subject.ticks
        at = ticks.indexes[-1] + 1 if self.cursor is None else self.cursor
        wanted = ticks.turn(at, step)
        if wanted is None and step < 0:
            return False
        self.cursor = wanted
        return True

    def go_to(self, at: datetime) -> None:
        """Select the last tick that began before an instant, or at it."""
        if self.subject is None or not self.subject.ticks.indexes:
            return
        ticks = self.subject.ticks
        index = ticks.index_at(at)
        wanted = ticks.indexes[0] if index is None else index
        self.cursor = None if wanted == ticks.indexes[-1] else wanted

    @property
    def at(self) -> datetime | None:
        """The instant of the past that is looked at, None for now."""
        subject = self.subject
        if subject is None or subject.cursor is None or subject.tick is None:
            return None
        return subject.tick.timing.started_at

    def look_at(self, tick: TickEntry | None) -> bool:
        """Select a tick of the probe, None for the newest; return False if unknown."""
        index = None
        if tick is not None and self.subject is not None:
            index = self.subject.ticks.index_of(tick)
        self.cursor = index
        return tick is None or index is not None


class StatefulApp(App[None], inherit_bindings=False):
    """The interface of the app for screens, panes and services."""

    session: Session
    ui_state: UiState
    has_mouse: bool

    def choose(self, key: ContainerKey, probe: ProbeType | None = None) -> None:
        """Select a container, and one of its probes."""

    @property
    def room_beside_badge(self) -> int:
        """The free cells to the right of the header's badge; 0 without a badge."""
        return 0

    def drop_keys(self) -> None:
        """Drop the keys that were typed up to now."""

    def ask(self, question: Sequence[Line], do: Callable[[], None]) -> None:
        """Ask for a confirmation; call `do` if it is given."""

        def confirmed(is_yes: bool | None) -> None:  # noqa: FBT001  # the framework's
            if is_yes:
                do()

        is_ascii = self.ui_state.options.ascii
        self.push_screen(open_question(question, is_ascii=is_ascii), confirmed)

    def set_timer(self, *arguments: Any, **options: Any) -> Timer:
        """Call a function once, even if it is late.

        Textual skips a tick that is due before its timer has started, as on a busy
        machine, and such a timer has only one: a new size of the terminal would never
        be applied, and a short pause of painting would never end.
        """
        timer = super().set_timer(*arguments, **options)
        timer._skip = False  # noqa: SLF001  # Textual has no public way
        return timer

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,  # noqa: ARG002  # the framework's
    ) -> None:
        """Show a message for a while; it is made safe, and never parsed as markup.

        Equal messages are shown once, and the oldest go if there are too many. If
        possible the message leaves the header's badge visible, on two rows if needed.
        """
        safe = safe_lines(message[:_LONGEST_MESSAGE])
        if "\n" not in safe and len(safe) > (room := self.room_beside_badge - 2) > 0:
            rows = wrap_text(safe, room)
            safe = "\n".join(rows) if len(rows) <= _MOST_MESSAGES else safe
        shown = list(self._notifications)
        if any(old.message.split() == safe.split() for old in shown):
            return
        for old in shown[: max(len(shown) - _MOST_MESSAGES + 1, 0)]:
            self._unnotify(old, refresh=False)
            # Textual removes the message, but not its container, which keeps a row.
            self.screen.query(f"#--textual-toast-{old.identity}").remove()
        super().notify(
            safe, title=title, severity=severity, timeout=timeout, markup=False
        )


class StatefulScreen(Screen[None], inherit_bindings=False):
    """A screen that shows the view model, and is updated when it changes."""

    def show(self, view_model: ViewModel) -> None:
        """Show a view model; only changes are painted."""

    def show_subject(self) -> None:
        """Show the changed selection; the view model is the same."""


def is_allowed(node: DOMNode, name: str, parameters: tuple[object, ...]) -> bool:
    """Return whether Textual may run an action of a node.

    While a field has the focus, keys are text. Actions that are not in the table are
    always allowed.
    """
    action = find_action(name, parameters)
    app = node.app
    if action is None or not isinstance(app, StatefulApp):
        return True
    if is_typed_into(node) and not action.is_priority:
        return False
    return app.ui_state.allows(action)


def is_typed_into(node: DOMNode) -> bool:
    """Return whether an input field has the focus on the screen of a node."""
    focused = node.app.focused if node is node.app else node.screen.focused
    return isinstance(focused, Input)


class SelectedContainer:
    """Finds the container that was selected at the start in later snapshots."""

    def __init__(self, ui_state: UiState) -> None:
        subject = ui_state.subject
        self._pod = None if subject is None else subject.pod
        self._name = "" if subject is None else subject.container.container.name

    @property
    def pod_uid(self) -> str:
        """The pod's UID, empty if nothing was selected."""
        return "" if self._pod is None else self._pod.pod.uid

    def name(self, view_model: ViewModel) -> str:
        """Return `pod/container`."""
        return object_name(view_model.names, self.pod_uid, self._name)

    def pod(self, view_model: ViewModel) -> PodSnapshot | None:
        """Return the current snapshot of the pod, or else the last one."""
        for pod in view_model.snapshot.pods:
            if pod.pod.uid == self.pod_uid:
                self._pod = pod
        return self._pod

    def is_there(self, view_model: ViewModel) -> bool:
        """Return whether the pod still exists."""
        return any(pod.pod.uid == self.pod_uid for pod in view_model.snapshot.pods)

    def container(self, view_model: ViewModel) -> ContainerSnapshot | None:
        """Return the current snapshot of the container, None if it is gone."""
        pod = self.pod(view_model) if self.is_there(view_model) else None
        for snapshot in pod.containers if pod is not None else ():
            if snapshot.container.name == self._name:
                return snapshot
        return None
