"""How a snapshot is looked at: when, in which format, with which marks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from probetui.drive.masking import Mask
from probetui.presentation.durations import Times
from probetui.presentation.marks import UNICODE, Marks
from probetui.presentation.reach import AT_HAND, Reach
from probetui.presentation.text_cells import one_line

_SHOWN_CHARACTERS = 600
"""Of a long text on one line; more would be cut off on any screen."""


@dataclass(frozen=True, slots=True)
class View:
    """What words depend on besides the thing they are about.

    `mask` takes secrets out of texts that come from manifests and containers. Without
    `acts` kills and restarts are only told. `reach` is for commands to try by hand.
    """

    times: Times
    marks: Marks = UNICODE
    is_paused: bool = False
    mask: Mask = field(default_factory=Mask)
    acts: bool = True
    reach: Reach = AT_HAND

    @classmethod
    def timeless(cls, mask: Mask | None = None) -> View:
        """Return one for what has not begun: no instant is shown in it."""
        began = datetime.min.replace(tzinfo=UTC)
        return cls(Times(began, began, zone=UTC), mask=mask or Mask())

    @property
    def now(self) -> datetime:
        """The instant at which the snapshot was taken."""
        return self.times.now

    def safe(self, text: str) -> str:
        """Return foreign text on one line, without secrets or control characters."""
        masked = self.mask.text(text)
        return one_line(masked, newline=self.marks.newline, limit=_SHOWN_CHARACTERS)
