"""`probetui export`: a record as a file of another viewer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, timedelta
from itertools import islice
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from probetui.cli.parameters import Cells
from probetui.cli.printing import Notes
from probetui.cli.session.autosave import last_session_to_play
from probetui.cli.session.playback import replay_source
from probetui.drive.playback.replay import ReplaySource
from probetui.drive.playback.still import StillSession
from probetui.errors import UsageError
from probetui.output_files import OutputFile, OutputKind
from probetui.presentation.trace_events import BEGINNING, TracedSession, trace_text
from probetui.record.reader import RecordingFile, read_recording
from probetui.tui.app import ProbetuiApp
from probetui.tui.asciicast import CastHeader, cast_lines, frames_of
from probetui.tui.host_services import HostServices
from probetui.tui.options import ScreenOptions

if TYPE_CHECKING:
    from probetui.cli.commands.exports import ExportOptions

_PARTS_AT_ONCE = 1_000
_FRAME_SECONDS = 0.25
_USUAL_SECONDS = 60.0
_USUAL_SIZE = Cells(100, 30)
_MOST_SECONDS = 1_200.0
_COMMAND = "probetui export --asciicast"


def _is_trace(head: bytes) -> bool:
    return head.startswith(BEGINNING.encode())


_TRACE_KIND = OutputKind("a trace of `probetui export`", _is_trace)


def _is_cast(head: bytes) -> bool:
    first_line = head.partition(b"\n")[0]
    return b'{"version": 2, ' in first_line and _COMMAND.encode() in first_line


_CAST_KIND = OutputKind("a cast of `probetui export`", _is_cast)


def write_export(record: Path | None, options: ExportOptions) -> int:
    """Write a record in another format; return the exit status, which is 0.

    Raises:
        UsageError: the file or its format is not named, or it cannot be written.
        RecordError: the record cannot be read.
    """
    if options.output is None:
        raise UsageError("-o: name the file to write")
    if options.perfetto == options.asciicast:
        raise UsageError("name one format: --perfetto or --asciicast")
    if options.perfetto and (options.size, options.speed) != (None, None):
        raise UsageError("--size and --speed are of a cast: leave them out")
    notes = Notes(quiet=options.quiet)
    path = record or last_session_to_play()
    try:
        if options.perfetto:
            trace = _trace(path, notes, options)
            size = _write(options.output, _TRACE_KIND, trace)
        else:
            source = replay_source(RecordingFile(path, options.record_limit))
            lines = _cast(source, path.name, options)
            size = asyncio.run(_write_cast(options.output, lines))
            if source.note:
                notes.warning(f"{path}: {source.note}")
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


def _cast(
    source: ReplaySource, name: str, options: ExportOptions
) -> AsyncIterator[str]:
    """Return the lines of a cast: a replay on a screen that nobody sees.

    Raises:
        UsageError: the cast would be too long.
    """
    seconds = 0.0
    if source.end is not None:
        seconds = (source.end - source.now).total_seconds()
    speed = options.speed or max(seconds / _USUAL_SECONDS, 1.0)
    if seconds / speed > _MOST_SECONDS:
        raise UsageError(
            f"--speed {speed:g}: the cast would last longer than 20 minutes; take "
            f"{ceil(seconds / _MOST_SECONDS)} or more"
        )
    session = StillSession(source, name, speed)
    session.run_for(timedelta())
    length = timedelta(seconds=_FRAME_SECONDS * speed)
    app = ProbetuiApp(
        session,
        options=ScreenOptions(lanes=True, motion=False, read_only=True, zone=UTC),
        host=HostServices(),
    )
    count = ceil(seconds / speed / _FRAME_SECONDS) + 1
    size = options.size or _USUAL_SIZE
    frames = frames_of(app, size, count, lambda: session.run_for(length))
    header = CastHeader(size, f"probetui replay {name}", _COMMAND)
    return cast_lines(header, frames, _FRAME_SECONDS)


async def _write_cast(path: Path, lines: AsyncIterator[str]) -> int:
    """Write a cast as its frames are drawn; return its bytes.

    Raises:
        OSError: the file must not be replaced, or the system refuses.
    """
    size = 0
    with _written(path, _CAST_KIND) as write:
        async for line in lines:
            size += write(line)
    return size


def _write(path: Path, kind: OutputKind, parts: Iterable[str]) -> int:
    """Write the parts of a file as they come; return their bytes.

    Raises:
        OSError: the file must not be replaced, or the system refuses.
    """
    left = iter(parts)
    size = 0
    with _written(path, kind) as write:
        while text := "".join(islice(left, _PARTS_AT_ONCE)):
            size += write(text)
    return size


@contextmanager
def _written(path: Path, kind: OutputKind) -> Iterator[Callable[[str], int]]:
    """Open a file; give what writes a text to it and returns how many bytes that took.

    Raises:
        OSError: the file must not be replaced, or the system refuses.
    """
    file = OutputFile(path, kind)

    def write(text: str) -> int:
        data = left = text.encode("ascii")
        while left:
            left = left[file.write(left) :]
        return len(data)

    try:
        yield write
    finally:
        file.close()
