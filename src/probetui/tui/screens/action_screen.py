"""A screen whose keys come from the table of actions."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.screen import Screen

from probetui.k8s.probe import ProbeType
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.key_labels import footer_labels, keys_of_exercise
from probetui.tui.actions.table import ACTIONS, bindings
from probetui.tui.messages import (
    InstantRequested,
    ProbeRequested,
    StripEndRequested,
    StripTickRequested,
    TurnRequested,
)
from probetui.tui.panes.bars import KeyLine
from probetui.tui.screens.sizes import MinimumSizeScreen
from probetui.tui.state import StatefulScreen, UiState, is_allowed


class ActionScreen(StatefulScreen, MinimumSizeScreen[None], inherit_bindings=False):
    """Updates a line with the active keys, which subclasses place in their layout.

    Subclasses list their `KEY_CONTEXTS`, and make `BINDINGS` of them.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = ()
    BINDINGS: ClassVar[list[BindingType]] = bindings()

    def __init__(self, ui_state: UiState) -> None:
        super().__init__()
        self.ui_state = ui_state
        self.key_line = KeyLine()
        self._allowed: object = None

    def on_mount(self) -> None:
        self.bindings_updated_signal.subscribe(self, self._show_keys)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible; other keys are not shown."""
        return is_allowed(self, action, parameters)

    def refresh_keys(self) -> None:
        """Update the active keys, if other actions are possible than before."""
        allowed = self.ui_state.allowed(ACTIONS)
        if allowed != self._allowed:
            self._allowed = allowed
            self.refresh_bindings()

    def action_probe(self, step: int) -> None:
        """Show the container's next probe, or the previous one."""
        subject = self.ui_state.subject
        if subject is not None and subject.probe is not None:
            probes = subject.container.probes
            index = probes.index(subject.probe) + step
            self._select_probe(probes[index % len(probes)].key.probe_type)

    def action_tick(self, step: int) -> None:
        """Select an older or newer tick."""
        self.ui_state.move_cursor(step)
        self.show_subject_everywhere()

    @on(ProbeRequested)
    def _show_probe(self, message: ProbeRequested) -> None:
        self._select_probe(message.probe_type)

    def _select_probe(self, probe_type: ProbeType) -> None:
        self.ui_state.wanted_probe = probe_type
        self.ui_state.follows_trouble = False
        self.show_subject_everywhere()

    @on(StripEndRequested)
    def _go_to_end(self, message: StripEndRequested) -> None:
        subject = self.ui_state.subject
        first = subject.ticks.indexes.start if subject is not None else 0
        self.ui_state.cursor = first if message.is_first else None
        self.show_subject_everywhere()

    @on(TurnRequested)
    def _go_to_turn(self, message: TurnRequested) -> None:
        if self.ui_state.go_to_turn(message.step):
            self.show_subject_everywhere()
        else:
            self.app.notify("There is no earlier kill, restart or flip.")

    @on(InstantRequested)
    def _go_to_instant(self, message: InstantRequested) -> None:
        if message.probe_type is not None:
            self._select_probe(message.probe_type)
        self.ui_state.go_to(message.at)
        self.show_subject_everywhere()

    @on(StripTickRequested)
    def _go_to_tick(self, message: StripTickRequested) -> None:
        subject = self.ui_state.subject
        if subject is not None:
            is_newest = message.index == subject.ticks.indexes[-1]
            self.ui_state.cursor = None if is_newest else message.index
            self.show_subject_everywhere()

    def show_subject_everywhere(self) -> None:
        """Show another probe or tick on all screens of the stack."""
        for screen in self.app.screen_stack:
            if isinstance(screen, StatefulScreen):
                screen.show_subject()

    def _show_keys(self, _screen: Screen[None]) -> None:
        focused = "" if self.focused is None else self.focused.id
        lesson = self.ui_state.host.lesson
        first = () if lesson is None else keys_of_exercise(lesson.exercise)
        self.key_line.show(footer_labels(self.active_bindings, first), focused)
