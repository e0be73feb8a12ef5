"""Inject results for the next runs of a probe: a menu, and a pane of step mode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from probetui.debugger.commands import Injected, InjectResults
from probetui.engine.snapshot import ProbeSnapshot
from probetui.presentation.container.detail import container_title
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
)
from probetui.tui.panes.pane import Pane
from probetui.tui.screens.menu import MenuRow, MenuScreen
from probetui.tui.state import UiState
from probetui.tui.styled_text import StyledLine, styled_line

MOST_AT_ONCE = 99
_REPEATS = 3
REAL, REPEAT = "real", "repeat"


class InjectionChoice(NamedTuple):
    """A result that can be injected, unless it `is_off`."""

    name: str
    words: str
    note: str = ""
    is_off: bool = False


_CHOICES = (
    InjectionChoice(REAL, "real probe", "run it and use its result (default)"),
    InjectionChoice(Injected.SUCCESS, "success"),
    InjectionChoice(Injected.FAILURE, "failure"),
    InjectionChoice(
        Injected.WARNING, "warning", "redirect to another host, counts as success"
    ),
    InjectionChoice(Injected.ERRORED, "error", "3 attempts, not counted"),
    InjectionChoice(Injected.TIMED_OUT, "timeout", "a failure after timeoutSeconds"),
)


class ResultInjection:
    """The choice of results, and the number of runs.

    Each choice is queued behind the pending ones. `UiState` keeps the last one.
    """

    def __init__(self, ui_state: UiState) -> None:
        self._ui_state = ui_state
        self.times = 1

    @property
    def choices(self) -> Sequence[InjectionChoice]:
        """All choices; the last one repeats the last choice."""
        last = self._ui_state.last_injection
        if last is None:
            note = "no choice yet"
        else:
            note = f"{last}, for the next {self._repeats} runs"
        return (
            *_CHOICES,
            InjectionChoice(REPEAT, "repeat last choice", note, last is None),
        )

    def change(self, step: int) -> None:
        """Change the number of runs by `step`."""
        self.times = max(1, min(self.times + step, MOST_AT_ONCE))

    def command(self, name: str) -> InjectResults | None:
        """Return the command of a choice, None without a probe."""
        probe = self._probe
        if probe is None:
            return None
        if name == REAL:
            return InjectResults(probe.key, ())
        times = self.times
        if name == REPEAT:
            name, times = self._ui_state.last_injection or "", self._repeats
        if name not in set(Injected):
            return None
        choice = self._ui_state.last_injection = Injected(name)
        return InjectResults(probe.key, (*probe.injections, *(choice,) * times))

    def pending(self) -> Line:
        """Format the pending results of the selected probe."""
        probe = self._probe
        if probe is None or not probe.injections:
            return line(muted("No result is injected: the probe runs."))
        runs = [
            (injected, len(tuple(run))) for injected, run in groupby(probe.injections)
        ]
        texts = (
            f"{injected} x{count}" if count > 1 else str(injected)
            for injected, count in runs
        )
        return line(muted("pending: "), Span(", ".join(texts), Role.ACCENT))

    def runs(self) -> Line:
        """Format the number of runs of the next choice: `3 runs`."""
        word = " run" if self.times == 1 else " runs"
        return line(Span(str(self.times), Role.ACCENT), muted(word))

    @property
    def _repeats(self) -> int:
        return self.times if self.times > 1 else _REPEATS

    @property
    def _probe(self) -> ProbeSnapshot | None:
        subject = self._ui_state.subject
        return None if subject is None else subject.probe


_SHORT = (1, 2, 3)
"""The choices without a note, which share a line."""

_CELLS = 19


class InjectionPane(Pane):
    """The numbered choices; a number picks one, whichever pane has the focus."""

    def __init__(
        self, ui_state: UiState, injecting: ResultInjection, *, is_ascii: bool
    ) -> None:
        super().__init__(id="choose", is_ascii=is_ascii)
        self._ui_state = ui_state
        self._injecting = injecting

    def title(self) -> Line:
        return line(strong("Inject results"), muted("  press a number"))

    def badge(self) -> Line:
        subject = self._ui_state.subject
        if subject is None or subject.probe is None:
            return EMPTY
        kind = subject.probe.key.probe_type.lower()
        return line(
            container_title(subject, self._ui_state.view_model.view), f" {kind}"
        )

    def rows(self) -> Sequence[StyledLine]:
        choices = self._injecting.choices
        lines = [
            _row(choices, 0),
            line(*(part for index in _SHORT for part in _row(choices, index))),
            _row(choices, 4),
            _row(choices, 5),
            _row(choices, len(choices) - 1),
            line(
                *self._injecting.pending(),
                muted("   next choice: "),
                *self._injecting.runs(),
                muted(" (left, right)"),
            ),
        ]
        return [styled_line(row) for row in lines]


def _row(choices: Sequence[InjectionChoice], index: int) -> Line:
    choice = choices[index]
    words = choice.words if choice.name == REPEAT else choice.words.ljust(_CELLS)
    note = choice.note if index not in _SHORT else ""
    number = (
        muted(f"{index + 1} ") if choice.is_off else Span(f"{index + 1} ", Role.ACCENT)
    )
    named = muted(words) if choice.is_off else Span(words, Role.PLAIN)
    return line(number, named, muted(f"  {note}" if note else ""))


_INJECTION_HELP = line(muted("left and right change the number of runs"))


class ResultInjectionScreen(MenuScreen):
    """The menu of results for the next runs, behind the pending ones."""

    HEADING = "Inject results"

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._injecting = ResultInjection(ui_state)

    def show_rows(self) -> None:
        subject, view = self.ui_state.subject, self.ui_state.view_model.view
        if subject is None or subject.probe is None:
            self.dismiss()
            return
        about = line(
            container_title(subject, view),
            f" {subject.probe.key.probe_type.lower()}",
            muted("  for the next "),
            *self._injecting.runs(),
        )
        rows = [MenuRow(*choice) for choice in self._injecting.choices]
        self.menu.show(about, rows, (self._injecting.pending(), _INJECTION_HELP))

    def picked(self, name: str) -> None:
        if (command := self._injecting.command(name)) is not None:
            self.send_commands(command)
        self.dismiss()

    def action_change(self, step: int) -> None:
        self._injecting.change(step)
        self.show_rows()
