"""Which saved session is meant, asked on a screen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from probetui.cli.option_values import ScreenChoices
from probetui.cli.session.saved_sessions import (
    SavedSession,
    SavedSummary,
    summarize_session,
)
from probetui.cli.session.screen import choose_colors
from probetui.cli.terminal import draws_unicode
from probetui.durations import format_age
from probetui.errors import RecordError
from probetui.presentation.lanes import lane_marks
from probetui.presentation.recorded_lanes import RecordedLanes
from probetui.presentation.text.cells import format_bytes, one_line
from probetui.presentation.text.spans import Line, Role, Span, line, muted
from probetui.record.reader import read_recording
from probetui.tui.session_picker import Choice, SessionPicker

_SUMMED_BYTES = 2 << 20
"""Of sessions that take more together, the oldest are listed without what they were:
the list is to be there at once."""


def choose_session(
    sessions: Sequence[SavedSession], screen: ScreenChoices, most_bytes: int
) -> Path | None:
    """Show sessions and return the first file of the chosen one, None for none.

    Args:
        sessions: what there is, the newest first.
        screen: how the screen looks.
        most_bytes: how large a record may be, unpacked.
    """
    is_ascii = screen.ascii or not draws_unicode(sys.__stderr__)
    choices, read = [], 0
    for session in sessions:
        read += session.size
        summary = None
        if read <= _SUMMED_BYTES:
            summary = summarize_session(session, most_bytes)
        choices.append(describe_choice(session, summary))

    def glance(index: int, width: int) -> Sequence[Line]:
        return glance_at(sessions[index], width, most_bytes, is_ascii=is_ascii)

    choose_colors(screen)
    picker = SessionPicker(choices, glance, is_ascii=is_ascii, theme=screen.theme)
    chosen = picker.run(mouse=not screen.no_mouse)
    return None if chosen is None else sessions[chosen].parts[0]


def describe_choice(session: SavedSession, summary: SavedSummary | None) -> Choice:
    """Return a session as a line of the list."""
    began = f"{session.began.astimezone():%m-%d %H:%M}"
    if summary is None or summary.problem:
        return Choice(began, format_bytes(session.size))
    kills = summary.kills
    note = f"{format_age(summary.length)}  {kills} kill{'s' * (kills != 1)}"
    return Choice(f"{began} {one_line(', '.join(summary.pods))}", note)


def glance_at(
    session: SavedSession, width: int, most_bytes: int, *, is_ascii: bool
) -> Sequence[Line]:
    """Return the lanes of a session's first file, or why there are none."""
    path = session.parts[0]
    try:
        recording = read_recording(path, most_bytes)
    except RecordError as error:
        return [line(Span(str(error), Role.ERROR))]
    lanes = RecordedLanes(
        recording.entries, recording.pods, recording.started_at, recording.ended_at
    )
    shown = [
        line(muted(session.name)),
        *lanes.lines(width, lane_marks(is_ascii=is_ascii)),
    ]
    if len(session.parts) > 1:
        shown.append(line(muted(f"the first of {len(session.parts)} parts")))
    return shown
