"""The pane of outputs, and the log that is read for it as long as it is seen."""

from __future__ import annotations

from collections.abc import Callable

from probetui.drive.session import LogKeeper
from probetui.k8s.runtime import NO_CONTAINER
from probetui.presentation.log_target import LogTarget, current_log
from probetui.tui.log_desk import LogDesk
from probetui.tui.stage import Stage
from probetui.tui.widgets.output_pane import OutputPane

_NO_LOGS = "this session has no logs"


class OutputDesk:
    """Feeds an `OutputPane`; reads the log of what is chosen, while it is in sight.

    Args:
        pane: what is fed.
        logs: hands out logs; None where nothing keeps them.
        on_change: called when the log has something new.
    """

    def __init__(
        self, pane: OutputPane, logs: LogKeeper | None, on_change: Callable[[], None]
    ) -> None:
        self._pane = pane
        self._desk = LogDesk(logs, on_change)

    def show(self, stage: Stage) -> None:
        """Show what is chosen."""
        subject = stage.subject
        if subject is None or not self._pane.display:
            self._desk.close()
            self._pane.show(subject, stage.sight.view)
            return
        target = current_log(subject.container)
        if not self._desk.has_logs:
            target = LogTarget(NO_CONTAINER, _NO_LOGS)
        tail = self._desk.read(target.container_id)
        self._pane.show(subject, stage.sight.view, tail, target.problem)

    def close(self) -> None:
        """Read no more."""
        self._desk.close()
