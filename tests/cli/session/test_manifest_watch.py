"""Manifests that change while their pods run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from probetui.cli.files import UrlPoll
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.printing import NoteLevel
from probetui.cli.session.manifest_watch import ManifestWatch, _watched
from probetui.cli.session.pod_registry import DesiredState
from probetui.errors import ManifestError, NothingToDoError
from tests.builders import START

PATIENCE_SECONDS = 20
POLL = timedelta(seconds=20)

MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
  - {{name: app, image: busybox, livenessProbe: {{exec: {{command: [ls]}}}}}}
"""


class Reports:
    """Collects reported messages with their levels."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, NoteLevel]] = []
        self.pod_uids: list[str] = []

    def __call__(self, text: str, *, level: NoteLevel, pod_uid: str = "") -> None:
        self.messages.append((text, level))
        self.pod_uids.append(pod_uid)


class Watched:
    """A watched folder, and the names of the pods after every reading."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.readings: asyncio.Queue[list[str]] = asyncio.Queue()
        self.report = Reports()

    def change(self, wanted: DesiredState) -> None:
        self.readings.put_nowait([pod.name for pod in wanted.pods])

    def reload(self) -> DesiredState:
        try:
            manifests = load_pods(ManifestOptions(filenames=(str(self.folder),)))
            return DesiredState(
                manifests.pods, warnings=manifests.warnings, warned=manifests.warned
            )
        except NothingToDoError:
            return DesiredState()

    async def until(self, expected: list[str]) -> None:
        """Wait for a reading; one change may cause several readings."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.readings.get() != expected:
                pass

    def write(self, name: str) -> None:
        path = self.folder / f"{name}.yaml"
        path.write_text(MANIFEST.format(name=name), encoding="utf-8")


async def watching(
    watched: Watched, scenario: Callable[[], object], expected: list[str]
) -> None:
    """Watch the folder, repeat a change until it is noticed, and wait for a reading."""
    watch = ManifestWatch(watched.reload, watched.change, watched.report)
    task = asyncio.create_task(watch.watch_files([watched.folder]))
    try:
        # The first change may happen before the watch has started.
        while watched.readings.empty():
            watched.write("first")
            await asyncio.wait({task}, timeout=0.3)
        scenario()
        await watched.until(expected)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_new_file_adds_its_pod(tmp_path: Path) -> None:
    watched = Watched(tmp_path)

    await watching(watched, lambda: watched.write("second"), ["first", "second"])


async def test_a_removed_file_removes_its_pod(tmp_path: Path) -> None:
    watched = Watched(tmp_path)

    await watching(watched, (tmp_path / "first.yaml").unlink, [])


async def test_invalid_files_are_reported_and_change_nothing(
    tmp_path: Path,
) -> None:
    watched = Watched(tmp_path)

    def break_and_mend() -> None:
        (tmp_path / "bad.yaml").write_text("kind: [", encoding="utf-8")
        asyncio.get_running_loop().call_later(1, watched.write, "third")
        asyncio.get_running_loop().call_later(2, (tmp_path / "bad.yaml").unlink)

    await watching(watched, break_and_mend, ["first", "third"])

    (problem, level), run_on, valid = watched.report.messages
    assert "bad.yaml:2:1: did not find" in problem
    assert level is NoteLevel.ERROR
    assert run_on == ("the pods run on as they were before this change", NoteLevel.NOTE)
    assert valid == ("the manifests are valid again", NoteLevel.NOTE)


async def test_a_warning_is_reported_once_however_its_line_moves(
    tmp_path: Path,
) -> None:
    watched = Watched(tmp_path)
    typo = MANIFEST.format(name="typo").replace("app,", "app, livenesProbe: {},")

    def write_and_move() -> None:
        (tmp_path / "typo.yaml").write_text(typo, encoding="utf-8")
        asyncio.get_running_loop().call_later(1, watched.write, "third")
        asyncio.get_running_loop().call_later(
            1, (tmp_path / "typo.yaml").write_text, f"# moved\n{typo}"
        )

    await watching(watched, write_and_move, ["first", "third", "typo"])

    unknown = [
        message for message in watched.report.messages if "livenesProbe" in message[0]
    ]
    ((text, level),) = unknown
    assert level is NoteLevel.WARNING
    assert text == (
        f"{tmp_path}/typo.yaml:6:17: spec.containers[0].livenesProbe: unknown field "
        '"livenesProbe" (did you mean "livenessProbe"?)'
    )


async def test_what_was_printed_before_the_start_is_not_reported_again(
    tmp_path: Path,
) -> None:
    watched = Watched(tmp_path)
    typo = MANIFEST.format(name="typo").replace("app,", "app, livenesProbe: {},")
    (tmp_path / "typo.yaml").write_text(typo, encoding="utf-8")
    printed = watched.reload().warnings
    watch = ManifestWatch(watched.reload, watched.change, watched.report, printed)

    watch._reload()

    assert printed
    assert watched.report.messages == []


def test_a_warning_after_a_change_is_about_its_pod(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watch = ManifestWatch(watched.reload, watched.change, watched.report)
    typo = MANIFEST.format(name="typo").replace("app,", "app, livenesProbe: {},")
    (tmp_path / "typo.yaml").write_text(typo, encoding="utf-8")
    (pod,) = watched.reload().pods

    watch._reload()

    assert watched.report.pod_uids == [pod.uid]


def test_a_file_that_is_replaced_is_watched_in_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"

    assert _watched(path) == tmp_path
    assert _watched(tmp_path) == tmp_path


class PollClock:
    """A clock that jumps to every poll until the scripted answers are used up."""

    def __init__(self, polls: int) -> None:
        self._now = START
        self._left = polls

    def now(self) -> datetime:
        return self._now

    async def sleep_until(self, deadline: datetime) -> None:
        if not self._left:
            raise asyncio.CancelledError
        self._left -= 1
        self._now = deadline


class Polling(NamedTuple):
    """The instants of the polls, the number of applied changes, and the messages."""

    polled_at: list[datetime]
    applied: int
    reports: list[tuple[str, NoteLevel]]


async def polling(*answers: UrlPoll, failing: dict[str, str] | None = None) -> Polling:
    """Poll until no scripted answer is left."""
    clock = PollClock(len(answers))
    left = iter(answers)
    polled_at: list[datetime] = []
    applied: list[DesiredState] = []
    reports = Reports()

    async def poll() -> UrlPoll:
        polled_at.append(clock.now())
        return next(left)

    watch = ManifestWatch(DesiredState, applied.append, reports)
    with pytest.raises(asyncio.CancelledError):
        await watch.poll_urls(poll, clock, failing or {})
    return Polling(polled_at, len(applied), reports.messages)


SAME = UrlPoll(has_changed=False, problems={})
CHANGED = UrlPoll(has_changed=True, problems={})
FAILED = UrlPoll(has_changed=False, problems={"http://a": "http://a: 500 Oops"})


async def test_urls_are_polled_every_20_seconds_and_only_changes_are_applied() -> None:
    polled = await polling(SAME, CHANGED, SAME)

    assert polled.polled_at == [START + POLL, START + 2 * POLL, START + 3 * POLL]
    assert polled.applied == 1


async def test_a_failing_url_is_reported_once_and_so_is_its_recovery() -> None:
    polled = await polling(FAILED, FAILED, SAME, FAILED)

    assert polled.reports == [
        ("http://a: 500 Oops; its pods run on as they are", NoteLevel.ERROR),
        ("read again, after: http://a: 500 Oops", NoteLevel.NOTE),
        ("http://a: 500 Oops; its pods run on as they are", NoteLevel.ERROR),
    ]


async def test_a_problem_reported_at_the_start_is_not_reported_again() -> None:
    polled = await polling(FAILED, failing={"http://a": "http://a: 500 Oops"})

    assert polled.reports == []


async def test_a_url_that_gives_an_invalid_manifest_changes_nothing() -> None:
    def reload() -> DesiredState:
        raise ManifestError(["http://a:1:1: is no pod"])

    clock, applied = PollClock(1), list[DesiredState]()
    reports = Reports()
    watch = ManifestWatch(reload, applied.append, reports)

    async def poll() -> UrlPoll:
        return CHANGED

    with pytest.raises(asyncio.CancelledError):
        await watch.poll_urls(poll, clock, {})

    assert applied == []
    assert reports.messages[0] == ("http://a:1:1: is no pod", NoteLevel.ERROR)
