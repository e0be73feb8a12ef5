"""The screen, put on a session and taken off again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from probetui.cli import collector
from probetui.cli.job_control import JobControl
from probetui.cli.lessons import Page
from probetui.cli.looks import Looks, read_looks
from probetui.cli.notes import Weight
from probetui.cli.plan import Plan
from probetui.cli.roster import Roster
from probetui.cli.session_options import ScreenChoices
from probetui.cli.shells import shells
from probetui.drive.masking import Mask
from probetui.drive.session import Disruptable, LogKeeper, Session
from probetui.headless.follow import Follower
from probetui.headless.verdict import DONE, Verdict
from probetui.presentation.changes import pod_changes
from probetui.tui import app
from probetui.tui.background import is_light_by_environment
from probetui.tui.options import ScreenOptions
from probetui.tui.outside import Lesson, ManifestCopy, Outside, Reread, Timings
from probetui.tui.themes import theme_on

_INTRO_SECONDS = 30
_SEVERITIES: dict[Weight, Literal["information", "warning", "error"]] = {
    Weight.NOTE: "information",
    Weight.WARNING: "warning",
    Weight.ERROR: "error",
}


class _App(app.ProbetuiApp):
    """The screen as part of this program: its bugs are the program's."""

    job_control: JobControl

    def on_ready(self) -> None:
        """Begin to collect garbage, now that there is something to see."""
        collector.settle()
        self.job_control.begin()

    def _fatal_error(self) -> None:
        """Leave; a report with the traceback is written once the screen is gone.

        Textual would print the traceback with all local variables, secrets included.
        """
        self._close_messages_no_wait()

    @property
    def bug(self) -> Exception | None:
        """What ended the screen, if it was not the user."""
        return self._exception


async def show_screen(
    plan: Plan,
    session: Session,
    follower: Follower,
    mask: Mask,
    save: Callable[[], str] | None = None,
    roster: Roster | None = None,
) -> Verdict:
    """Show a session until the user leaves or something else ends it.

    Args:
        plan: what was asked for.
        session: what is shown.
        follower: ends it.
        mask: what is not to be shown.
        save: keeps the session's record in a file of its own, and names that.
        roster: the pods that run, if they can be left or changed by manifests.
    """
    _choose_colors(plan.screen)
    looks = read_looks(plan.screen)
    outside = Outside(
        logs=session if isinstance(session, LogKeeper) else None,
        lesson=None if plan.page is None else _lesson(plan.page, follower),
        save=save,
        shell=None if session.playback is not None else shells(plan.runtime.reach),
        why_not=session.why_not if isinstance(session, Disruptable) else None,
        leaves_behind=_leaves_behind(plan, roster),
        reread=_rereading(plan, roster),
        copy_edited=_copying(plan),
    )
    options = _options(plan, looks)
    shown = _App(session, options=options, mask=mask, outside=outside)
    shown.job_control = JobControl()

    def tell(weight: Weight, text: str) -> None:
        shown.notify(text, severity=_SEVERITIES[weight], markup=False)

    if plan.intro and plan.page is None:
        shown.call_later(shown.notify, plan.intro, timeout=_INTRO_SECONDS, markup=False)
    # They were told before the screen, which covers them.
    for text in () if plan.host_notice is None else plan.host_notice.told:
        shown.call_later(
            shown.notify,
            text,
            severity="warning",
            timeout=_INTRO_SECONDS,
            markup=False,
        )
    for problem in looks.problems:
        shown.call_later(shown.notify, problem, severity="warning", markup=False)
    screen = asyncio.ensure_future(shown.run_async(mouse=not plan.screen.no_mouse))
    over = asyncio.ensure_future(follower.verdict(plan.options.timeout))
    with shown.job_control.ended(), plan.notes.diverted(tell):
        try:
            await asyncio.wait({screen, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            shown.exit()
            await screen
    if shown.bug is not None:
        raise shown.bug
    follower.end(Verdict("left", DONE))
    return await over


def _lesson(page: Page, follower: Follower) -> Lesson:
    """Return a lesson as the screen shows it."""

    def turn_page(steps: int) -> None:
        page.turned = steps
        follower.end(Verdict("another lesson", DONE))

    lesson = page.lesson
    return Lesson(
        lesson.name, lesson.text, page.number, page.count, turn_page, lesson.exercise
    )


def _leaves_behind(
    plan: Plan, roster: Roster | None
) -> Callable[[], Sequence[str]] | None:
    """Return what names the pods that stay, None if none does."""
    if roster is None or not plan.options.keep:
        return None
    return lambda: [each.name for each in roster.pods]


def _copying(plan: Plan) -> Callable[[str, Timings], ManifestCopy] | None:
    """Return what writes copies of the manifests, None if there are none."""
    if not plan.loaded:
        return None

    def copy(pod_uid: str, timings: Timings) -> ManifestCopy:
        # Late, as all that is not to be seen at the start.
        from probetui.cli.edited_copy import copy_edited  # noqa: PLC0415

        return copy_edited(plan.loaded, plan.source, pod_uid, timings)

    return copy


def _rereading(plan: Plan, roster: Roster | None) -> Callable[[], Reread] | None:
    """Return what reads the manifests again, None if they are in no files."""
    if roster is None or plan.source is None or plan.source.reads_stdin:
        return None

    def reread() -> Reread:
        wanted = plan.reload()
        changes = pod_changes(roster.pods, wanted.pods)
        changes_objects = wanted.objects != roster.objects
        return Reread(changes, lambda: roster.change(wanted), changes_objects)

    return reread


def _options(plan: Plan, looks: Looks) -> ScreenOptions:
    choices = plan.screen
    theme = choices.theme
    # Textual has a variable of its own for its default.
    follows_terminal = theme is None and "TEXTUAL_THEME" not in os.environ
    if follows_terminal:
        theme = theme_on(is_light=is_light_by_environment(os.environ) or False)
    return ScreenOptions(
        ascii=choices.ascii,
        motion=not choices.no_motion,
        mouse=not choices.no_mouse,
        theme=theme,
        follows_terminal=follows_terminal,
        themes=looks.themes,
        keymap=looks.keymap,
        read_only=choices.read_only,
        show_secrets=choices.show_secrets,
        pause_opens_step=choices.pause_opens_step,
        screenshot_folder=Path.cwd(),
        reach=plan.runtime.reach,
        sources=_file_names(each.position.file for each in plan.loaded),
        record=plan.record.name if plan.record is not None else "",
    )


def _file_names(files: Iterable[str]) -> Sequence[str]:
    """Return each file once, without its folder."""
    return tuple(dict.fromkeys(Path(each).name for each in files))


def _choose_colors(choices: ScreenChoices) -> None:
    """Set what Textual looks at: it takes NO_COLOR from the environment only."""
    if choices.color == "never":
        os.environ["NO_COLOR"] = "1"
    elif choices.color == "always":
        os.environ.pop("NO_COLOR", None)
