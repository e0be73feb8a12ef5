"""The marks of ticks in a strip, in Unicode and in ASCII."""

from __future__ import annotations

from msgspec import Struct

from probetui.analysis.timeline import TickMark, classify_tick
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.text.spans import Role, Span


class MarkSet(Struct, frozen=True):
    """The characters for the outcomes of ticks, and for gauges.

    `out_of_schedule` follows a mark where underlining is not available.
    """

    success: str = "✓"
    failure: str = "✗"
    warning: str = "~"
    errored: str = "!"
    delay: str = "d"
    gate: str = "g"
    hold: str = "h"
    not_running: str = "n"
    last_tick: str = "e"
    done: str = "g"
    kill: str = "K"
    new_container: str = "|"
    injected: str = "*"
    out_of_schedule: str = ""
    became_good: str = "▲"
    became_bad: str = "▼"
    empty: str = "·"
    bar: str = "█"
    bar_empty: str = "░"
    ellipsis: str = "…"
    times: str = "×"
    newline: str = "⏎"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧"
    cursor: str = "▌"

    @property
    def is_ascii(self) -> bool:
        """Whether every mark is an ASCII character."""
        return self.bar.isascii()


UNICODE = MarkSet()
ASCII = MarkSet(
    success="+",
    failure="x",
    warning="w",  # what is cut ends with a tilde
    out_of_schedule="'",
    became_good="^",
    became_bad="v",
    empty=".",
    bar="#",
    bar_empty=".",
    ellipsis="~",
    times="x",
    newline=" ",
    spinner="|/-\\",
    cursor=">",
)


def result_mark(result: Result | None, marks: MarkSet) -> Span:
    """Return the mark of a result."""
    match result:
        case Result.SUCCESS:
            return Span(marks.success, Role.SUCCESS)
        case Result.FAILURE:
            return Span(marks.failure, Role.ERROR)
        case _:
            return Span(marks.empty, Role.MUTED)


_ROLES = {
    "success": Role.SUCCESS,
    "failure": Role.ERROR,
    "warning": Role.WARNING,
    "errored": Role.WARNING,
    "delay": Role.MUTED,
    "gate": Role.MUTED,
    "hold": Role.HOLD,
    "not_running": Role.MUTED,
    "last_tick": Role.MUTED,
    "done": Role.MUTED,
}


def mark_span(tick: TickEntry, marks: MarkSet) -> Span:
    """Return the mark of a tick."""
    return tick_mark(classify_tick(tick), marks)


def tick_mark(mark: TickMark, marks: MarkSet) -> Span:
    """Return the mark of a tick with that appearance."""
    is_underlined = mark.is_out_of_schedule and not marks.out_of_schedule
    return Span(getattr(marks, mark.code), _ROLES[mark.code], is_underlined)


PROBE_LETTERS = {
    ProbeType.LIVENESS: "L",
    ProbeType.READINESS: "R",
    ProbeType.STARTUP: "S",
}


SKIP_WORDS = {
    "delay": "delay",
    "gate": "wait",
    "hold": "hold",
    "not_running": "down",
    "last_tick": "end",
    "done": "done",
}
"""The words of a strip for ticks that did not probe: `hold6` with their count."""


def mark_legend(marks: MarkSet) -> tuple[tuple[str, str], ...]:
    """Return every mark with its meaning."""
    out_of_schedule = marks.out_of_schedule or "underlined"
    return (
        (marks.success, "success"),
        (marks.failure, "failure"),
        (marks.errored, "error, not counted"),
        (marks.warning, "warning, counts as success"),
        (_skipped(marks.delay, "delay"), "skipped: initial delay"),
        (_skipped(marks.gate, "gate", "done"), "skipped: waits for startup, or done"),
        (_skipped(marks.hold, "hold"), "skipped: on hold"),
        (_skipped(marks.not_running, "not_running"), "skipped: no running container"),
        (marks.kill, "this tick caused a kill"),
        (marks.became_good, "after a mark: became ready or started"),
        (marks.became_bad, "after a mark: became not ready"),
        (marks.injected, "after a mark: injected or delayed"),
        (marks.new_container, "new container from here on"),
        (_skipped(marks.last_tick, "last_tick"), "the worker's last tick"),
        (out_of_schedule, "probed out of schedule"),
        (f"{marks.success}6", "6 ticks with the same mark"),
        ("lost4", "4 ticks that never came"),
        ("period5s", "another period from here on"),
    )


def _skipped(mark: str, *codes: str) -> str:
    """Return a mark with the words that a strip has for it."""
    return " ".join([mark, *(SKIP_WORDS[code] for code in codes)])
