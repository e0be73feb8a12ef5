"""Tuning of Python's garbage collector: full collections are rare."""

from __future__ import annotations

import gc

_YOUNG, _MIDDLE, _ALL = 700, 10, 200
"""Thresholds of the three generations, as in `gc.set_threshold`."""


def disable() -> None:
    """Disable the collector while the program starts.

    There is no garbage in what is being imported; to look for it is a tenth of the time
    that starting takes.
    """
    gc.disable()


def freeze() -> None:
    """Enable the collector, and exempt the objects that exist now.

    A full collection takes 50 ms with 1,000 probes, and meanwhile no key is answered
    and no tick runs. The default threshold triggers one every 2 s; this one makes it
    minutes. The middle generation stays small, so that its collection takes no longer
    than drawing a line. What a session allocates all the time has no cycles and is
    freed at once: lines of the screen (`probetui.tui.panes.line_widget`), ticks,
    probes.

    What became garbage until now, some thousand objects, stays: to look for it would
    take as long as to draw the first screen.

    A process that has not disabled it is left as it is.
    """
    if gc.isenabled():
        return
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _ALL)
    gc.enable()
