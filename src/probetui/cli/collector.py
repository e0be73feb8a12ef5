"""When Python's garbage collector goes through everything there is: seldom."""

from __future__ import annotations

import gc

_YOUNG, _MIDDLE, _ALL = 700, 10, 1000
"""After how many objects, or looks at the generation before, each is looked at."""


def hold_off() -> None:
    """Turn the collector off while the program starts.

    There is no garbage in what is being imported; to look for it is a tenth of the time
    that starting takes.
    """
    gc.disable()


def settle() -> None:
    """Let the collector begin, and keep it away from what is here to stay.

    A session makes hardly any cycles, and those are found while they are young. A look
    at everything finds no more, and takes a tenth of a second once a thousand probes
    have a history; in that time no key is answered and no tick taken. It would come
    every other second, and so comes every other minute.

    A process that has not held it off keeps its own ways.
    """
    if gc.isenabled():
        return
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _ALL)
    gc.enable()
