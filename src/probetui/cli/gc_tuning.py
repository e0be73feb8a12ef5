"""Tuning of Python's garbage collector: full collections are rare."""

from __future__ import annotations

import gc

_YOUNG, _MIDDLE, _ALL = 700, 100, 20
"""Thresholds of the three generations, as in `gc.set_threshold`."""


def disable() -> None:
    """Disable the collector while the program starts.

    There is no garbage in what is being imported; to look for it is a tenth of the time
    that starting takes.
    """
    gc.disable()


def freeze() -> None:
    """Enable the collector, and exempt the objects that exist now.

    A look at everything takes a twentieth of a second once a thousand probes have a
    history; in that time no key is answered and no tick taken. It would come every
    other second, and so comes every few minutes. The only cycles of a session are
    lines of the screen (each keeps itself in a cache of the screen's library), which
    live for some seconds: the middle generation waits so long, so that they are found
    there. What is older would be found only with everything, and was 100 MB by then.

    What became garbage until now, some thousand objects, stays: to look for it would
    take as long as to draw the first screen.

    A process that has not disabled it is left as it is.
    """
    if gc.isenabled():
        return
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _ALL)
    gc.enable()
