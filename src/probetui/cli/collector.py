"""When Python's garbage collector goes through everything there is: seldom."""

from __future__ import annotations

import gc

_YOUNG, _MIDDLE, _ALL = 700, 100, 20
"""After how many objects, or looks at the generation before, each is looked at."""


def hold_off() -> None:
    """Turn the collector off while the program starts.

    There is no garbage in what is being imported; to look for it is a tenth of the time
    that starting takes.
    """
    gc.disable()


def settle() -> None:
    """Let the collector begin, and keep it away from what is here to stay.

    A look at everything takes a twentieth of a second once a thousand probes have a
    history; in that time no key is answered and no tick taken. It would come every
    other second, and so comes every few minutes. The only cycles of a session are
    lines of the screen (each keeps itself in a cache of the screen's library), which
    live for some seconds: the middle generation waits so long, so that they are found
    there. What is older would be found only with everything, and was 100 MB by then.

    A process that has not held it off keeps its own ways.
    """
    if gc.isenabled():
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _ALL)
    gc.enable()
