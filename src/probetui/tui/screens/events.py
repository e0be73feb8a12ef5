"""The event log: all events, or the events as a cluster would show them."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from probetui.presentation.text.spans import Line, line, muted, strong
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.actions.key_labels import key_label
from probetui.tui.actions.keymap import keys_of
from probetui.tui.actions.table import ACTIONS_BY_ID, bindings
from probetui.tui.messages import CopyRequested, TickRequested, WhyRequested
from probetui.tui.options import Keymap
from probetui.tui.panes.cluster_event_pane import ClusterEventPane
from probetui.tui.panes.event_detail import EventDetail
from probetui.tui.panes.event_pane import EventPane, next_pulls
from probetui.tui.panes.reading_area import ReadingArea
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.screens.registry import SCREEN_OPENERS
from probetui.tui.state import UiState
from probetui.tui.view_model import ViewModel

CLUSTER, FOLDED = "cluster", "folded"
_LINE_HINTS = {
    "look.jump": "jumps to the tick",
    "look.copy": "copies the line",
    "look.copy-as": "copies as kubectl describe",
}


class EventsScreen(ActionScreen, inherit_bindings=False):
    """Shows the log of events or, in its place, the output of `kubectl events`.

    Args:
        ui_state: the state of the screen.
        what: `cluster` shows only a cluster's events, `folded` shows them combined as
            a cluster would.
    """

    CSS_PATH = "../styles/screens.tcss"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.EVENT_LOG,
        KeyContext.EVENT_LIST,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState, what: str = "") -> None:
        super().__init__(ui_state)
        view, is_ascii = ui_state.view_model.view, ui_state.options.ascii
        self._detail = EventDetail(_hint(ui_state.options.keymap))
        self._log = EventPane(view, self._detail, is_ascii=is_ascii)
        self._cluster = ClusterEventPane(view, is_ascii=is_ascii)
        self._reading = ReadingArea(
            ui_state, [self._log, self._cluster], self._heading, self.key_line
        )
        self._reading.pane = self._cluster if what == FOLDED else self._log
        self._log.is_cluster_only = what == CLUSTER
        self._pod_uid = ""

    @property
    def _is_folded(self) -> bool:
        return self._reading.pane is self._cluster

    def compose(self) -> ComposeResult:
        yield self._reading

    def on_mount(self) -> None:
        self.show(self.ui_state.view_model)

    def show(self, view_model: ViewModel) -> None:
        self._log.names_objects = view_model.has_several_containers
        self._log.next_pulls = next_pulls(view_model.snapshot.pods)
        self._detail.update(view_model.cluster, view_model.past)
        self._log.read(view_model.log, view_model.counts, view_model.view)
        if self._is_folded:
            self._cluster.show(
                view_model.cluster, view_model.names, view_model.view, self._pod_uid
            )
        self._reading.show_heading()
        self.refresh_keys()

    def action_folded(self) -> None:
        self._reading.show_pane(self._log if self._is_folded else self._cluster)
        self.show(self.ui_state.view_model)

    def action_all_pods(self) -> None:
        """Show lines of the selected pod only, or of all pods again."""
        subject = self.ui_state.subject
        chosen = subject.pod.pod.uid if subject is not None else ""
        self._pod_uid = "" if self._pod_uid else chosen
        self._log.show_pod(self._pod_uid)
        self.show(self.ui_state.view_model)

    def action_state_lines(self) -> None:
        """Hide changes of state, or show them again."""
        self._log.action_state_lines()
        self.show(self.ui_state.view_model)

    def action_copy_as(self) -> None:
        """Copy the selected event as `kubectl describe` shows it."""
        pane = self._cluster if self._is_folded else self._log
        if text := pane.copy_as_kubectl():
            self.post_message(CopyRequested(text))

    def action_jump(self) -> None:
        """Go to the tick of the selected line, or else to its container.

        What is folded is unfolded first.
        """
        if not self._is_folded and self._log.unfold():
            return
        chosen = None if self._is_folded else self._log.chosen_line
        if chosen is None or not chosen.container_name:
            return
        key = ContainerKey(chosen.pod_uid, chosen.container_name)
        self.post_message(TickRequested(key, chosen.tick))
        self.dismiss()

    def action_why(self) -> None:
        """Explain the tick of the selected line, or else its container."""
        chosen = None if self._is_folded else self._log.chosen_line
        if chosen is None or not chosen.container_name:
            self.app.push_screen(SCREEN_OPENERS["why"](self.ui_state))
            return
        key = ContainerKey(chosen.pod_uid, chosen.container_name)
        self.post_message(WhyRequested(key, chosen.tick))

    def _heading(self, view_model: ViewModel) -> Line:
        view = view_model.view
        pod = view_model.names.get(self._pod_uid, self._pod_uid)
        scope = f"only {view.safe(pod)}" if pod else "all pods"
        follow = "on" if self._log.viewport.is_following else "off"
        shown = f"{self._reading.pane.count()} shown of {len(view_model.log)}"
        if view_model.log.evicted:
            shown += f", {view_model.log.evicted} older dropped"
        if self._is_folded:
            events = sum(view_model.counts)
            shown = f"{self._reading.pane.count()} shown for {events} events"
        return line(
            strong(" events"),
            f"   {scope}   ",
            muted(f"follow {follow}   time: {view.times.format}   {shown}"),
        )


def _hint(keymap: Keymap) -> Line:
    """Return the keys for the selected line; actions without a key are left out."""
    hints = []
    for identifier, word in _LINE_HINTS.items():
        if keys := keys_of(ACTIONS_BY_ID[identifier], keymap):
            hints.append(f"{key_label(keys[0])} {word}")
    return line(muted("  " + "   ".join(hints)))
