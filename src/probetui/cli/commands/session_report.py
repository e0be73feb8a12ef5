"""`probetui report`: the record of a session as a page, or as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from probetui.analysis.lanes import Lanes
from probetui.cli.commands.why_report import last_record, tell_recording
from probetui.cli.files import STDOUT
from probetui.cli.printing import print_line, print_text
from probetui.errors import RecordError
from probetui.output_files import OutputKind, check_output, replace_output
from probetui.presentation.page.report import (
    SessionReport,
    picture_beginning,
    report_page,
    report_picture,
)
from probetui.record.file import (
    RECORD_BYTES,
    is_report_beginning,
    record_lines,
)
from probetui.record.reader import read_recording
from probetui.record.report_file import pack_record

if TYPE_CHECKING:
    from probetui.cli.commands.inspection import ReportOptions

_DEFAULT = "report.html"
_PICTURE = ".svg"

_PAGE_KIND = OutputKind("a report of probetui", is_report_beginning)
_PICTURE_KIND = OutputKind(
    "a picture of probetui",
    lambda beginning: beginning.startswith(picture_beginning().encode()),
)


def print_session_report(record: Path | None, options: ReportOptions) -> int:
    """Write the report on a record and return the exit status, which is 0.

    Raises:
        RecordError: the record cannot be read, or the report not be written.
        NothingToDoError: there is no record, or no container in it.
    """
    target = options.output or _DEFAULT
    path = record or last_record()
    check_report_target(target)
    problem = write_report(path, target, options.record_limit)
    if problem:
        print_line(f"probetui: {path}: {problem}", err=True)
    return 0


def check_report_target(target: str, option: str = "") -> None:
    """Check that a report may be written to a file, before there is one.

    Args:
        target: the file.
        option: that names it, for the error.

    Raises:
        RecordError: it may not.
    """
    if target == STDOUT:
        return
    try:
        check_output(Path(target), _kind(target))
    except OSError as error:
        raise _not_written(f"{option} {target}".strip(), error) from error


def write_report(
    path: Path, target: str, most_bytes: int = RECORD_BYTES, *, source: str = ""
) -> str:
    """Write the report on a record, and return what of the record cannot be read.

    Args:
        path: the record.
        target: the file; a picture if its name ends in `.svg`.
        most_bytes: how large the record may be, unpacked.
        source: what the report calls the record; empty for the name of its file.

    Raises:
        RecordError: the record cannot be read, or the report not be written.
        NothingToDoError: the record has no container.
    """
    recording = read_recording(path, most_bytes)
    told = tell_recording(path, recording)
    lanes = Lanes()
    lanes.add_entries(recording.entries)
    report = SessionReport(
        told.containers,
        told.telling,
        told.past,
        lanes,
        [*told.pods.values()],
        told.view,
        told.started_with,
        [(manifest.name, manifest.text) for manifest in recording.session.manifests],
        source or path.name,
    )
    if target.endswith(_PICTURE):
        text = report_picture(report)
    else:
        text = report_page(report, pack_record(record_lines(path, most_bytes)))
    if target == STDOUT:
        print_text(text)
        return recording.problem
    try:
        replace_output(Path(target), _kind(target), text.encode())
    except OSError as error:
        raise _not_written(target, error) from error
    return recording.problem


def _kind(target: str) -> OutputKind:
    return _PICTURE_KIND if target.endswith(_PICTURE) else _PAGE_KIND


def _not_written(target: str, error: OSError) -> RecordError:
    return RecordError(f"{target}: {error.strerror or error}")
