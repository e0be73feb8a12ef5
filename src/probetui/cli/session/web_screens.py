"""Screens of sessions in a browser: one session in all tabs, or one in each.

A live session and a watched cluster are one session, and each tab has a screen of its
own that shows it, as the terminal's does: screens only read snapshots and send
commands. A lost tab is a screen less. What plays on virtual time, and a lesson, is
started anew for each tab, and ends with it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from io import StringIO
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from rich.console import Console

from probetui.cli import gc_tuning
from probetui.cli.log import report_crash
from probetui.cli.printing import NoteLevel, print_notice
from probetui.cli.session.appearance import load_appearance
from probetui.cli.session.ending import SIGNALLED
from probetui.cli.session.plan import Plan
from probetui.cli.session.pod_registry import PodRegistry
from probetui.cli.session.screen import (
    SessionScreen,
    choose_colors,
    manifest_reloader,
    screen_options,
)
from probetui.cli.session.signal_watch import SharedSignals, Signals, SignalWatch
from probetui.cli.web.server import ShowTab, serve_tabs
from probetui.cli.web.tab import Tab
from probetui.drive.session import FaultTarget, Session, SupportsLogs
from probetui.errors import ProbetuiError
from probetui.headless.follow import Follower
from probetui.headless.verdict import Verdict
from probetui.record.masking import Mask
from probetui.tui.host_services import HostServices
from probetui.tui.services.browser_terminal import BrowserDriver

if TYPE_CHECKING:
    from textual.driver import Driver

RunInTab = Callable[[Tab, Signals], Awaitable[object]]
"""Runs a session from its beginning to its end, and shows it in a tab."""


class TabScreen(SessionScreen):
    """The screen in a tab of a browser: one of many of this process.

    Args:
        tab: where it is shown.
        session: what is shown.
        options: those of the screen.
    """

    def __init__(self, tab: Tab, session: Session, **options: Any) -> None:
        super().__init__(session, **options)
        self._tab = tab
        # The framework puts these in the place of the standard streams, and takes them
        # away again: in any order, if there are several screens.
        self._capture_stdout: Any = sys.stdout
        self._capture_stderr: Any = sys.stderr
        # Of the emulator, not of the terminal that the program was started from.
        self.console = Console(
            color_system="truecolor",
            file=StringIO(),
            highlight=False,
            emoji=False,
            legacy_windows=False,
            force_terminal=True,
            safe_box=False,
            _environ={},
        )

    def _build_driver(
        self, *_arguments: Any, mouse: bool = True, **_options: Any
    ) -> Driver:
        """Draw in the tab, and leave the signals alone."""
        driver = BrowserDriver(self._tab, self, mouse=mouse)
        self._driver = self._tab.driver = driver
        return driver


async def show_in_browser(
    plan: Plan,
    session: Session,
    follower: Follower,
    mask: Mask,
    pod_registry: PodRegistry | None = None,
) -> Verdict:
    """Show one session in as many tabs as are opened, until it ends.

    Args:
        plan: what was asked for.
        session: what is shown.
        follower: ends it.
        mask: what is not to be shown.
        pod_registry: the pods that run, if they can be changed by manifests.

    Raises:
        UsageError: the port cannot be used.
    """
    choose_colors(plan.screen)
    options = screen_options(plan, load_appearance(plan.screen))
    host = HostServices(
        logs=session if isinstance(session, SupportsLogs) else None,
        fault_refusal=session.fault_refusal
        if isinstance(session, FaultTarget)
        else None,
        reread=manifest_reloader(plan, pod_registry),
    )

    async def show(tab: Tab) -> None:
        screen = TabScreen(tab, session, options=options, mask=mask, host=host)
        running = asyncio.ensure_future(
            screen.run_async(mouse=not plan.screen.no_mouse)
        )
        gone = asyncio.ensure_future(tab.lost.wait())
        await asyncio.wait({running, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        screen.exit()
        await running
        if screen.bug is not None:
            raise screen.bug

    async with serve_tabs(_reporting(show), plan.web, _announce()):
        gc_tuning.freeze()
        return await follower.verdict(plan.options.timeout)


def serve_own_sessions(plan: Plan, run: RunInTab) -> int:
    """Run a session for each tab until a signal ends the program; return the status.

    Args:
        plan: what was asked for.
        run: runs the session of a tab.

    Raises:
        UsageError: the port cannot be used.
    """
    with SignalWatch() as signals:
        return asyncio.run(_serve_own_sessions(plan, run, signals))


async def _serve_own_sessions(plan: Plan, run: RunInTab, watch: SignalWatch) -> int:
    signals = SharedSignals(watch)
    is_over = asyncio.Event()

    async def show(tab: Tab) -> None:
        # One that is gone ends by itself, and is not to be hurried.
        with signals.member(lambda: not tab.lost.is_set()) as member:
            await run(tab, member)

    with signals.member(lambda: True) as own:
        own.deliver(lambda _number: is_over.set(), str)
        async with serve_tabs(_reporting(show), plan.web, _announce()):
            gc_tuning.freeze()
            await is_over.wait()
    assert signals.received is not None  # noqa: S101  # it ended the wait
    return SIGNALLED + signals.received


def _announce() -> Callable[[str], None]:
    """Return what prints the addresses to open, of which each is for one browser."""
    texts = chain(["the screen is at {}"], repeat("for another browser: {}"))

    def announce(url: str) -> None:
        # Not by the notes, which may be off: without it there is nothing to see.
        print_notice(NoteLevel.NOTE, next(texts).format(url))

    return announce


def _reporting(show: ShowTab) -> ShowTab:
    """Return what shows a tab and reports how it failed; the others go on."""

    async def reporting(tab: Tab) -> None:
        try:
            await show(tab)
        except ProbetuiError as error:
            print_notice(NoteLevel.ERROR, str(error))
        except Exception as error:  # noqa: BLE001  # the sessions go on
            report_crash(error, sys.argv[1:])

    return reporting
