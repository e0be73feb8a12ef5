"""The screen, put on a session and taken off again."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Literal

from probetui.cli import collector
from probetui.cli.looks import Looks, read_looks
from probetui.cli.notes import Weight
from probetui.cli.plan import Plan
from probetui.cli.roster import Roster
from probetui.cli.session_options import ScreenChoices
from probetui.drive.masking import Mask
from probetui.drive.session import LogKeeper, Session
from probetui.headless.follow import Follower
from probetui.headless.verdict import DONE, Verdict
from probetui.presentation.changes import pod_changes
from probetui.tui import app
from probetui.tui.options import ScreenOptions
from probetui.tui.outside import Outside, Reread

_INTRO_SECONDS = 30
_SEVERITIES: dict[Weight, Literal["information", "warning", "error"]] = {
    Weight.NOTE: "information",
    Weight.WARNING: "warning",
    Weight.ERROR: "error",
}


class _App(app.ProbetuiApp):
    """The screen as part of this program: its bugs are the program's."""

    # Textual looks for it beside this module otherwise.
    CSS_PATH = str(Path(app.__file__).parent / app.ProbetuiApp.CSS_PATH)

    def on_ready(self) -> None:
        """Begin to collect garbage, now that there is something to see."""
        collector.settle()

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
    roster: Roster | None = None,
) -> Verdict:
    """Show a session until the user leaves or something else ends it.

    Without a roster nothing runs that could be left, or changed by manifests.
    """
    _choose_colors(plan.screen)
    looks = read_looks(plan.screen)
    outside = _outside(plan, session, roster)
    options = _options(plan.screen, looks)
    shown = _App(session, options=options, mask=mask, outside=outside)

    def tell(weight: Weight, text: str) -> None:
        shown.notify(text, severity=_SEVERITIES[weight], markup=False)

    if plan.intro:
        shown.call_later(shown.notify, plan.intro, timeout=_INTRO_SECONDS, markup=False)
    for problem in looks.problems:
        shown.call_later(shown.notify, problem, severity="warning", markup=False)
    screen = asyncio.ensure_future(shown.run_async(mouse=not plan.screen.no_mouse))
    over = asyncio.ensure_future(follower.verdict(plan.options.timeout))
    with plan.notes.diverted(tell):
        try:
            await asyncio.wait({screen, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            shown.exit()
            await screen
    if shown.bug is not None:
        raise shown.bug
    follower.end(Verdict("left", DONE))
    return await over


def _outside(plan: Plan, session: Session, roster: Roster | None) -> Outside:
    """Return what this program can do for the screen."""
    logs = session if isinstance(session, LogKeeper) else None
    if roster is None:
        return Outside(logs=logs)

    def reread() -> Reread:
        wanted = plan.reload()
        changes = pod_changes(roster.pods, wanted.pods)
        changes_objects = wanted.objects != roster.objects
        return Reread(changes, lambda: roster.change(wanted), changes_objects)

    def leaves_behind() -> list[str]:
        return [each.name for each in roster.pods]

    is_readable = plan.source is not None and not plan.source.reads_stdin
    return Outside(
        leaves_behind=leaves_behind if plan.options.keep else None,
        reread=reread if is_readable else None,
        logs=logs,
    )


def _options(choices: ScreenChoices, looks: Looks) -> ScreenOptions:
    return ScreenOptions(
        ascii=choices.ascii,
        motion=not choices.no_motion,
        mouse=not choices.no_mouse,
        theme=choices.theme,
        themes=looks.themes,
        keymap=looks.keymap,
        read_only=choices.read_only,
        show_secrets=choices.show_secrets,
        screenshot_folder=Path.cwd(),
    )


def _choose_colors(choices: ScreenChoices) -> None:
    """Set what Textual looks at: it takes NO_COLOR from the environment only."""
    if choices.color == "never":
        os.environ["NO_COLOR"] = "1"
    elif choices.color == "always":
        os.environ.pop("NO_COLOR", None)
