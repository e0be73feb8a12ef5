"""What the screen asks of the program around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from probetui.drive.session import LogKeeper


@dataclass(frozen=True, slots=True)
class Outside:
    """Things that neither a snapshot nor a command of the engine can do.

    Whoever starts the screen says which of them there are; None switches the keys for
    it off.

    Attributes:
        leaves_behind: names the containers that will be left when the screen is left.
        logs: reads what containers print.
    """

    leaves_behind: Callable[[], str] | None = None
    logs: LogKeeper | None = None
