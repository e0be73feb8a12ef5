"""Edit the timing of a probe in memory, with its differences from the manifest."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType
from textual.events import Key

from probetui.debugger.commands import EditProbe
from probetui.debugger.timing import Timing
from probetui.presentation.container.detail import container_title
from probetui.presentation.text.spans import Line, Role, Span, line, muted
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import ManifestCopyRequested
from probetui.tui.screens.menu import MenuRow, MenuScreen
from probetui.tui.state import UiState

_FIELDS = {
    "period_seconds": "periodSeconds",
    "timeout_seconds": "timeoutSeconds",
    "initial_delay_seconds": "initialDelaySeconds",
    "failure_threshold": "failureThreshold",
    "success_threshold": "successThreshold",
}
_MOST_DIGITS = 9
_APPLY = MenuRow("apply", "apply", "from the next tick; no restart")
_RESET = MenuRow("reset", "reset", "to the manifest")


class EditScreen(MenuScreen):
    """A field for each number, and the diff from the manifest."""

    HEADING = "Edit timing"
    HAS_NUMBERS = False
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.MENU_SCREEN,
        KeyContext.TIMING,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._typed = ""
        subject = ui_state.subject
        probe = None if subject is None else subject.probe
        self._timing = None if probe is None else Timing.of(probe.probe)

    def show_rows(self) -> None:
        subject, view = self.ui_state.subject, self.ui_state.view_model.view
        timing = self._timing
        if subject is None or subject.probe is None or timing is None:
            self.dismiss()
            return
        probe = subject.probe
        manifest = Timing.of(probe.manifest_probe or probe.probe)
        rows = [
            MenuRow(field, f"{name:<21}{getattr(timing, field)}", _diff(before, after))
            for field, name in _FIELDS.items()
            for before, after in [(getattr(manifest, field), getattr(timing, field))]
        ]
        about = line(container_title(subject, view), f" {probe.key.probe_type.lower()}")
        problems = timing.problems(probe.key.probe_type)
        last = [line(Span(problem, Role.ERROR)) for problem in problems]
        last += [] if problems else _diff_lines(manifest, timing)
        last.append(line(muted("left, right or digits change a number")))
        if self.ui_state.host.copy_edited is not None:
            last.append(
                line(muted("^s writes a copy of the manifest with this timing"))
            )
        self.menu.show(about, (*rows, _APPLY, _RESET), last)

    def picked(self, name: str) -> None:
        subject, timing = self.ui_state.subject, self._timing
        if subject is None or subject.probe is None or timing is None:
            return
        probe = subject.probe
        if name == _RESET.name:
            self.send_commands(EditProbe(probe.key, None))
            self.dismiss()
        elif not timing.problems(probe.key.probe_type):
            self.send_commands(EditProbe(probe.key, timing))
            self.dismiss()

    def action_write(self) -> None:
        """Write a copy of the manifest with the shown numbers."""
        subject, timing = self.ui_state.subject, self._timing
        if subject is None or subject.probe is None or timing is None:
            return
        key = subject.probe.key
        if not timing.problems(key.probe_type):
            self.app.post_message(ManifestCopyRequested({key: timing}))

    def action_change(self, step: int) -> None:
        field = self.menu.name_at_cursor
        if self._timing is not None and field in _FIELDS:
            self._set(field, max(getattr(self._timing, field) + step, 0))

    def on_key(self, event: Key) -> None:
        """Type a number into the field at the cursor."""
        field = self.menu.name_at_cursor
        if field not in _FIELDS:
            return
        if event.key == "backspace":
            self._typed = self._typed[:-1]
        elif event.key.isdecimal() and len(self._typed) < _MOST_DIGITS:
            self._typed += event.key
        else:
            self._typed = ""
            return
        event.stop()
        self._set(field, int(self._typed or "0"), typed=self._typed)

    def _set(self, field: str, value: int, *, typed: str = "") -> None:
        self._typed = typed
        if self._timing is not None:
            self._timing = replace(self._timing, **{field: value})
            self.show_rows()


def _diff(before: int, after: int) -> str:
    return "" if before == after else f"{before} -> {after}"


def _diff_lines(manifest: Timing, timing: Timing) -> list[Line]:
    changes = manifest.changes(timing)
    if not changes:
        return [line(muted("No field differs from the manifest."))]
    lines = []
    for name, before, after in changes:
        lines += [
            line(Span(f"- {name}: {before}", Role.ERROR)),
            line(Span(f"+ {name}: {after}", Role.SUCCESS)),
        ]
    return lines
