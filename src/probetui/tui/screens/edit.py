"""Edit the timing of a probe in memory: the session so far under other numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType
from textual.events import Key

from probetui.analysis.lanes import LaneAxis, Lanes, fitting_cell_seconds
from probetui.debugger.commands import EditProbe
from probetui.debugger.timing import Timing
from probetui.errors import ProbetuiError
from probetui.k8s.probe import ProbeKey
from probetui.presentation.container.detail import container_title
from probetui.presentation.lanes import lane_line, lane_marks
from probetui.presentation.text.spans import Line, Role, Span, line, muted, strong
from probetui.presentation.what_if import difference_words
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.host_services import Tried, TryTiming
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


_LABEL = 9
"""The cells before a lane."""

_AROUND_LANE = 4
"""The cells of the frame and the margins beside it."""


class EditScreen(MenuScreen):
    """A field for each number, and what the session would have been with them.

    The lane of the container under the numbers is drawn above the one that it has had,
    from the start of the session to the instant at which the screen was opened. The
    session is run again in a thread, for the newest numbers only.
    """

    HEADING = "What if"
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
        self._in_use = self._timing
        """The timing with which the session runs."""
        so_far = ui_state.host.session_so_far
        self._try_timing: TryTiming | None = None if so_far is None else so_far()
        self._tried: tuple[Timing, Tried] | None = None
        self._problem = ""

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
        last += self._tried_lines(probe.key, timing)
        last.append(
            line(muted("left, right or digits change a number; enter takes them"))
        )
        if self.ui_state.host.copy_edited is not None:
            last.append(
                line(muted("^s writes a copy of the manifest with this timing"))
            )
        self.menu.show(about, (*rows, _APPLY, _RESET), last)

    def _tried_lines(self, key: ProbeKey, timing: Timing) -> Iterator[Line]:
        """Yield the lane under these numbers, the session's, and how they differ."""
        if self._problem:
            yield line(Span(self._problem, Role.WARNING))
        if self._tried is None or self._tried[0] != timing:
            if self._is_trying:
                yield line(muted("trying them on the session so far"))
            return
        tried, times = self._tried[1], self.ui_state.view_model.view.times
        width = max(self.menu.size.width - _LABEL - _AROUND_LANE, 1)
        other = self._lane(tried.other_lanes, key, tried, width)
        ghost = self._lane(tried.lanes, key, tried, width)
        yield line(muted(f"{'':{_LABEL}}since {times.clock(tried.started_at)}"))
        yield line(strong("what if".ljust(_LABEL)), *other)
        yield line(
            muted("today".ljust(_LABEL)),
            *(span._replace(is_faint=True) for span in ghost),
        )
        yield line(strong(difference_words(tried.totals, tried.other_totals)))
        if guessed := tried.other_totals.unmeasured:
            total = tried.other_totals.probed
            yield line(muted(f"{guessed} of its {total} probes were never measured"))

    def _lane(self, lanes: Lanes, key: ProbeKey, tried: Tried, width: int) -> Line:
        start, end = tried.started_at.timestamp(), tried.ended_at.timestamp()
        # All of a lane is past here, where three quarters are on other axes.
        cell = fitting_cell_seconds(end - start, width * 4 // 3)
        axis = LaneAxis(start // cell * cell, cell, width, end)
        cells = lanes.past(axis, key.pod_uid, key.container_name).container
        marks = lane_marks(is_ascii=self.ui_state.options.ascii)
        return lane_line(cells, marks)

    @property
    def _is_trying(self) -> bool:
        return self._try_timing is not None and self._timing != self._in_use

    def _try(self) -> None:
        """Run the session again under the numbers, unless there is none or they err."""
        subject, timing = self.ui_state.subject, self._timing
        if subject is None or subject.probe is None or timing is None:
            return
        key = subject.probe.key
        if self._is_trying and not timing.problems(key.probe_type):
            self.run_worker(self._run_again(key, timing), exclusive=True)

    async def _run_again(self, key: ProbeKey, timing: Timing) -> None:
        assert self._try_timing is not None  # noqa: S101  # the caller's condition
        try:
            tried = await asyncio.to_thread(self._try_timing, key, timing)
        except ProbetuiError as error:
            self._problem = self.ui_state.view_model.view.safe(str(error))
            self._try_timing = None
        else:
            self._tried = timing, tried
        if self.is_mounted:
            self.show_rows()

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
            self._try()
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
