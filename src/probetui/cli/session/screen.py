"""The screen of a session: made, shown and closed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from probetui.analysis.reproduce import CommandLineReach, engine_exec_command
from probetui.cli import gc_tuning
from probetui.cli.lessons import OpenLesson
from probetui.cli.option_values import ScreenChoices
from probetui.cli.printing import NoteLevel, ShowNote
from probetui.cli.session.appearance import Appearance, load_appearance
from probetui.cli.session.outputs import ScreenFault
from probetui.cli.session.plan import EnginePlan, Plan, RunPlan
from probetui.cli.session.pod_registry import PodRegistry
from probetui.cli.session.terminal_hold import COVER
from probetui.cli.terminal import draws_unicode
from probetui.drive.session import FaultTarget, Session, SupportsLogs
from probetui.headless.follow import Follower
from probetui.headless.verdict import ANOTHER_LESSON, EXIT_OK, LEFT, Verdict
from probetui.k8s.runtime import ContainerID
from probetui.presentation.pod import pod_changes
from probetui.record.masking import Mask
from probetui.tui import app
from probetui.tui.host_services import (
    CurrentLesson,
    HostServices,
    ManifestCopy,
    ManifestReload,
    Timings,
    TryTiming,
)
from probetui.tui.options import ScreenOptions
from probetui.tui.services.terminal_background import is_light_by_environment
from probetui.tui.themes import theme_for_background

_INTRO_SECONDS = 30
_MOST_WARNINGS = 2
_STDIN = 0
_BEST_SHELL = ("sh", "-c", "command -v bash >/dev/null && exec bash || exec sh")

if TYPE_CHECKING:
    from textual.driver import Driver

    from probetui.cli.web.tab import Tab

SignalHandler = Callable[[int, FrameType | None], object]

_SEVERITIES: dict[NoteLevel, Literal["information", "warning", "error"]] = {
    NoteLevel.NOTE: "information",
    NoteLevel.WARNING: "warning",
    NoteLevel.ERROR: "error",
}


class SessionScreen(app.ProbetuiApp):
    """The screen as part of this program: its bugs are the program's."""

    job_control: JobControl
    on_drawn: Callable[[], None] = staticmethod(lambda: None)

    def on_ready(self) -> None:
        """Start what waits for the first screen once that is drawn."""
        self.call_after_refresh(gc_tuning.freeze)
        self.call_after_refresh(self.on_drawn)

    def _build_driver(self, *arguments: Any, **options: Any) -> Driver:
        """Install our signal handlers before the driver starts."""
        driver = super()._build_driver(*arguments, **options)
        self.job_control.install()
        return driver

    def _fatal_error(self) -> None:
        """Exit; a crash report is written once the screen is gone.

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
    fault: ScreenFault,
    save: Callable[[], str] | None = None,
    record: Callable[[], Path] | None = None,
    pod_registry: PodRegistry | None = None,
    stop_pods: Callable[[], Awaitable[object]] | None = None,
    on_drawn: Callable[[], None] = lambda: None,
) -> Verdict:
    """Show a session until the user leaves or something else ends it.

    Args:
        plan: what was asked for.
        session: what is shown.
        follower: ends it.
        mask: what is not to be shown.
        fault: lets the session go on if the screen ends by a bug.
        save: keeps the session's record in a file of its own, and names that.
        record: names the session's record, with everything that has happened.
        pod_registry: the pods that run, if they can be kept or changed by manifests.
        stop_pods: stops the pods of a lesson before the next one, on the screen.
        on_drawn: is called once the first screen is drawn.
    """
    choose_colors(plan.screen)
    looks = load_appearance(plan.screen)
    turn: asyncio.Future[int] = asyncio.Future()
    host = HostServices(
        logs=session if isinstance(session, SupportsLogs) else None,
        lesson=None if plan.page is None else _lesson(plan.page, turn),
        save=save,
        shell=shell_commands(plan.runtime.reach) if plan.has_shells else None,
        fault_refusal=session.fault_refusal
        if isinstance(session, FaultTarget)
        else None,
        remaining_pods=_leaves_behind(pod_registry),
        keep_pods=_keeping(plan, pod_registry),
        reread=manifest_reloader(plan, pod_registry),
        copy_edited=_copying(plan),
        session_so_far=_trying(record),
    )
    options = screen_options(plan, looks)
    shown = _screen_of(plan, session, options, mask, host)
    shown.job_control = JobControl()
    shown.on_drawn = on_drawn

    _repeat_what_is_covered(shown, plan, looks)
    if plan.page is not None:
        plan.page.terminal.release()
    screen = asyncio.ensure_future(shown.run_async(mouse=not plan.screen.no_mouse))
    gone = asyncio.ensure_future(_loss_of(plan.tab))
    over = asyncio.ensure_future(follower.verdict(plan.options.timeout))
    change = asyncio.ensure_future(_lesson_change(turn, stop_pods))
    with shown.job_control.removed(), plan.notes.redirected(_toasts_on(shown)):
        try:
            ends = {screen, over, change, gone}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            change.cancel()
            gone.cancel()
            # Nobody at the keys waits for the terminal then.
            (shown.leave_without_waiting if over.done() else shown.exit)()
            bug = await _bug_of(screen) or shown.bug
    if plan.page is not None and change.done() and not change.cancelled():
        plan.page.turned = change.result()
        _cover_page(plan.page, plan.tab)
        follower.end(Verdict(ANOTHER_LESSON, EXIT_OK))
    elif plan.tab is not None:
        plan.tab.close()
    if bug is not None:
        if plan.tab is not None:
            raise bug
        on_drawn()  # nothing else will be
        fault.replace_screen(bug)
        return await over
    follower.end(Verdict(LEFT, EXIT_OK))
    return await over


def _toasts_on(shown: SessionScreen) -> ShowNote:
    """Return what shows notes on a screen."""

    def show_note(weight: NoteLevel, text: str) -> None:
        # In the app's own turn: a toast that takes the place of another asks for that.
        severity = _SEVERITIES[weight]
        shown.call_later(shown.notify, text, severity=severity, markup=False)

    return show_note


def _repeat_what_is_covered(
    shown: SessionScreen, plan: Plan, looks: Appearance
) -> None:
    """Show what was printed before the screen, which covers it."""
    if plan.intro and plan.page is None:
        shown.call_later(shown.notify, plan.intro, timeout=_INTRO_SECONDS, markup=False)
    for text in covered_warnings(plan):
        shown.call_later(shown.notify, text, severity="warning", markup=False)
    for text in plan.covered_texts:
        shown.call_later(
            shown.notify,
            text,
            severity="warning",
            timeout=_INTRO_SECONDS if plan.is_isolated else None,
            markup=False,
        )
    for problem in looks.problems:
        shown.call_later(shown.notify, problem, severity="warning", markup=False)


def _cover_page(page: OpenLesson, tab: Tab | None) -> None:
    """Say that another lesson starts, where the screen of this one was."""
    if tab is None:
        page.terminal.cover_terminal()
    else:
        tab.write(COVER)


def covered_warnings(plan: Plan) -> Iterator[str]:
    """Yield the first warnings about manifests of no pod; the events have all of them.

    Those about a pod stand in its row.
    """
    manifests = plan.manifests
    warnings = [
        problem for problem in manifests.warnings if manifests.pod_of(problem) is None
    ]
    yield from map(str, warnings[:_MOST_WARNINGS])
    if (more := len(warnings) - _MOST_WARNINGS) > 0:
        yield f"{more} more warning{'' if more == 1 else 's'}: see the events"


async def _bug_of(screen: asyncio.Future[Any]) -> Exception | None:
    """Wait for a screen to end, and return the bug that it raised."""
    try:
        await screen
    except Exception as error:  # noqa: BLE001  # it is reported; the session goes on
        return error
    return None


async def _loss_of(tab: Tab | None) -> None:
    """Wait until a tab is gone; a terminal says so by a signal."""
    await (asyncio.Future() if tab is None else tab.lost.wait())


def _screen_of(
    plan: Plan,
    session: Session,
    options: ScreenOptions,
    mask: Mask,
    host: HostServices,
) -> SessionScreen:
    if plan.tab is None:
        return SessionScreen(session, options=options, mask=mask, host=host)
    # Late: few sessions are shown in a browser.
    from probetui.cli.session.web_screens import TabScreen

    return TabScreen(plan.tab, session, options=options, mask=mask, host=host)


async def _lesson_change(
    turn: asyncio.Future[int], stop_pods: Callable[[], Awaitable[object]] | None
) -> int:
    """Wait for a page to be turned, and for the pods to stop; return by how many."""
    steps = await turn
    if stop_pods is not None:
        await stop_pods()
    return steps


def _lesson(page: OpenLesson, turn: asyncio.Future[int]) -> CurrentLesson:
    """Return a lesson as the screen shows it; `turn` gets by how many to move on."""

    def turn_page(steps: int) -> None:
        if not turn.done():
            turn.set_result(steps)

    lesson = page.lesson
    return CurrentLesson(
        lesson.name,
        lesson.text,
        page.number,
        page.count,
        turn_page,
        lesson.exercise,
        page.quiz,
    )


def _leaves_behind(
    pod_registry: PodRegistry | None,
) -> Callable[[], Sequence[str]] | None:
    """Return what names the pods that stay, None if none does."""
    if pod_registry is None or not pod_registry.keeps_pods:
        return None
    return lambda: [pod.name for pod in pod_registry.pods]


def _keeping(plan: Plan, pod_registry: PodRegistry | None) -> Callable[[], None] | None:
    """Return what keeps the pods of a person at the end, None if there are none."""
    if pod_registry is None or plan.is_lesson or not isinstance(plan, RunPlan):
        return None
    return pod_registry.keep_pods


def _copying(plan: Plan) -> Callable[[str, Timings], ManifestCopy] | None:
    """Return what writes copies of the manifests, None if there are none."""
    manifests = plan.manifests
    if not manifests.loaded:
        return None

    def copy(pod_uid: str, timings: Timings) -> ManifestCopy:
        # Late, as all that is not to be seen at the start.
        from probetui.cli.session.edited_copy import copy_edited

        return copy_edited(
            manifests.loaded, manifests.source, pod_uid, timings, manifests.reader
        )

    return copy


def _trying(record: Callable[[], Path] | None) -> Callable[[], TryTiming] | None:
    """Return what tries timings on the session so far, None if it has no record."""
    if record is None:
        return None

    def session_so_far() -> TryTiming:
        # Late, as all that is not to be seen at the start.
        from probetui.cli.session.so_far import SessionSoFar

        return SessionSoFar(record()).try_timing

    return session_so_far


def manifest_reloader(
    plan: Plan, pod_registry: PodRegistry | None
) -> Callable[[], ManifestReload] | None:
    """Return what reads the manifests again, None if they are in no files."""
    if pod_registry is None or not isinstance(plan, EnginePlan):
        return None
    reader = plan.manifests.reader
    if reader is None or not reader.can_reread:
        return None

    def reread() -> ManifestReload:
        wanted = plan.reload()
        changes = pod_changes(pod_registry.pods, wanted.pods)
        changes_objects = wanted.objects != pod_registry.objects
        return ManifestReload(
            changes,
            lambda: pod_registry.on_manifests(wanted),
            changes_objects,
            tuple(map(str, wanted.warnings)),
        )

    return reread


def screen_options(plan: Plan, looks: Appearance) -> ScreenOptions:
    """Return the options of the screen of a session, in the terminal or a browser."""
    choices, web = plan.screen, plan.web
    theme = choices.theme
    # Textual has a variable of its own for its default.
    follows_terminal = theme is None and "TEXTUAL_THEME" not in os.environ
    if follows_terminal:
        is_light = not web.web and is_light_by_environment(os.environ)
        theme = theme_for_background(is_light=is_light or False)
    return ScreenOptions(
        ascii=choices.ascii or not (web.web or draws_unicode(sys.__stderr__)),
        lanes=choices.lanes,
        presents=choices.present,
        notifies=choices.notify,
        motion=not choices.no_motion,
        mouse=not choices.no_mouse,
        theme=theme,
        follows_terminal=follows_terminal,
        themes=looks.themes,
        keymap=looks.keymap,
        read_only=choices.read_only or (web.web and not web.web_control),
        in_browser=web.web,
        show_secrets=choices.show_secrets,
        pause_opens_step=choices.pause_opens_step,
        screenshot_folder=Path.cwd(),
        reach=plan.runtime.reach,
        sources=_file_names(pod.position.file for pod in plan.manifests.loaded),
        record=plan.record.name if plan.record is not None else "",
        services=plan.manifests.services,
        isolated=plan.is_isolated,
    )


def _file_names(files: Iterable[str]) -> Sequence[str]:
    """Return each file once, without its folder."""
    return tuple(dict.fromkeys(Path(file).name for file in files))


def choose_colors(choices: ScreenChoices) -> None:
    """Set NO_COLOR, which Textual reads from the environment only."""
    if choices.color == "never":
        os.environ["NO_COLOR"] = "1"
    elif choices.color == "always":
        os.environ.pop("NO_COLOR", None)


class JobControl:
    """Resumes the screen only if it was stopped and its terminal is there.

    A terminal that is closed continues what ran in it, stopped or not. Textual would
    draw its screen and read keys from there once more, and never end.
    """

    def __init__(self) -> None:
        self._stop: SignalHandler | None = None
        self._continue: SignalHandler | None = None
        self._was_stopped = False

    def install(self) -> None:
        """Handle the signals before Textual's handlers."""
        self._stop = _handler(signal.SIGTSTP)
        self._continue = _handler(signal.SIGCONT)
        signal.signal(signal.SIGTSTP, self._on_stop)
        signal.signal(signal.SIGCONT, self._on_continue)

    @contextmanager
    def removed(self) -> Iterator[None]:
        """Restore the default handling of the signals after the block."""
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.signal(signal.SIGCONT, signal.SIG_DFL)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._was_stopped = True
        if self._stop is not None:
            self._stop(number, frame)

    def _on_continue(self, number: int, frame: FrameType | None) -> None:
        was_stopped, self._was_stopped = self._was_stopped, False
        if self._continue is not None and was_stopped and os.isatty(_STDIN):
            self._continue(number, frame)


def _handler(number: signal.Signals) -> SignalHandler | None:
    handler = signal.getsignal(number)
    return handler if callable(handler) else None


def shell_commands(reach: CommandLineReach) -> Callable[[ContainerID], Sequence[str]]:
    """Return what makes the command that opens a shell in a container.

    It is empty where there is none.
    """

    def command(container_id: ContainerID) -> Sequence[str]:
        inside: tuple[str, ...]
        if container_id.startswith("process://"):
            inside = (sys.executable, "-m", "probetui", "exec", container_id)
        else:
            inside = engine_exec_command(container_id, reach, "-it")
        return (*inside, *_BEST_SHELL) if inside else ()

    return command
