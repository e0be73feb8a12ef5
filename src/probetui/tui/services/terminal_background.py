"""The terminal's background colour: queried, with the reply among the keys.

The query is OSC 11 of xterm. A query that every terminal answers (DA1, its type) is
sent behind it: once that reply is there, no other will come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

_QUESTIONS = "\x1b]11;?\x1b\\\x1b[c"
_COLOR = re.compile(rb"\x1b\]11;([rgba:#/0-9a-f]{0,40})(?:\x07|\x1b\\)", re.IGNORECASE)
_KIND = re.compile(rb"\x1b\[\?[0-9;]{0,40}c")
_POSSIBLE = re.compile(
    rb"\x1b(?:\](?:1(?:1(?:;[rgba:#/0-9a-f]{0,40}\x1b?)?)?)?|\[(?:\?[0-9;]{0,40})?)?",
    re.IGNORECASE,
)
"""The beginning of a possible reply."""

_CERTAIN = re.compile(rb"\x1b(?:\]11;[rgba:#/0-9a-f]*|\[\?)", re.IGNORECASE)
"""The beginning of a certain reply: nobody types it."""

_INTERRUPTED = re.compile(rb"\x1b\]11;[rgba:#/0-9a-f]*", re.IGNORECASE)
_CHANNELS = re.compile(
    rb"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})\b", re.IGNORECASE
)
_MOST_PAUSES = 10

AS_LIGHT_AS_DARK = 0.179
"""The luminance on which black and white text are equally legible."""

_LIGHT_COLORS = {"7", *map(str, range(9, 16))}
"""The light ones of a terminal's 16 colours: silver, and all bright ones."""


class TerminalBackground(Struct, frozen=True):
    """A colour, each channel from 0 to 1."""

    red: float
    green: float
    blue: float

    @property
    def is_light(self) -> bool:
        """Whether dark text is easier to read on it than light text."""
        return luminance(self.red, self.green, self.blue) > AS_LIGHT_AS_DARK

    def __str__(self) -> str:
        channels = (self.red, self.green, self.blue)
        return "#" + "".join(f"{round(channel * 255):02x}" for channel in channels)


@cache
def luminance(red: float, green: float, blue: float) -> float:
    """Return the relative luminance of a colour of sRGB as WCAG 2 defines it, 0 to 1.

    Args:
        red: the red channel, 0 to 1.
        green: the green channel.
        blue: the blue channel.
    """
    return 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue)


def question(environment: Mapping[str, str]) -> str:
    """Return the sequence that queries the terminal's background colour.

    tmux replies itself; for screen the sequence is wrapped, so that it is passed on.
    """
    is_screen = environment.get("TERM", "").startswith("screen")
    if not is_screen or environment.get("TMUX"):
        return _QUESTIONS
    # A string terminator would end both strings; a bell ends the inner one only.
    return f"\x1bP{_QUESTIONS.replace(chr(0x1B) + chr(0x5C), chr(0x07))}\x1b\\"


def is_light_by_environment(environment: Mapping[str, str]) -> bool | None:
    """Return whether COLORFGBG names a light background; None if it is not set.

    It is `15;0` or `15;default;0`: the numbers of the text and background colours.
    """
    last = environment.get("COLORFGBG", "").rpartition(";")[2]
    return last in _LIGHT_COLORS if last.isdecimal() else None


class TerminalReplyFilter:
    """Separates the terminal's replies from typed input.

    Replies may come late, in parts, or never.
    """

    def __init__(self) -> None:
        self.background: TerminalBackground | None = None
        """The background that the terminal reported."""
        self.is_settled = False
        """Whether no more replies are expected."""
        self._kept = b""
        self._pauses = 0

    def feed(self, data: bytes) -> bytes:
        """Return the typed part of the input; keep what may be a partial reply."""
        rest, self._kept, self._pauses = self._kept + data, b"", 0
        typed = b""
        while rest:
            if reply_length := self._parse_reply(rest):
                rest = rest[reply_length:]
            elif self._may_be_reply(rest):
                self._kept, rest = rest, b""
            else:
                key, escape, others = rest[1:].partition(b"\x1b")
                typed += rest[:1] + key
                rest = escape + others
        return typed

    def pause(self) -> bytes:
        """Handle a tenth of a second without input; return kept input that was typed.

        A partial reply is kept, and dropped after a second.
        """
        held, self._pauses = self._kept, self._pauses + 1
        is_reply = _CERTAIN.match(held) is not None
        if is_reply and self._pauses < _MOST_PAUSES:
            return b""
        self._kept = b""
        return b"" if is_reply else held

    def _parse_reply(self, data: bytes) -> int:
        """Parse a reply; return its length, 0 if there is none."""
        if match := _COLOR.match(data):
            self.background = _background(match[1]) or self.background
        elif match := _KIND.match(data):
            self.is_settled = True
        elif not self._may_be_reply(data):
            # An interrupted reply: nobody typed its first part.
            match = _INTERRUPTED.match(data)
        return match.end() if match else 0

    def _may_be_reply(self, data: bytes) -> bool:
        """Return whether to wait for more; once settled, only for a certain reply."""
        pattern = _CERTAIN if self.is_settled else _POSSIBLE
        return bool(data and pattern.match(data) and _POSSIBLE.fullmatch(data))


def _background(reply: bytes) -> TerminalBackground | None:
    channels = _CHANNELS.match(reply)
    if channels is None:
        return None
    return TerminalBackground(
        *(int(group, 16) / (16 ** len(group) - 1) for group in channels.groups())
    )


def _linear(channel: float) -> float:
    if channel <= 0.04045:  # noqa: PLR2004  # where the curve of sRGB begins
        return channel / 12.92
    return float(((channel + 0.055) / 1.055) ** 2.4)
