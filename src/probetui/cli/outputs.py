"""Where the entries of a session go, apart from the screen: lines, records, notes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from probetui.cli.autosave import open_autosave, sessions_folder
from probetui.cli.collected_errors import CollectedErrors
from probetui.cli.files import STDOUT
from probetui.cli.notes import Notes
from probetui.cli.plan import Plan, Stdout
from probetui.cli.recording import header, open_writer, recorder
from probetui.cli.roster import Roster
from probetui.cli.terminal import Form
from probetui.drive.compressed_records import SUFFIX
from probetui.drive.masking import Mask
from probetui.drive.record_writer import Recorder, RecordWriter
from probetui.errors import RecordError
from probetui.headless.follow import Sink
from probetui.headless.output import LinePrinter, NoteTeller, Selected
from probetui.headless.verdict import Verdict
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.inputs import Input
from probetui.kubelet.journal import Entry
from probetui.untrusted_files import open_output


class Outputs:
    """Takes a session's journal, and what went into its engine, where they are wanted.

    Args:
        plan: what was asked for.
        roster: the pods, as they come and go.
        mask: what is not to be shown.
        started_at: when the session began.
        goes_back: whether it may go back in time.
    """

    def __init__(
        self,
        plan: Plan,
        roster: Roster,
        mask: Mask,
        started_at: datetime,
        *,
        goes_back: bool = False,
    ) -> None:
        self._goes_back = goes_back
        self._plan = plan
        self._roster = roster
        self._mask = mask
        self._started_at = started_at
        self._recorders: list[Recorder] = []
        self._whole: list[Recorder] = []
        self._writers: list[RecordWriter] = []
        self._printer: LinePrinter | None = None
        self._saved: RecordWriter | None = None

    def saver(self, drain: Callable[[], None]) -> Callable[[], str] | None:
        """Return what keeps the record so far in a file of its own, and names that.

        None where nothing is recorded.

        Args:
            drain: lets everything be recorded that has happened.
        """
        saved = self._saved
        if saved is None:
            return None

        def save() -> str:
            drain()
            saved.flush()
            return str(_copy(Path(saved.name), Path.cwd()))

        return save

    def open(self, runtime_name: str, config: KubeletConfig) -> list[Sink]:
        """Return where entries go; records get their header.

        Raises:
            RecordError: there is no room even for the header of one asked for.
        """
        plan, options = self._plan, self._plan.options
        sinks: list[Sink] = []
        # Records first: what has been said has been saved.
        if options.autosave and (saved := self._open_autosave()) is not None:
            sinks.append(self._record(saved, runtime_name, config, is_asked_for=False))
            self._saved = saved
        if plan.record is not None:
            sinks.append(self._record(plan.record, runtime_name, config))
            self._saved = self._saved or plan.record
        if plan.stdout is Stdout.RECORDS:
            sinks.append(self._record(open_writer(STDOUT), runtime_name, config))
        if plan.stdout is Stdout.SELECTED_RECORDS:
            sink = self._record(
                open_writer(STDOUT),
                runtime_name,
                config,
                is_whole=plan.selection.is_everything,
            )
            sinks.append(Selected(sink, plan.selection))
        if plan.stdout is Stdout.LINES:
            lines = self._print_lines(acts=config.kills)
            sinks.append(Selected(lines, plan.selection))
        if plan.form is Form.LINES:
            sinks.append(NoteTeller(self._tell))
        return sinks

    def __enter__(self) -> Self:
        """Let entries come."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let everything be in the records that came, also where a bug ends it."""
        errors = CollectedErrors()
        for writer in self._writers:
            with errors.caught():
                writer.flush()
        errors.raise_first()

    def hear(self, item: Input | None, now: datetime, sequence: int) -> None:
        """Take note of what the engine is about to be given; None is only time."""
        for each in self._whole:
            each.hear(item, now, sequence)

    def rewind(self, kept: Sequence[Entry], inputs: int, at: datetime) -> None:
        """Take back all but some entries and inputs."""
        for each in self._whole:
            each.rewind(kept, inputs, at)

    def close(self, verdict: Verdict, now: datetime) -> None:
        """Write what is left, and why the session is over."""
        errors = CollectedErrors()
        with errors.caught(), suppress(BrokenPipeError):
            if self._printer is not None:
                self._printer.finish(now)
        for recording in self._recorders:
            with errors.caught(), suppress(BrokenPipeError):
                recording.end(verdict.reason, verdict.exit_status, now)
        errors.raise_first()

    def _open_autosave(self) -> RecordWriter | None:
        return open_autosave(sessions_folder(), self._plan.options.autosave_limit)

    def _print_lines(self, *, acts: bool) -> Sink:
        # Late: the screen has words of its own.
        from probetui.presentation.lines import PlainLines  # noqa: PLC0415

        options = self._plan.options
        lines = PlainLines(
            started_at=self._started_at if options.since_start else None,
            is_verbose=options.verbose,
            mask=self._mask,
            acts=acts,
        )
        self._roster.tell(lines.know)
        stream = sys.stdout
        self._printer = LinePrinter(lines, stream.buffer, stream.encoding)
        return self._printer

    def _record(
        self,
        writer: RecordWriter,
        runtime_name: str,
        config: KubeletConfig,
        *,
        is_whole: bool = True,
        is_asked_for: bool = True,
    ) -> Sink:
        plan = self._plan
        recording = recorder(
            writer,
            plan.pods,
            self._started_at,
            self._mask,
            keeps_secrets=plan.options.show_secrets,
            goes_back=self._goes_back,
        )
        self._roster.tell(recording.know)
        recording.begin(
            header(
                plan.loaded,
                runtime_name,
                config,
                plan.arguments,
                show_secrets=plan.options.show_secrets,
                objects=plan.objects,
            )
        )
        if is_asked_for and recording.problem:
            raise RecordError(f"--record {recording.problem}")
        self._recorders.append(recording)
        self._writers.append(writer)
        if is_whole:
            self._whole.append(recording)
        return _Recording(recording, plan.notes) if is_asked_for else recording

    def _tell(self, text: str, is_fault: bool) -> None:  # noqa: FBT001  # a callback
        notes = self._plan.notes
        (notes.warning if is_fault else notes.note)(text)


def _copy(path: Path, folder: Path) -> Path:
    """Copy a record to a new name in a folder.

    Raises:
        RecordError: it cannot be written.
    """
    suffix = ".jsonl.gz" if path.name.endswith(SUFFIX) else ".jsonl"
    for number in count(1):
        target = folder / f"probetui-session-{number}{suffix}"
        try:
            descriptor = open_output(target, os.O_CREAT | os.O_EXCL)
            with os.fdopen(descriptor, "wb") as copy, path.open("rb") as source:
                shutil.copyfileobj(source, copy)
        except FileExistsError:  # also a link to nowhere, which is not followed
            continue
        except OSError as error:
            raise RecordError(f"{target}: {error.strerror or error}") from error
        return target
    raise AssertionError("numbers do not end")


class _Recording:
    """A sink that records, and says once when that has stopped."""

    def __init__(self, recorder: Recorder, notes: Notes) -> None:
        self._recorder = recorder
        self._notes = notes
        self._is_told = False

    def take(self, entries: Sequence[Entry]) -> None:
        """Record entries."""
        self._recorder.take(entries)
        if self._recorder.problem and not self._is_told:
            self._is_told = True
            self._notes.warning(
                f"nothing is recorded any more: {self._recorder.problem}"
            )
