"""What a probe printed, tick by tick."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.kubelet.journal import TickEntry
from probetui.kubelet.snapshot import ProbeSnapshot
from probetui.presentation.probe_detail import last_words, output_text
from probetui.presentation.spans import Line, Span, line, muted
from probetui.presentation.text_cells import all_lines
from probetui.presentation.view import View

_MARGIN = "  "


def output_blocks(probe: ProbeSnapshot, view: View) -> Iterator[Line]:
    """Yield every run of a probe that is in sight, the newest first."""
    for tick in reversed(probe.history):
        if tick.attempts:
            yield from output_block(tick, view)


def output_block(tick: TickEntry, view: View) -> Iterator[Line]:
    """Yield when a probe ran, how it ended, and everything it printed."""
    stamp = view.times.stamp(tick.started_at)
    yield line(muted(f"probe #{tick.n}  {stamp}  "), *last_words(tick, view))
    text = view.mask.text(output_text(tick.attempts[-1]))
    for each in all_lines(text) or ["(no output)"]:
        yield line(Span(f"{_MARGIN}{each}"))
