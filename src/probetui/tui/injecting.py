"""Choosing what the next runs of the chosen probe come to, wherever that is done."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from probetui.kubelet.inputs import Injected, InjectResults
from probetui.kubelet.snapshot import ProbeSnapshot
from probetui.presentation.spans import Line, Role, Span, line, muted
from probetui.tui.stage import Stage

MOST_AT_ONCE = 99
_REPEATS = 3
REAL, REPEAT = "real", "repeat"


class Choice(NamedTuple):
    """One thing that a run may come to; one that `is_off` cannot be chosen now."""

    name: str
    words: str
    note: str = ""
    is_off: bool = False


_CHOICES = (
    Choice(REAL, "real probe", "run it and use what it says (default)"),
    Choice(Injected.SUCCESS, "success"),
    Choice(Injected.FAILURE, "failure"),
    Choice(
        Injected.WARNING, "warning (redirect)", "to another host; counts as success"
    ),
    Choice(Injected.ERRORED, "errored", "discarded, run unchanged, tried 3 times"),
    Choice(Injected.TIMED_OUT, "timeout", "a failure after timeoutSeconds"),
)


class Injecting:
    """What is chosen, for how many runs; the last choice stays with the stage.

    Each choice goes behind those that are still to come.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.times = 1

    @property
    def choices(self) -> Sequence[Choice]:
        """Everything that can be chosen; the last of them repeats the last choice."""
        last = self._stage.last_choice
        if last is None:
            note = "nothing was chosen yet"
        else:
            note = f"{last}, for the next {self._repeats} runs"
        return (*_CHOICES, Choice(REPEAT, "repeat last choice", note, last is None))

    def change(self, step: int) -> None:
        """Choose for more runs, or for fewer."""
        self.times = max(1, min(self.times + step, MOST_AT_ONCE))

    def command(self, name: str) -> InjectResults | None:
        """Return what a choice asks for, None without a probe to choose it for."""
        probe = self._probe
        if probe is None:
            return None
        if name == REAL:
            return InjectResults(probe.key, ())
        times = self.times
        if name == REPEAT:
            name, times = self._stage.last_choice or "", self._repeats
        if name not in set(Injected):
            return None
        choice = self._stage.last_choice = Injected(name)
        return InjectResults(probe.key, (*probe.injections, *(choice,) * times))

    def pending(self) -> Line:
        """Return what is still to come for the chosen probe."""
        probe = self._probe
        if probe is None or not probe.injections:
            return line(muted("still to come: nothing, the probe is run"))
        runs = [(each, len(tuple(run))) for each, run in groupby(probe.injections)]
        words = (f"{each} x{count}" if count > 1 else str(each) for each, count in runs)
        return line(muted("still to come: "), Span(", ".join(words), Role.ACCENT))

    @property
    def _repeats(self) -> int:
        return self.times if self.times > 1 else _REPEATS

    @property
    def _probe(self) -> ProbeSnapshot | None:
        subject = self._stage.subject
        return None if subject is None else subject.probe
