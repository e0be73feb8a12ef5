"""What `probetui sessions` and its subcommands do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.cli.printing import Notes, print_line
from probetui.cli.reports import emit
from probetui.cli.session.autosave import sessions_folder
from probetui.cli.session.saved_sessions import (
    SavedSession,
    SavedSummary,
    find_session,
    keep_session,
    remove_session,
    saved_sessions,
    summarize_session,
)
from probetui.durations import format_age
from probetui.errors import UsageError
from probetui.k8s.api.codec import format_time
from probetui.presentation.report import Part, Table
from probetui.presentation.text.cells import format_bytes

if TYPE_CHECKING:
    from probetui.cli.commands.saved import SavedSessionsOptions

_REFUSED = 1
_MOST_PODS = 3


class SessionsReport(Struct, frozen=True):
    """The saved sessions, and what each came to."""

    sessions: Sequence[tuple[SavedSession, SavedSummary]]
    has_headings: bool

    def value(self) -> list[dict[str, object]]:
        """Return what is known of each session."""
        return [_as_dict(*session) for session in self.sessions]

    def parts(self, form: str) -> Iterator[Part]:
        """Yield names, or a table with the files in the wide form."""
        if form == "name":
            yield from (f"session/{session.name}" for session, _ in self.sessions)
        else:
            rows = [_row(*session, is_wide=form == "wide") for session in self.sessions]
            yield Table(rows, self.has_headings)


def list_sessions(options: SavedSessionsOptions) -> int:
    """Print the saved sessions and return the exit status."""
    sessions = saved_sessions(sessions_folder())
    if not sessions:
        Notes(quiet=options.quiet).note(f"no session is saved in {sessions_folder()}")
    reads = options.output != "name"
    summed = [
        (
            session,
            summarize_session(session, options.record_limit)
            if reads
            else SavedSummary(),
        )
        for session in sessions
    ]
    emit(SessionsReport(summed, not options.no_headers), options.output)
    return 0


def path_to_open(name: str) -> Path:
    """Return the first file of a saved session.

    Raises:
        UsageError: there is none of that name.
    """
    return find_session(saved_sessions(sessions_folder()), name).parts[0]


def keep_sessions(names: Sequence[str]) -> int:
    """Keep sessions and return the exit status.

    Raises:
        UsageError: a name is that of none; none is kept then.
    """
    for session in _find_all(names):
        keep_session(session)
        print_line(f"kept {session.name}")
    return 0


def remove_sessions(names: Sequence[str]) -> int:
    """Remove sessions and return the exit status, 1 if one is left.

    Raises:
        UsageError: a name is that of none; none is removed then.
    """
    status = 0
    for session in _find_all(names):
        try:
            remove_session(session)
        except UsageError as error:
            Notes(quiet=False).error(str(error))
            status = _REFUSED
        else:
            print_line(f"removed {session.name}")
    return status


def _find_all(names: Sequence[str]) -> list[SavedSession]:
    saved = saved_sessions(sessions_folder())
    found = [find_session(saved, name) for name in names]
    return list({session.name: session for session in found}.values())


def _states(session: SavedSession) -> list[str]:
    states = {
        "last": session.is_last,
        "kept": session.is_kept,
        "running": session.is_running,
    }
    return [name for name, is_so in states.items() if is_so]


def _row(
    session: SavedSession, summary: SavedSummary, *, is_wide: bool
) -> dict[str, str]:
    shown, more = summary.pods[:_MOST_PODS], len(summary.pods) - _MOST_PODS
    pods = ", ".join(shown) + (f" +{more}" if more > 0 and not is_wide else "")
    row = {
        "NAME": session.name,
        "STARTED": f"{session.began.astimezone():%Y-%m-%d %H:%M}",
        "PODS": ", ".join(summary.pods) if is_wide else pods,
        "LENGTH": format_age(summary.length),
        "KILLS": str(summary.kills),
        "SIZE": format_bytes(session.size),
        "STATE": ", ".join(_states(session)),
    }
    if summary.problem:
        row |= {"PODS": "cannot be read", "LENGTH": "", "KILLS": ""}
    if is_wide:
        row["FILES"] = " ".join(map(str, session.parts))
    return row


def _as_dict(session: SavedSession, summary: SavedSummary) -> dict[str, object]:
    return {
        "name": session.name,
        "startedAt": format_time(session.began),
        "pods": list(summary.pods),
        "seconds": summary.length.total_seconds(),
        "kills": summary.kills,
        "bytes": session.size,
        "last": session.is_last,
        "kept": session.is_kept,
        "running": session.is_running,
        "files": [str(path) for path in session.parts],
        "problem": summary.problem,
    }
