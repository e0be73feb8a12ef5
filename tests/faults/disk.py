"""A disk that is full, broken or late, and the record of one life on it."""

from __future__ import annotations

import asyncio
import errno
import os
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import NamedTuple

from probetui.cli.printing import NoteLevel, Notes
from probetui.cli.session.outputs import _ReportingRecorder
from probetui.cli.session.recording import make_header
from probetui.drive.session import Session
from probetui.engine.inputs import Input
from probetui.headless.follow import Follower
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.output_files import OutputFile
from probetui.record.format import RecordContext
from probetui.record.writer import (
    FLUSH_SECONDS,
    RECORD_KIND,
    SUFFIX,
    CompressedRecordWriter,
    Recorder,
    RecordWriter,
)
from tests.builders import START
from tests.faults.fates import Schedule
from tests.faults.places import Places
from tests.faults.world import LoopClock

LATEST_WRITE_SECONDS = FLUSH_SECONDS + 0.1
"""What happened so long before is on the disk: a flush, and a notice."""

_ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT)


class Disk(NamedTuple):
    """What goes wrong on the disk of a world, how often it did, and where we end."""

    random: Random
    clock: LoopClock
    schedule: Schedule
    counts: Counter[str]
    places: Places

    def meets(self, chance: float, what: str) -> bool:
        """Return whether a fault of some chance happens now."""
        if self.random.random() >= chance:
            return False
        if not self.schedule.allows(f"disk: {what}", self.clock.now()):
            return False
        self.counts[f"disk: {what}"] += 1
        return True


class FaultyFile(OutputFile):
    """An output whose writes may be short or fail, as may its cutting and closing.

    Attributes:
        was_killed: it ended with us.
        has_refused: an error was answered.
        failed_at: up to when everything is in it, None for all.
    """

    def __init__(self, path: Path, disk: Disk) -> None:
        super().__init__(path, RECORD_KIND)
        self._disk = disk
        self._is_dead = False
        self.was_killed = False
        self._last_size = 0
        self.has_refused = False
        self.failed_at: datetime | None = None

    def write(self, data: bytes) -> int:
        if self._is_dead:
            return len(data)
        self._last_size = os.fstat(self._descriptor).st_size
        if self._disk.meets(0.003, "write failed"):  # some lives
            self._fail()
        # A signal came, or little space is left.
        if self._disk.meets(0.03, "short write"):
            return super().write(data[: self._disk.random.randint(1, len(data))])
        if self._disk.places.are_counted:
            return self._write_part_by_part(data)
        return super().write(data)

    def _write_part_by_part(self, data: bytes) -> int:
        half = len(data) // 2
        for place, part in (("amid", data[:half]), ("after", data[half:])):
            super().write(part)
            if self._disk.places.end_here(f"{place} a write"):
                self.kill()
                break
        return len(data)

    def take_back(self, count: int) -> None:
        if self._is_dead:
            return
        if count and self._disk.meets(0.3, "cut failed"):
            self._fail()
        super().take_back(count)

    def close(self) -> None:
        if self._is_dead:
            return
        self._is_dead = True
        super().close()
        if self._disk.meets(0.05, "close failed"):  # as on NFS, which tells late
            self._fail()

    def kill(self) -> None:
        """End with the process, or with the machine, which loses the latest writes."""
        if self._is_dead:
            return
        self._is_dead = self.was_killed = True
        size = os.fstat(self._descriptor).st_size
        # Of what a machine had not written, its size may have been.
        if size > self._last_size and self._disk.meets(0.2, "torn"):
            self._end_at(self._disk.random.randint(self._last_size, size))
        elif self._disk.meets(0.1, "tail lost"):
            self._end_at(self._disk.random.randint(0, size))
        elif self._disk.meets(0.1, "tail empty"):
            self._end_at(self._disk.random.randint(0, size))
            os.ftruncate(self._descriptor, size)
        super().close()

    def _end_at(self, size: int) -> None:
        # Nothing is promised of what a machine had not written.
        self.failed_at = START
        os.ftruncate(self._descriptor, size)

    def _fail(self) -> None:
        self.has_refused = True
        self.failed_at = self.failed_at or _written_until(self._disk.clock)
        number = self._disk.random.choice(_ERRORS)
        raise OSError(number, os.strerror(number))


def _written_until(clock: LoopClock) -> datetime:
    """Return up to when everything is on the disk; a suspended machine writes none."""
    return clock.after(asyncio.get_running_loop().time() - LATEST_WRITE_SECONDS)


class RecordedLife:
    """The record of a life of probetui, made as a session makes it.

    Args:
        path: the file; compressed if it is named so.
        disk: where it is.
        config: the kubelet's settings.
        pods: those of the session.
        observed: it is a life of `watch`.

    Attributes:
        began_at: when it began.
        notes: what was said of it.
        ended: it was closed as at the end of a session.
    """

    def __init__(
        self,
        path: Path,
        disk: Disk,
        config: KubeletConfig,
        pods: Sequence[Pod],
        *,
        observed: bool = False,
    ) -> None:
        self.path = path
        self._clock = disk.clock
        self.file = FaultyFile(path, disk)
        is_packed = path.name.endswith(SUFFIX)
        kind = CompressedRecordWriter if is_packed else RecordWriter
        self.began_at = disk.clock.now()
        context = RecordContext(self.began_at, {pod.uid: pod for pod in pods})
        self.recorder = Recorder(kind(self.file, str(path), owned=True), context)
        self.notes: list[str] = []
        notes = Notes(quiet=False, show=lambda _level, text: self.notes.append(text))
        self._sink = _ReportingRecorder(
            self.recorder, notes, NoteLevel.WARNING, "recording stopped"
        )
        self.ended = False
        self.sound_until = START
        """Until when everything is to be in the file."""
        self.recorder.begin(
            make_header((), "faulty", config, {}, show_secrets=False, observed=observed)
        )

    def follow(self, session: Session) -> None:
        """Record the journal of a session."""
        self._session = session
        self.follower = Follower(session, [self._sink], ends_with_pods=False)
        self.follower.__enter__()

    def on_input(self, item: Input | None, now: datetime) -> None:
        """Record an input of the engine."""
        self.recorder.note_input(item, now, len(self._session.journal))

    def kill(self) -> None:
        """End it with our process."""
        self.file.kill()
        self._judge()

    def end(self) -> None:
        """End it as a session does."""
        self.follower.__exit__(None, None, None)
        self.recorder.end("left", 0, self._clock.now())
        self._sink.report_problem()
        self.ended = not self.file.was_killed
        self._judge()

    def _judge(self) -> None:
        self.sound_until = self.file.failed_at or _written_until(self._clock)
