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
_BEGUN = re.compile(
    rb"\x1b(?:\](?:1(?:1(?:;[rgba:#/0-9a-f]{0,40}\x1b?)?)?)?|\[(?:\?[0-9;]{0,40})?)?",
    re.IGNORECASE,
)
"""What is the beginning of an answer, if it goes on like that."""

_CERTAIN = re.compile(rb"\x1b(?:\]11;[rgba:#/0-9a-f]*|\[\?)", re.IGNORECASE)
"""What nobody types."""

_HALF = re.compile(rb"\x1b\]11;[rgba:#/0-9a-f]*", re.IGNORECASE)
_CHANNELS = re.compile(
    rb"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})\b", re.IGNORECASE
)
_MOST_PAUSES = 10

AS_LIGHT_AS_DARK = 0.179
"""The luminance on which black and white can be read equally well."""

_LIGHT_COLORS = {"7", *map(str, range(9, 16))}
"""Of the 16 of a terminal, those that are light: silver, and all bright ones."""


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
        red: from 0 to 1, as all three.
        green: how much green.
        blue: how much blue.
    """
    return 0.2126 * _linear(red) + 0.7152 * _linear(green) + 0.0722 * _linear(blue)


def question(environment: Mapping[str, str]) -> str:
    """Return what asks the terminal for the colour behind its text.

    tmux answers for itself; screen passes on what is wrapped for it.
    """
    is_screen = environment.get("TERM", "").startswith("screen")
    if not is_screen or environment.get("TMUX"):
        return _QUESTIONS
    # The end of a string within a string would end both: a bell ends the inner one.
    return f"\x1bP{_QUESTIONS.replace(chr(0x1B) + chr(0x5C), chr(0x07))}\x1b\\"


def is_light_by_environment(environment: Mapping[str, str]) -> bool | None:
    """Return what COLORFGBG says of the background; None where it is not set.

    It is `15;0` or `15;default;0`: colours of text and of background, by number.
    """
    last = environment.get("COLORFGBG", "").rpartition(";")[2]
    return last in _LIGHT_COLORS if last.isdecimal() else None


class TerminalReplyFilter:
    """Takes the terminal's answers out of what is read, and leaves what was typed.

    Answers may come late, in parts, or never.
    """

    def __init__(self) -> None:
        self.background: TerminalBackground | None = None
        """The colour that the terminal reported."""
        self.is_settled = False
        """Whether no more replies are expected."""
        self._held = b""
        self._pauses = 0

    def feed(self, data: bytes) -> bytes:
        """Return what was typed, of all that was read so far and not returned yet."""
        rest, self._held, self._pauses = self._held + data, b"", 0
        typed = b""
        while rest:
            if answer := self._answer(rest):
                rest = rest[answer:]
            elif self._may_be_answer(rest):
                self._held, rest = rest, b""
            else:
                key, escape, others = rest[1:].partition(b"\x1b")
                typed += rest[:1] + key
                rest = escape + others
        return typed

    def pause(self) -> bytes:
        """Return what turns out to be typed, as nothing came for a tenth of a second.

        An answer that has begun is waited for, and dropped after a second.
        """
        held, self._pauses = self._held, self._pauses + 1
        is_answer = _CERTAIN.match(held) is not None
        if is_answer and self._pauses < _MOST_PAUSES:
            return b""
        self._held = b""
        return b"" if is_answer else held

    def _answer(self, data: bytes) -> int:
        """Parse an answer; return its length, 0 if there is none."""
        if found := _COLOR.match(data):
            self.background = _background(found[1]) or self.background
        elif found := _KIND.match(data):
            self.is_settled = True
        elif not self._may_be_answer(data):
            # Half an answer and then something else: nobody has typed that half.
            found = _HALF.match(data)
        return found.end() if found else 0

    def _may_be_answer(self, data: bytes) -> bool:
        """Return whether to wait for more; once settled, only for a certain reply."""
        pattern = _CERTAIN if self.is_settled else _BEGUN
        return bool(data and pattern.match(data) and _BEGUN.fullmatch(data))


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
