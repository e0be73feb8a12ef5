"""`probetui fleet` on a terminal: the table as a screen, and why something happened."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from probetui.cli.commands.fleet_report import (
    FleetAnswer,
    FleetReader,
    FleetReport,
    FleetRow,
    OnProgress,
    fleet_cells,
)
from probetui.cli.commands.inspection import WhyOptions
from probetui.cli.commands.stored_past import named_container, past_record
from probetui.cli.commands.why_report import past_lines
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import ScreenChoices
from probetui.cli.printing import NoteLevel, Notes
from probetui.cli.session.appearance import load_appearance
from probetui.cli.session.screen import choose_colors
from probetui.cli.terminal import draws_unicode
from probetui.errors import ProbetuiError
from probetui.presentation.text.cells import one_line
from probetui.safe_text import safe_line
from probetui.tui.fleet_table import NAME, FleetApp, FleetContents, FleetEntry

if TYPE_CHECKING:
    from probetui.cli.commands.fleet import FleetOptions

_COLUMNS = (
    "KILLS",
    "RESTARTS",
    "NEAR MISSES",
    "NOT READY",
    "FAILURES",
    "ADVICE",
    "TIME-OUT USED",
    "START USED",
    "LAST END",
)
"""The columns beside the name, those first that stay where there is little room."""

_EXIT_STATUS = 128
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def show_fleet(
    reader: FleetReader, options: FleetOptions, notes: Notes
) -> FleetAnswer | int:
    """Show the containers until the user leaves; return what was read.

    The exit status stands for it where a signal or the user came first.

    Raises:
        ProbetuiError: the containers cannot be read.
    """
    screen = pick_options(ScreenChoices, options)
    looks = load_appearance(screen)
    choose_colors(screen)
    is_ascii = screen.ascii or not draws_unicode(sys.__stderr__)
    shown = _FleetOnScreen(reader, options, is_ascii=is_ascii)
    app = FleetApp(
        shown.read,
        shown.why,
        parts=reader.parts,
        is_ascii=is_ascii,
        theme=screen.theme,
        themes=looks.themes,
    )
    ended_by: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        ended_by.append(number)
        app.exit()

    async def run() -> Exception | None:
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.add_signal_handler(number, end, number)
        return await app.run_async(mouse=not screen.no_mouse)

    told: list[tuple[NoteLevel, str]] = []
    with notes.redirected(lambda level, text: told.append((level, text))):
        error = asyncio.run(run())
    for level, text in told:
        notes.show(level, text)
    if error is not None:
        raise error
    if ended_by:
        return _EXIT_STATUS + ended_by[0]
    return app.return_code or 0 if shown.answer is None else shown.answer


def _at(instant: float | None) -> str:
    if instant is None:
        return ""
    return f" at {datetime.fromtimestamp(instant, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


class _FleetOnScreen:
    """What is shown, once it has been read."""

    def __init__(
        self, reader: FleetReader, options: FleetOptions, *, is_ascii: bool
    ) -> None:
        self._reader, self._options, self._is_ascii = reader, options, is_ascii
        self._rows: Sequence[FleetRow] = ()
        self.answer: FleetAnswer | None = None

    async def read(self, on_progress: OnProgress) -> FleetContents:
        """Read the containers; raises `ProbetuiError`."""
        answer = await self._reader.read(on_progress)
        self.answer = answer
        report = FleetReport(
            answer.rows, answer.containers, (), has_headings=True, is_ascii=False
        )
        self._rows = report.rows
        return FleetContents(
            report.sentence if report.rows or answer.holes else answer.calm,
            answer.about,
            answer.holes,
            _COLUMNS,
            [self._entry(row) for row in report.rows],
        )

    def _entry(self, row: FleetRow) -> FleetEntry:
        cells = fleet_cells(row, is_ascii=self._is_ascii)
        name = "/".join(cells[part] for part in ("NAMESPACE", "POD", "CONTAINER"))
        numbers = (
            f"kills by probes {cells['KILLS']}",
            f"near misses {cells['NEAR MISSES']}",
            f"restarts {cells['RESTARTS']}",
            f"not ready {cells['NOT READY']}",
            f"last end {cells['LAST END']}{_at(row.stored.last_end.at)}",
        )
        details = [f"{name} of {cells['WORKLOAD']}", ", ".join(numbers)]
        if row.failures and any(row.failures):
            parts = len(row.failures)
            details.append(
                f"failures {cells['FAILURES']} at most {max(row.failures)} in a "
                f"{parts}th of the time"
            )
        if row.worst_at is not None:
            details.append(f"enter is why{_at(row.worst_at)}")
        least, most = row.bounds.probe_kills
        roles = {"FAILURES": "warning" if any(row.failures or ()) else "muted"}
        if most:
            roles["KILLS"] = "error" if least else "warning"
        details += [cells[part] for part in ("ADVICE", "DOUBTS") if cells[part]]
        return FleetEntry(
            {NAME: name, **{heading: cells[heading] for heading in _COLUMNS}},
            row.numbers,
            roles,
            f"{details[0]} {cells['ADVICE']} {cells['LAST END']}",
            details,
        )

    async def why(self, index: int) -> str:
        """Return what `why` says of a container at its worst instant."""
        row = self._rows[index]
        name = "/".join(row.stored.name._replace(uid="")).replace("//", "/")
        if row.worst_at is None:
            return (
                "A cluster does not keep when something happened.\n\n"
                f"`probetui watch {row.stored.name.pod} -n {row.stored.name.namespace}`"
                " shows it from now on; `probetui fleet --prometheus auto` asks the "
                "store of the cluster, if there is one."
            )
        try:
            lines = await asyncio.to_thread(self._why, name, row.worst_at)
        except ProbetuiError as error:
            return f"error: {safe_line(str(error), limit=None)}"
        return "\n".join(map(one_line, lines))

    def _why(self, name: str, at: float) -> list[str]:
        options = pick_options(WhyOptions, self._options).replace(
            at=datetime.fromtimestamp(at, UTC).isoformat(), quiet=True, output="text"
        )
        with past_record(named_container(name), options) as past:
            lines = past_lines(past, name, options.record_limit)
            if past.has_holes:
                lines += ["", "The store did not answer all; `probetui why` names what"]
            return lines
