"""Outputs of a session apart from the screen: plain lines, records, notes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Self

from msgspec.structs import replace

from probetui.cli.files import STDOUT
from probetui.cli.log import save_crash_report
from probetui.cli.printing import NoteLevel, Notes
from probetui.cli.session.autosave import open_autosave, sessions_folder
from probetui.cli.session.ending import CollectedErrors
from probetui.cli.session.plan import Plan, Stdout
from probetui.cli.session.pod_registry import PodRegistry
from probetui.cli.session.recording import make_header, open_writer
from probetui.cli.terminal import Form
from probetui.drive.session import Session
from probetui.engine.inputs import Input
from probetui.engine.snapshot import Snapshot
from probetui.errors import NothingToDoError, RecordError
from probetui.headless.follow import Follower, Sink
from probetui.headless.output import FilteredSink, LinePrinter, NoteForwarder
from probetui.headless.verdict import ANOTHER_LESSON, EXIT_BUG, Verdict
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import JournalEntry
from probetui.output_files import AppendedFile
from probetui.record.format import RecordContext
from probetui.record.masking import Mask
from probetui.record.writer import (
    LINES_KEPT,
    SUFFIX,
    CompressedRecordWriter,
    Recorder,
    RecordWriter,
)
from probetui.untrusted_files import open_output

_NOT_SAVED = "the session is not saved for replay"


class SessionOutputs:
    """Passes a session's journal, and the engine's inputs, to records and lines.

    Args:
        plan: what was asked for.
        pod_registry: the pods, as they change.
        mask: what is not to be shown.
        started_at: when the session began.
        goes_back: the session may go back in time, to any entry.
        is_observed: the inputs are what was seen of a cluster.
    """

    def __init__(
        self,
        plan: Plan,
        pod_registry: PodRegistry,
        mask: Mask,
        started_at: datetime,
        *,
        goes_back: bool = False,
        is_observed: bool = False,
    ) -> None:
        self._is_observed = is_observed
        self._goes_back = goes_back
        self._plan = plan
        self._pod_registry = pod_registry
        self._mask = mask
        self._started_at = started_at
        self._recorders: list[Recorder] = []
        self._reporting: list[_ReportingRecorder] = []
        self._whole: list[Recorder] = []
        self._writers: list[RecordWriter] = []
        self._printer: LinePrinter | None = None
        self._saved: RecordWriter | None = None
        self._reported: IO[bytes] | None = None
        self._acts = True
        self._left: tuple[Session, Snapshot, int] | None = None
        self._past: tuple[datetime, int] | None = None

    def saver(self, drain: Callable[[], None]) -> Callable[[], str] | None:
        """Return what copies the record so far to a new file, and returns its name.

        None if nothing is recorded.

        Args:
            drain: records everything that has happened.
        """
        record = self.record_so_far(drain)
        if record is None:
            return None
        return lambda: str(_copy_record(record(), Path.cwd()))

    def record_so_far(self, drain: Callable[[], None]) -> Callable[[], Path] | None:
        """Return what names the record with everything that has happened, or None.

        Args:
            drain: records everything that has happened.
        """
        saved = self._saved
        if saved is None:
            return None

        def record() -> Path:
            drain()
            saved.flush()
            return Path(saved.name)

        return record

    def open(self, runtime_name: str, config: KubeletConfig) -> list[Sink]:
        """Return the sinks of the journal; records get their header.

        Raises:
            RecordError: the header of `--record` cannot be written.
        """
        plan, options = self._plan, self._plan.options
        sinks: list[Sink] = []
        # Records first: what is printed has been saved.
        if options.autosave:
            try:
                saved = open_autosave(
                    sessions_folder(),
                    options.autosave_limit,
                    # What the user does is not displaced by a lesson.
                    becomes_last=not plan.is_lesson,
                )
            except RecordError as error:
                # The session runs all the same: nobody asked for the record.
                plan.notes.note(f"{_NOT_SAVED}: {error}")
            else:
                sinks.append(
                    self._record(saved, runtime_name, config, is_asked_for=False)
                )
                self._saved = saved
        if plan.record is not None:
            sinks.append(self._record(plan.record, runtime_name, config))
            self._saved = self._saved or plan.record
        if options.report is not None:
            # A file without a name: what is saved may be in parts.
            self._reported = TemporaryFile()  # noqa: SIM115  # closed at the end
            file = AppendedFile(self._reported.fileno())
            unnamed = CompressedRecordWriter(file, "--report", owned=False)
            sinks.append(self._record(unnamed, runtime_name, config))
        if plan.stdout is Stdout.RECORDS:
            sinks.append(self._record(open_writer(STDOUT), runtime_name, config))
        if plan.stdout is Stdout.SELECTED_RECORDS:
            sink = self._record(
                open_writer(STDOUT),
                runtime_name,
                config,
                is_whole=plan.selection.is_everything,
            )
            sinks.append(FilteredSink(sink, plan.selection))
        self._acts = config.kills
        return sinks + self._printing(plan)

    def replace_screen(self) -> list[Sink]:
        """Return the sinks that print what a screen that has ended would have shown."""
        self._plan = self._plan.without_screen()
        return self._printing(self._plan)

    def _printing(self, plan: Plan) -> list[Sink]:
        sinks: list[Sink] = []
        if plan.stdout is Stdout.LINES:
            lines = self._print_lines(acts=self._acts)
            sinks.append(FilteredSink(lines, plan.selection))
        if plan.form is not Form.SCREEN:
            sinks.append(NoteForwarder(self._print_note))
        return sinks

    def __enter__(self) -> Self:
        """Accept entries."""
        return self

    def __exit__(self, *_: object) -> None:
        """Flush the records, also when a bug ends the session."""
        errors = CollectedErrors()
        for writer in self._writers:
            with errors.caught():
                writer.flush()
        self._report_problems()
        errors.raise_first()

    def on_input(
        self, item: Input | dict[str, Any] | None, now: datetime, sequence: int
    ) -> None:
        """Record an input that the engine is about to get; None only passes time."""
        for recorder in self._whole:
            recorder.note_input(item, now, sequence)

    def rewind(self, kept: Sequence[JournalEntry], inputs: int, at: datetime) -> None:
        """Keep only some entries and inputs, because the session went back in time."""
        for recorder in self._whole:
            recorder.rewind(kept, inputs, at)

    def close(self, verdict: Verdict, now: datetime) -> None:
        """Write the last lines, and why the session ended."""
        errors = CollectedErrors()
        with errors.caught(), suppress(BrokenPipeError):
            if self._printer is not None:
                self._printer.finish(now)
        for recording in self._recorders:
            with errors.caught(), suppress(BrokenPipeError):
                recording.end(verdict.reason, verdict.exit_status, now)
        # The last lines may be the first that the disk did not take.
        self._report_problems()
        if self._reported is not None:
            with errors.caught(), self._reported:
                self._write_report(self._reported)
        if verdict.reason != ANOTHER_LESSON:
            with errors.caught():
                self._print_summary()
        errors.raise_first()

    def leave(self, session: Session, past: tuple[datetime, int] | None = None) -> None:
        """Keep how a session was when its screen was left: its pods end after that.

        `past` is when a past ended that it began with, and the number of its last
        entry.
        """
        self._past = past
        self._left = session, session.snapshot, len(session.journal)

    def _print_summary(self) -> None:
        """Print what a session came to, on the terminal that its screen has left."""
        is_quiet = self._plan.notes.is_quiet or self._plan.form is not Form.SCREEN
        if self._left is None or is_quiet:
            return
        # Late: it is needed once, at the end.
        from probetui.cli.session.leaving import print_summary

        session, snapshot, count = self._left
        record = self._plan.record or self._saved
        print_summary(
            snapshot,
            session.journal[:count],
            self._pod_registry.all_known,
            "" if record is None else record.name,
            self._mask,
            self._past,
        )

    def _write_report(self, record: IO[bytes]) -> None:
        target = self._plan.options.report
        assert target is not None  # noqa: S101  # the caller's condition
        # Late: few sessions have a report.
        from probetui.cli.commands.session_report import write_report

        record.seek(0)
        path = Path(f"/dev/fd/{record.fileno()}")
        try:
            write_report(path, target, sys.maxsize, source="this session")
        except NothingToDoError:
            self._plan.notes.note(f"no report in {target}: there was no container")

    def _report_problems(self) -> None:
        for sink in self._reporting:
            sink.report_problem()

    def _print_lines(self, *, acts: bool) -> Sink:
        options = self._plan.options
        # Late: the screen does not need it.
        from probetui.presentation.plain.lines import PlainLines

        lines = PlainLines(
            started_at=self._started_at if options.since_start else None,
            is_verbose=options.verbose,
            mask=self._mask,
            acts=acts,
            rules=self._plan.rules,
        )
        self._pod_registry.subscribe(lines.register_pods)
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
        context = RecordContext(
            started_at=self._started_at,
            pods={pod.uid: pod for pod in plan.pods},
            mask=self._mask,
        )
        recording = Recorder(
            writer,
            context,
            keeps_secrets=plan.options.show_secrets,
            lines_kept=None if self._goes_back else LINES_KEPT,
        )
        self._pod_registry.subscribe(recording.register_pods)
        recording.begin(
            make_header(
                plan.manifests.loaded,
                runtime_name,
                config,
                plan.arguments,
                show_secrets=plan.options.show_secrets,
                objects=plan.manifests.objects,
                observed=self._is_observed,
            )
        )
        if is_asked_for and recording.problem:
            raise RecordError(f"--record {recording.problem}")
        self._recorders.append(recording)
        self._writers.append(writer)
        if is_whole:
            self._whole.append(recording)
        if is_asked_for:
            sink = _ReportingRecorder(
                recording, plan.notes, NoteLevel.WARNING, "recording stopped"
            )
        else:
            sink = _ReportingRecorder(recording, plan.notes, NoteLevel.NOTE, _NOT_SAVED)
        self._reporting.append(sink)
        return sink

    def _print_note(self, text: str, is_fault: bool) -> None:  # noqa: FBT001  # a callback
        notes = self._plan.notes
        (notes.error if is_fault else notes.note)(text)


def _copy_record(path: Path, folder: Path) -> Path:
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
    raise AssertionError("unreachable: count() never ends")


class ScreenFault:
    """Keeps a session running in plain lines when a bug ends its screen.

    Args:
        session: what was shown.
        outputs: prints lines from then on.
        follower: passes them the session's journal.
        notes: reports what happened.
        on_lines: is called once lines take the place of the screen.
    """

    def __init__(
        self,
        session: Session,
        outputs: SessionOutputs,
        follower: Follower,
        notes: Notes,
        on_lines: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = session
        self._outputs = outputs
        self._follower = follower
        self._notes = notes
        self._on_lines = on_lines
        self._message = ""

    def replace_screen(self, bug: Exception) -> None:
        """Save the report of the bug and go on in plain lines."""
        report = save_crash_report(bug, sys.argv[1:])
        self._message = (
            f"a bug in probetui ended the screen ({type(bug).__name__}); please send "
            f"{report}"
        )
        self._notes.error(self._message)
        self._notes.note("the session goes on without the screen; ^C ends it")
        if self._session.snapshot.is_paused:
            self._notes.note("its probes stay paused")
        self._follower.add_sinks(self._outputs.replace_screen())
        self._on_lines()

    def judge(self, verdict: Verdict) -> Verdict:
        """Return the verdict of a session at its end, and name a bug once more."""
        if not self._message:
            return verdict
        self._notes.error(self._message)
        return replace(verdict, exit_status=EXIT_BUG)


class _ReportingRecorder:
    """A sink that records, and reports once that recording has stopped, and why.

    Args:
        recorder: writes the entries.
        notes: where it is reported.
        level: how much it matters.
        consequence: what this means for the record.
    """

    def __init__(
        self, recorder: Recorder, notes: Notes, level: NoteLevel, consequence: str
    ) -> None:
        self._recorder = recorder
        self._notes = notes
        self._level = level
        self._consequence = consequence
        self._has_reported = False

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Record entries."""
        self._recorder.consume(entries)
        self.report_problem()

    def report_problem(self) -> None:
        """Report once why recording has stopped, if it has."""
        if self._recorder.problem and not self._has_reported:
            self._has_reported = True
            self._notes.show(
                self._level, f"{self._consequence}: {self._recorder.problem}"
            )
