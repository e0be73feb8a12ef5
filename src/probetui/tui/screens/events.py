"""All events: every one that happened, or what a cluster would show of them."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from probetui.presentation.spans import Line, line, muted, strong
from probetui.tui.action import Where
from probetui.tui.actions import BY_ID, bindings
from probetui.tui.container_keys import ContainerKey
from probetui.tui.key_labels import key_label
from probetui.tui.keymap import keys_of
from probetui.tui.messages import TickWanted, WhyWanted
from probetui.tui.options import Keymap
from probetui.tui.screens.catalogue import SCREENS
from probetui.tui.screens.reading import ReadingScreen
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.cluster_list import ClusterList
from probetui.tui.widgets.event_list import EventList

CLUSTER, FOLDED = "cluster", "folded"
_OF_A_LINE = {
    "look.jump": "jumps to the tick",
    "look.copy": "copies the line",
    "look.copy-as": "copies as kubectl describe",
}


class EventsScreen(ReadingScreen, inherit_bindings=False):
    """The log and, in its place if wanted, the same as `kubectl events` prints it.

    Args:
        stage: what is seen.
        what: `cluster` leaves out what a cluster keeps to itself, `folded` shows what
            a cluster would.
    """

    PLACES: ClassVar[tuple[Where, ...]] = (Where.READING, Where.EVENT_LOG)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage, what: str = "") -> None:
        super().__init__(stage)
        view, is_ascii = stage.sight.view, stage.options.ascii
        hint = _hint(stage.options.keymap)
        self._log = EventList(view, hint, is_ascii=is_ascii)
        self._cluster = ClusterList(view, is_ascii=is_ascii)
        self._is_folded = what == FOLDED
        self._log.show_cluster_lines_only(is_only=what == CLUSTER)
        self._pod_uid = ""

    @property
    def panes(self) -> tuple[EventList | ClusterList, ...]:
        return self._log, self._cluster

    @property
    def pane(self) -> EventList | ClusterList:
        return self._cluster if self._is_folded else self._log

    def filterable(self) -> EventList | ClusterList:
        return self.pane

    def show_content(self, sight: Sight) -> None:
        self._log.read(sight.log, sight.cluster, sight.past, sight.counts, sight.view)
        if self._is_folded:
            self._cluster.show(sight.cluster, sight.names, sight.view, self._pod_uid)

    def action_folded(self) -> None:
        self._is_folded = not self._is_folded
        self.change_pane()
        self.show(self.stage.sight)

    def action_all_pods(self) -> None:
        """Show lines about the chosen pod only, or about all again."""
        subject = self.stage.subject
        chosen = subject.pod.pod.uid if subject is not None else ""
        self._pod_uid = "" if self._pod_uid else chosen
        self._log.show_pod(self._pod_uid)
        self.show(self.stage.sight)

    def action_jump(self) -> None:
        """Go to the tick behind the chosen line, or else to its container."""
        chosen = None if self._is_folded else self._log.chosen_line
        if chosen is None or not chosen.container_name:
            return
        key = ContainerKey(chosen.pod_uid, chosen.container_name)
        self.post_message(TickWanted(key, chosen.tick))
        self.action_leave()

    def action_why(self) -> None:
        """Say why, of the tick behind the chosen line or else of its container."""
        chosen = None if self._is_folded else self._log.chosen_line
        if chosen is None or not chosen.container_name:
            self.app.push_screen(SCREENS["why"](self.stage))
            return
        key = ContainerKey(chosen.pod_uid, chosen.container_name)
        self.post_message(WhyWanted(key, chosen.tick))

    def heading(self, sight: Sight) -> Line:
        view = sight.view
        pod = sight.names.get(self._pod_uid, self._pod_uid)
        scope = f"only {view.safe(pod)}" if pod else "all pods"
        follow = "on" if self._log.is_following else "off"
        shown = f"{self.pane.count()} shown of {len(sight.log)}"
        if sight.log.let_go:
            shown += f", {sight.log.let_go} older let go"
        if self._is_folded:
            shown = f"{self.pane.count()} shown for {sum(sight.counts)} events"
        return line(
            strong(" events"),
            f"   {scope}   ",
            muted(f"follow {follow}   time: {view.times.format}   {shown}"),
        )


def _hint(keymap: Keymap) -> Line:
    """Return what keys do with the chosen line; those without a key are left out."""
    words = []
    for identifier, word in _OF_A_LINE.items():
        if keys := keys_of(BY_ID[identifier], keymap):
            words.append(f"{key_label(keys[0])} {word}")
    return line(muted("  " + "   ".join(words)))
