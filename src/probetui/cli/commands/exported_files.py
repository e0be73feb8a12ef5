"""`probetui export`: a record as a file of another viewer."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from probetui.cli.printing import Notes
from probetui.cli.session.autosave import last_session_to_play
from probetui.errors import UsageError
from probetui.output_files import OutputFile, OutputKind
from probetui.presentation.trace_events import BEGINNING, TracedSession, trace_text
from probetui.record.reader import read_recording

if TYPE_CHECKING:
    from probetui.cli.commands.exports import ExportOptions

_PARTS_AT_ONCE = 1_000


def _is_trace(head: bytes) -> bool:
    return head.startswith(BEGINNING.encode())


_TRACE_KIND = OutputKind("a trace of `probetui export`", _is_trace)


def write_export(record: Path | None, options: ExportOptions) -> int:
    """Write a record in another format; return the exit status, which is 0.

    Raises:
        UsageError: the file or its format is not named, or it cannot be written.
        RecordError: the record cannot be read.
    """
    if options.output is None:
        raise UsageError("-o: name the file to write")
    if not options.perfetto:
        raise UsageError("name the format: --perfetto")
    notes = Notes(quiet=options.quiet)
    path = record or last_session_to_play()
    trace = _trace(path, notes, options)
    try:
        size = _write(options.output, _TRACE_KIND, trace)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"-o {options.output}: {reason}") from error
    notes.note(f"{options.output}: {size / 1000:,.0f} kB")
    return 0


def _trace(path: Path, notes: Notes, options: ExportOptions) -> Iterable[str]:
    recording = read_recording(path, options.record_limit)
    if recording.problem:
        notes.warning(f"{path}: {recording.problem}")
    return trace_text(
        TracedSession(
            recording.started_at,
            recording.ended_at,
            recording.entries,
            recording.pods,
        )
    )


def _write(path: Path, kind: OutputKind, parts: Iterable[str]) -> int:
    """Write the parts of a file as they come; return their bytes.

    Raises:
        OSError: the file must not be replaced, or the system refuses.
    """
    file = OutputFile(path, kind)
    size = 0
    try:
        left = iter(parts)
        while data := "".join(islice(left, _PARTS_AT_ONCE)).encode("ascii"):
            size += len(data)
            while data:
                data = data[file.write(data) :]
    finally:
        file.close()
    return size
