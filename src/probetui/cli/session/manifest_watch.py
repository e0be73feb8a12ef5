"""Manifests that are followed: `--watch`, the files of static pods, and URLs."""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from watchfiles import awatch

from probetui.cli.files import SourceReader, UrlPoll
from probetui.cli.printing import NoteLevel
from probetui.cli.session.parts import ReportMessage, SessionPart, SessionScope
from probetui.cli.session.pod_registry import DesiredState
from probetui.errors import ManifestError, UsageError
from probetui.manifest.problem import Problem
from probetui.ports import Clock

POLL_SECONDS = 20
"""The kubelet reads its static pods this often, notified or not, and its URL.

Source: apis/config/v1beta1/defaults.go, v1.32.10, FileCheckFrequency,
HTTPCheckFrequency.
"""

GATHER_MILLISECONDS = 200
"""Changes within this time are one: editors write a file in several steps."""


class FollowedManifests(SessionPart):
    """Follows the manifests of a session while that runs.

    Args:
        reader: what read them.
        paths: the files and folders to watch.
        scope: the session.
    """

    def __init__(
        self, reader: SourceReader, paths: Sequence[Path], scope: SessionScope
    ) -> None:
        self._reader = reader
        self._paths = paths
        self._clock = scope.clock
        plan = scope.plan
        only_static = not plan.options.watch
        self._watch = ManifestWatch(
            partial(plan.reload, only_static=only_static, may_be_empty=True),
            scope.pod_registry.on_manifests,
            scope.report,
            plan.manifests.warnings,
        )

    def tasks(self) -> Iterable[Coroutine[Any, Any, None]]:
        """Yield what watches files and polls URLs."""
        if self._paths:
            yield self._watch.watch_files(self._paths)
        if self._reader.has_urls:
            yield self._watch.poll_urls(
                self._reader.poll, self._clock, self._reader.unread
            )


class ManifestWatch:
    """Reloads manifests whenever they change, and applies them.

    Invalid files are reported, and change nothing until they are valid.

    Difference: a kubelet leaves out a file that is invalid, and goes by the others.

    Args:
        reload: reads them all; that no pod is left is no error.
        apply: applies what they ask for.
        report: shows problems, and that there are none any more.
        warned: the warnings about the manifests that the user has seen.
    """

    def __init__(
        self,
        reload: Callable[[], DesiredState],
        apply: Callable[[DesiredState], None],
        report: ReportMessage,
        warned: Iterable[Problem] = (),
    ) -> None:
        self._reload_manifests = reload
        self._apply = apply
        self._report = report
        self._reported: tuple[str, ...] = ()
        self._warned = _identities(warned)

    async def watch_files(self, paths: Iterable[Path]) -> None:
        """Reload whenever one of these files and folders changes, until cancelled."""
        async for _ in awatch(
            *{_watched(path) for path in paths},
            step=GATHER_MILLISECONDS,
            rust_timeout=POLL_SECONDS * 1000,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            self._reload()

    async def poll_urls(
        self,
        poll: Callable[[], Awaitable[UrlPoll]],
        clock: Clock,
        failing: Mapping[str, str],
    ) -> None:
        """Reload whenever a URL gives something else, until cancelled.

        What is wrong with a URL is reported once, and that it answers again; `failing`
        has what was reported before.
        """
        failing = dict(failing)
        while True:
            await clock.sleep_until(clock.now() + timedelta(seconds=POLL_SECONDS))
            polled = await poll()
            for url, problem in polled.problems.items():
                if failing.get(url) != problem:
                    self._report(
                        f"{problem}; its pods run on as they are", level=NoteLevel.ERROR
                    )
            for problem in (failing[url] for url in failing.keys() - polled.problems):
                self._report(f"read again, after: {problem}", level=NoteLevel.NOTE)
            failing = dict(polled.problems)
            if polled.has_changed:
                self._reload()

    def _reload(self) -> None:
        problems: tuple[str, ...] = ()
        try:
            desired = self._reload_manifests()
            self._apply(desired)
            # Afterwards: a warning names its pod, which may be new.
            self._warn(desired)
        except (ManifestError, UsageError) as error:
            problems = getattr(error, "problems", (str(error),))
        if problems != self._reported:
            for problem in problems:
                self._report(problem, level=NoteLevel.ERROR)
            if problems:
                self._report(
                    "the pods run on as they were before this change",
                    level=NoteLevel.NOTE,
                )
            else:
                self._report("the manifests are valid again", level=NoteLevel.NOTE)
        self._reported = problems

    def _warn(self, desired: DesiredState) -> None:
        """Report the warnings that the manifests had not before this change."""
        for problem in desired.warnings:
            if not _identities([problem]) <= self._warned:
                self._report(
                    str(problem),
                    level=NoteLevel.WARNING,
                    pod_uid=desired.warned.get(problem, ""),
                )
        self._warned = _identities(desired.warnings)


def _identities(problems: Iterable[Problem]) -> frozenset[tuple[str, str, str]]:
    """Return what tells problems apart; a line may move without being changed."""
    return frozenset(
        (problem.file, problem.path, problem.message) for problem in problems
    )


def _watched(path: Path) -> Path:
    """Return the folder to watch: a file may be replaced by another one."""
    return path if path.is_dir() else path.parent
