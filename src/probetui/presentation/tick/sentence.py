"""Why a tick did what it did, in one sentence."""

from __future__ import annotations

from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.text.view import View
from probetui.presentation.tick.report import TickVerdict, report_tick

_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
_TEENS = range(11, 14)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(number: int) -> str:
    """Return `first` to `tenth`, then `11th`, `22nd`."""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    ending = "th" if number % 100 in _TEENS else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def tick_sentence(tick: TickEntry) -> str:
    """Return what a tick found and why that led to what it did, as a sentence."""
    report = report_tick(tick)
    counted = f"{_which(tick)} in a row"
    match report.verdict:
        case TickVerdict.NOT_PROBED:
            return f"{report.summary}."
        case TickVerdict.NOT_COUNTED:
            return (
                f"error after {len(tick.attempts)} attempts; "
                "an error is not counted, so nothing was done."
            )
        case TickVerdict.IGNORED:
            return f"{counted}; {tick.threshold} are needed, so nothing was done."
        case TickVerdict.UNCHANGED:
            believed = f"the stored result is {tick.result} already"
            return f"{counted}; {believed}, so nothing changed."
        case TickVerdict.MUTED:
            return f"{counted}, of {tick.threshold}; muted, so nothing was done."
        case TickVerdict.WATCH_ONLY:
            return f"{counted}, of {tick.threshold}; only watched, so nothing was done."
        case TickVerdict.ACTED:
            return f"{counted}, of {tick.threshold}: {report.effect.text}."


def _which(tick: TickEntry) -> str:
    word = "failure" if tick.result is Result.FAILURE else "success"
    word = f"injected {word}" if tick.injected else word
    return f"{ordinal(tick.run)} {word}"


def stamped_sentence(tick: TickEntry, view: View) -> str:
    """Return the same behind the tick's time."""
    return f"{view.times.stamp(tick.started_at)}  {tick_sentence(tick)}"
