"""The settings of presentation: time and its format, marks, mask, rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum

from msgspec import Struct, field

from probetui.analysis.reproduce import LOCAL_REACH, CommandLineReach
from probetui.durations import format_age, format_countdown
from probetui.k8s.service import Service
from probetui.kubelet.journal import ContainerEntry
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.presentation.text.cells import one_line
from probetui.presentation.tick.marks import UNICODE, MarkSet
from probetui.record.masking import Mask

_TENTH = timedelta(milliseconds=100)
_ALMOST_A_TENTH = timedelta(microseconds=99_999)
_MINUTE, _HOUR = 60, 3_600


class TimeFormat(StrEnum):
    """The format of instants."""

    WALL = "wall"
    SINCE_START = "since start"
    AGO = "ago"

    @property
    def following(self) -> TimeFormat:
        """The next format; after the last one, the first."""
        formats = list(TimeFormat)
        return formats[(formats.index(self) + 1) % len(formats)]


class TimeFormatter(Struct, frozen=True):
    """Formats instants.

    Attributes:
        now: the current time.
        started_at: the start of the session.
        format: how instants are written.
        zone: the time zone of wall times, None for this machine's.
    """

    now: datetime
    started_at: datetime
    format: TimeFormat = TimeFormat.WALL
    zone: tzinfo | None = None

    def stamp(self, at: datetime) -> str:
        """Format an instant in at most ten characters: `08:21:05.1`, `+41.2s`."""
        match self.format:
            case TimeFormat.WALL:
                local = at.astimezone(self.zone)
                return f"{local:%H:%M:%S}.{local.microsecond // 100_000}"
            case TimeFormat.SINCE_START:
                return _since(at - self.started_at)
            case TimeFormat.AGO:
                return f"{format_countdown(self.now - at)} ago"

    def when(self, step: ContainerEntry) -> str:
        """Return when a step was, or its bounds: ` between 08:21:05.1 and 08:21:20.0`.

        The bounds are rounded outwards.
        """
        if step.not_before is None or step.not_after is None:
            return f" at {self.stamp(step.at)}"
        last = self.stamp(step.not_after + _ALMOST_A_TENTH)
        return f" between {self.stamp(step.not_before)} and {last}"

    def clock(self, at: datetime) -> str:
        """Format an instant to the second: `08:21:05`, `+41s`, `3.1s ago`."""
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
        """Format an instant as wall time, whatever the format: `08:21:05`."""
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
"""The most characters of a text on one line; no screen is wider."""


class View(Struct, frozen=True):
    """The settings that texts depend on, besides their subject.

    Attributes:
        times: formats instants.
        marks: the characters of marks and meters.
        is_paused: whether the session is paused.
        mask: masks secrets in texts from manifests and containers.
        acts: False if kills and restarts are only reported.
        reach: connection options for commands to run by hand.
        rules: those of the kubelet's version.
        services: the Services of the manifests.
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
    def timeless(
        cls, mask: Mask | None = None, rules: KubeletRules = PORTED_RULES
    ) -> View:
        """Return a view for reports without a session, which show no instants."""
        began = datetime.min.replace(tzinfo=UTC)
        times = TimeFormatter(began, began, zone=UTC)
        return cls(times, mask=mask or Mask(), rules=rules)

    @property
    def now(self) -> datetime:
        """The instant of the snapshot."""
        return self.times.now

    @property
    def token(self) -> object:
        """A cache key: equal for views that give the same texts.

        It includes the secrets that the mask knows.
        """
        return self, self.mask.known

    def safe(self, text: str) -> str:
        """Return foreign text on one line, without secrets and control characters."""
        masked = self.mask.text(text)
        return one_line(masked, newline=self.marks.newline, limit=_SHOWN_CHARACTERS)
