"""How a snapshot is shown: at which instant, in which time format, with which marks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum

from msgspec import Struct, field

from probetui.analysis.reproduce import LOCAL_REACH, CommandLineReach
from probetui.durations import format_age, format_countdown
from probetui.k8s.service import Service
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.presentation.text.cells import one_line
from probetui.presentation.tick.marks import UNICODE, MarkSet
from probetui.record.masking import Mask

_TENTH = timedelta(milliseconds=100)
_MINUTE, _HOUR = 60, 3_600


class TimeFormat(StrEnum):
    """How instants are written."""

    WALL = "wall"
    SINCE_START = "since start"
    AGO = "ago"

    @property
    def following(self) -> TimeFormat:
        """The format after this one, in a circle."""
        formats = list(TimeFormat)
        return formats[(formats.index(self) + 1) % len(formats)]


class TimeFormatter(Struct, frozen=True):
    """How instants are written at one moment.

    `zone` None is the zone of this machine.
    """

    now: datetime
    started_at: datetime
    format: TimeFormat = TimeFormat.WALL
    zone: tzinfo | None = None

    def stamp(self, at: datetime) -> str:
        """Return an instant in at most ten characters: `08:21:05.1`, `+41.2s`."""
        match self.format:
            case TimeFormat.WALL:
                local = at.astimezone(self.zone)
                return f"{local:%H:%M:%S}.{local.microsecond // 100_000}"
            case TimeFormat.SINCE_START:
                return _since(at - self.started_at)
            case TimeFormat.AGO:
                return f"{format_countdown(self.now - at)} ago"

    def clock(self, at: datetime) -> str:
        """Return an instant to the second: `08:21:05`, `+41s`, `3.1s ago`."""
        match self.format:
            case TimeFormat.WALL:
                return f"{at.astimezone(self.zone):%H:%M:%S}"
            case TimeFormat.SINCE_START:
                return f"+{format_age(at - self.started_at)}"
            case TimeFormat.AGO:
                ahead = at - self.now
                if ahead > timedelta():
                    return f"in {format_countdown(ahead)}"
                return f"{format_countdown(-ahead)} ago"

    def wall(self, at: datetime) -> str:
        """Return an instant as a clock on the wall shows it: `08:21:05`."""
        return f"{at.astimezone(self.zone):%H:%M:%S}"


def _since(length: timedelta) -> str:
    tenths = max(length // _TENTH, 0)
    seconds, tenth = divmod(tenths, 10)
    if seconds < _MINUTE:
        return f"+{seconds}.{tenth}s"
    minutes, rest = divmod(seconds, _MINUTE)
    if seconds < _HOUR:
        return f"+{minutes}m{rest:02}.{tenth}s"
    return f"+{format_age(length)}"


_SHOWN_CHARACTERS = 600
"""Of a long text on one line; more would be cut off on any screen."""


class View(Struct, frozen=True):
    """What words depend on besides the thing they are about.

    `mask` takes secrets out of texts that come from manifests and containers. Without
    `acts` kills and restarts are only reported. `reach` is for commands by hand.
    `rules` are those of the kubelet's version, `services` those of the manifests.
    """

    times: TimeFormatter
    marks: MarkSet = UNICODE
    is_paused: bool = False
    mask: Mask = field(default_factory=Mask)
    acts: bool = True
    reach: CommandLineReach = LOCAL_REACH
    rules: KubeletRules = PORTED_RULES
    services: tuple[Service, ...] = ()

    @classmethod
    def timeless(cls, mask: Mask | None = None) -> View:
        """Return one for what has not begun: no instant is shown in it."""
        began = datetime.min.replace(tzinfo=UTC)
        return cls(TimeFormatter(began, began, zone=UTC), mask=mask or Mask())

    @property
    def now(self) -> datetime:
        """The instant at which the snapshot was taken."""
        return self.times.now

    @property
    def token(self) -> object:
        """Equal for views in which the same thing is put into the same words.

        The secrets that the mask knows are part of it.
        """
        return self, self.mask.known

    def safe(self, text: str) -> str:
        """Return foreign text on one line, without secrets or control characters."""
        masked = self.mask.text(text)
        return one_line(masked, newline=self.marks.newline, limit=_SHOWN_CHARACTERS)
