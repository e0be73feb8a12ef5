"""What the chosen container prints: this instance, or the one before."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import BindingType

from probetui.kubelet.gates import short_id
from probetui.presentation.log_target import LogTarget, current_log, previous_log
from probetui.presentation.spans import Line, Role, Span, line, muted, strong
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.chosen import Chosen
from probetui.tui.log_desk import LogDesk
from probetui.tui.messages import LogGrown
from probetui.tui.screens.reading import ReadingScreen
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.log_view import LogView

_NO_LOGS = "this session has no logs: only what probes print is kept"


class LogsScreen(ReadingScreen, inherit_bindings=False):
    """Goes on with the next instance when the container is restarted.

    Args:
        stage: what is seen; the container is the one that is chosen when it opens.
        is_previous: begin with the instance before.
    """

    PLACES: ClassVar[tuple[Where, ...]] = (Where.READING, Where.LOG)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage, *, is_previous: bool = False) -> None:
        super().__init__(stage)
        self._chosen = Chosen(stage)
        self._is_previous = is_previous
        self._desk = LogDesk(stage.outside.logs, self._grown)
        self._log = LogView(stage.sight.view, is_ascii=stage.options.ascii)

    @property
    def panes(self) -> tuple[LogView, ...]:
        return (self._log,)

    @property
    def pane(self) -> LogView:
        return self._log

    def filterable(self) -> LogView:
        return self._log

    def on_unmount(self) -> None:
        self._desk.close()

    def show_content(self, sight: Sight) -> None:
        target = self._target(sight)
        problem = target.problem
        if not self._desk.has_logs:
            problem = _NO_LOGS
        tail = self._desk.read(target.container_id)
        self._log.show(self._chosen.name(sight), tail, sight.view, problem)

    def heading(self, sight: Sight) -> Line:
        target = self._target(sight)
        name = self._chosen.name(sight)
        which = "previous" if self._is_previous else "current"
        return line(
            strong(f" logs   {sight.view.safe(name)}   "),
            Span(which, Role.WARNING if self._is_previous else Role.PLAIN),
            muted(f"   id {short_id(target.container_id) or '-'}"),
        )

    def action_instance(self, which: str) -> None:
        self._is_previous = which == "previous"
        self.show(self.stage.sight)

    def _target(self, sight: Sight) -> LogTarget:
        container = self._chosen.container(sight)
        if container is None:
            return LogTarget(problem="there is no such container any more")
        find = previous_log if self._is_previous else current_log
        return find(container)

    def _grown(self) -> None:
        self.post_message(LogGrown())

    @on(LogGrown)
    def _show_more(self) -> None:
        self.show(self.stage.sight)
