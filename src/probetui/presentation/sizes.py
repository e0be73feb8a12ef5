"""Numbers of bytes in the few characters that a table has for them."""

from __future__ import annotations

_STEP = 1000
_TEN = 10
_UNITS = ("kB", "MB", "GB", "TB")


def size(count: int) -> str:
    """Return a number of bytes as Docker prints it: `512B`, `1.9MB`, `64MB`, `1.2GB`.

    Below ten of a unit there is one decimal.
    """
    if count < _STEP:
        return f"{count}B"
    tenths, unit = count * _TEN, ""
    for unit in _UNITS:  # noqa: B007  # the last one is wanted
        tenths //= _STEP
        if tenths < _STEP * _TEN:
            break
    if tenths < _TEN * _TEN:
        return f"{tenths // _TEN}.{tenths % _TEN}{unit}"
    return f"{tenths // _TEN}{unit}"
