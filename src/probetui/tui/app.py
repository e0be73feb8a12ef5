"""The Textual app: the subscription to the session, and keys that work everywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.actions import ActionParseResult
from textual.binding import BindingType
from textual.command import CommandPalette, Provider
from textual.dom import DOMNode
from textual.drivers.linux_driver import LinuxDriver
from textual.errors import NoWidget
from textual.events import Event, Key, MouseEvent, MouseUp, Paste, Resize
from textual.geometry import Size
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import AwaitMount
from textual.widgets import Input

from probetui.drive.session import Session
from probetui.engine.snapshot import PlaybackKind
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeType
from probetui.presentation.pod import long_running
from probetui.presentation.text.spans import line, strong
from probetui.record.masking import Mask
from probetui.suggestions import removal_command
from probetui.tui.actions.action import SELECTED_TARGETS, Action, KeyContext
from probetui.tui.actions.container_names import ContainerKey, objects
from probetui.tui.actions.dispatch import is_available, perform
from probetui.tui.actions.key_labels import active_labels
from probetui.tui.actions.table import ACTIONS_BY_ID, bindings, find_action
from probetui.tui.host_services import HostServices
from probetui.tui.messages import (
    BackgroundDetected,
    CommandRequested,
    CopyRequested,
    KeyClicked,
    ManifestCopyRequested,
    SnapshotPublished,
    TickRequested,
    WhyRequested,
)
from probetui.tui.options import ScreenOptions
from probetui.tui.panes.bars import HeaderBar
from probetui.tui.screens.main import MainScreen
from probetui.tui.screens.registry import (
    SCREEN_OPENERS,
    open_command_line,
    open_events,
    open_help,
    open_leave_question,
)
from probetui.tui.screens.sizes import within_most
from probetui.tui.services.key_order import KeyOrder
from probetui.tui.services.terminal import (
    BackgroundQueryDriver,
    TerminalBackpressure,
    TerminalDriver,
    toggle_mouse,
)
from probetui.tui.state import (
    StatefulApp,
    StatefulScreen,
    UiState,
    is_allowed,
    is_typed_into,
)
from probetui.tui.styled_text import STYLE_CLASSES
from probetui.tui.themes import (
    DARK,
    OWN_THEMES,
    role_variables,
    theme_for_background,
    without_hues,
)
from probetui.tui.view_model import (
    SessionObserver,
    ViewModel,
    countdown_step,
    is_counting,
)

if TYPE_CHECKING:
    from probetui.presentation.terminal_title import TerminalTitle
    from probetui.tui.actions.command_parser import TypedCommand
    from probetui.tui.host_services import Timings
    from probetui.tui.services.quiz import QuizMaster

_EMULATOR = {"TERM": "xterm"}
"""The environment of a screen in a browser."""

_STYLES = Path(__file__).parent / "styles"


def _load_action_provider() -> type[Provider]:
    from probetui.tui.actions.palette import ActionProvider  # for the palette only

    return ActionProvider


_PANE_NAMES = {
    "life": "the container",
    "life-trace": "the decision trace",
    "last-step": "the last step",
}
"""The names of panes in the help, if they are not the panes' ids."""


_SELECTED_SINCE = "Something else was selected just then: press the key again."


class ProbetuiApp(StatefulApp, inherit_bindings=False):
    """Shows a session and sends it the user's commands.

    Args:
        session: the session to show; the app neither starts nor ends it.
        options: the options of the screen and its keys.
        mask: masks secrets other than the pods' own values.
        host: the services of the program around the screen.
    """

    # With the first screen's style sheet, which would otherwise be parsed later,
    # together with all the others again.
    CSS_PATH: ClassVar[list[str | PurePath]] = [
        _STYLES / "app.tcss",
        _STYLES / "main.tcss",
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = set(STYLE_CLASSES)
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.PROGRAM,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)
    COMMANDS = {_load_action_provider}  # noqa: RUF012  # annotated by the framework

    def __init__(
        self,
        session: Session,
        *,
        options: ScreenOptions,
        mask: Mask | None = None,
        host: HostServices | None = None,
    ) -> None:
        super().__init__()
        self.session = session
        self._theme_of_terminal = ""
        self.title = options.title
        for theme in (*OWN_THEMES, *options.themes):
            self.register_theme(theme)
        self.set_keymap(options.keymap)
        if options.theme is not None:
            self.theme = options.theme
        elif "TEXTUAL_THEME" not in os.environ:
            self.theme = DARK
        # TEXTUAL_DRIVER may have chosen another driver.
        if self.driver_class is LinuxDriver:
            self.driver_class = TerminalDriver
            if options.follows_terminal:
                self.driver_class = BackgroundQueryDriver
                self._theme_of_terminal = self.theme
        if not options.motion:
            self.animation_level = "none"
        self._options = options
        self._observer = SessionObserver(session, options, mask)
        self.ui_state = UiState(
            self._observer.build_view_model(), options, host or HostServices()
        )
        self._main = MainScreen(self.ui_state)
        self._unsubscribe: Callable[[], None] = _nothing
        self.has_mouse = options.mouse
        self._history: list[str] = []
        self._quiz_master: QuizMaster | None = None
        self._title_of_terminal: TerminalTitle | None = None
        self._backpressure = TerminalBackpressure(self)
        self._key_order = KeyOrder(self, self._deliver_key)
        self._choices_seen: dict[int, int] = {}
        self._choices_at_key = 0

    @property
    def size(self) -> Size:
        """The part of the terminal that is drawn."""
        return within_most(super().size)

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Resize):
            size = within_most(event.size)
            await super().on_event(Resize(size, size, pixel_size=event.pixel_size))
        elif event.is_forwarded:
            await super().on_event(event)
        elif isinstance(event, Key | Paste):
            self._choices_seen[id(event)] = self.ui_state.named_choices
            await self._key_order.deliver_in_turn(event)
            if not self._key_order.is_delaying:
                self._choices_seen.clear()
        elif not (isinstance(event, MouseEvent) and self._is_on_detached_widget(event)):
            await super().on_event(event)

    async def _deliver_key(self, event: Event) -> None:
        seen = self._choices_seen.pop(id(event), self.ui_state.own_choices)
        self._choices_at_key = seen
        await super().on_event(event)

    def _is_aimed_elsewhere(self, action: Action) -> bool:
        """Return whether an act would hit what was not named when its key was pressed.

        So it is where a snapshot has changed the selection since: where it is the first
        with pods, where trouble is followed, where a pod is there again.
        """
        is_aimed = action.changes and action.on in SELECTED_TARGETS
        return is_aimed and self._choices_at_key != self.ui_state.own_choices

    def _is_on_detached_widget(self, event: MouseEvent) -> bool:
        """Return whether a mouse event hits a widget removed since the last layout.

        Textual looks up the widget's parent, and crashes without one. Releases are
        always delivered, because they end a selection.
        """
        if isinstance(event, MouseUp):
            return False
        try:
            widget, _ = self.get_widget_at(int(event.x), int(event.y))
        except NoWidget:
            return False
        return not widget.is_attached

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action; if the session refuses it, notify the user why."""
        node, name, parameters = self._parse_action(
            action, default_namespace or self, namespaces
        )
        known = find_action(name, parameters)
        if known is not None and self._is_aimed_elsewhere(known):
            self.notify(_SELECTED_SINCE, severity="warning")
            return True
        if await super().run_action(action, default_namespace, namespaces):
            return True
        if known is None or is_typed_into(node):
            return False
        refusal = self.ui_state.refusal(known)
        if not refusal or not known.is_possible(self.ui_state.context):
            return False
        self.notify(refusal, severity="warning")
        return True

    def leave_without_waiting(self) -> None:
        """Exit, even if the terminal does not accept the remaining output."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.stop_waiting()
        self.exit()

    def drop_keys(self) -> None:
        self._key_order.drop_keys()

    @property
    def room_beside_badge(self) -> int:
        bars = self.screen.query(HeaderBar) if self.screen_stack else ()
        return max((bar.room_beside_badge for bar in bars), default=0)

    def get_default_screen(self) -> Screen[Any]:
        return self._main

    async def on_mount(self) -> None:
        # Messages to a screen that is not mounted would be lost.
        await AwaitMount(self._main, [self._main])
        self._unsubscribe = self.session.subscribe(self._announce)
        step = countdown_step(self._options)
        self.set_interval(step.total_seconds(), self._count_down)
        if self._options.presents:
            self.call_after_refresh(self.action_show_screen, "present")

    def on_ready(self) -> None:
        """Show changes from before the subscription; the first screen is drawn now."""
        self.call_after_refresh(self._announce)

    def on_unmount(self) -> None:
        self._unsubscribe()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible; other keys are not shown."""
        return is_allowed(self, action, parameters)

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002  # the framework's
        if self.screen_stack:
            super().refresh_css(animate)
        else:  # without a screen there is nothing to style; avoid a second parse
            self.stylesheet.set_variables(self.get_css_variables())

    def get_css_variables(self) -> dict[str, str]:
        """Add the colours of roles to the theme's variables."""
        theme = super().get_css_variables()
        roles = role_variables(theme)
        return {**theme, **(without_hues(roles) if self.no_color else roles)}

    def action_pause(self) -> None:
        from probetui.tui.services.playback import pause_probes

        pause_probes(self)

    def action_resume(self) -> None:
        from probetui.tui.services.playback import resume_probes

        resume_probes(self)

    def action_step_back(self) -> None:
        from probetui.tui.services.playback import step_back

        step_back(self)

    def action_change_pace(self, steps: int) -> None:
        from probetui.tui.services.playback import change_pace

        change_pace(self, steps)

    def action_seek(self, to: str = "") -> None:
        from probetui.tui.services.playback import seek

        seek(self, to)

    def action_turn_page(self, steps: int) -> None:
        from probetui.tui.services.playback import change_lesson

        change_lesson(self, steps)

    def action_save(self) -> None:
        from probetui.tui.services.exports import save_record

        save_record(self)

    def action_export(self, form: str = "json") -> None:
        from probetui.tui.services.exports import save_state

        save_state(self, form)

    def action_save_picture(self, form: str = "svg") -> None:
        from probetui.tui.services.exports import save_picture

        save_picture(self, form)

    def action_copy_menu(self) -> None:
        from probetui.tui.services.exports import choose_copy

        choose_copy(self)

    def action_reload(self) -> None:
        from probetui.tui.services.manifests import reload_manifests

        reload_manifests(self)

    def action_write_manifest(self, shown: Timings | None = None) -> None:
        from probetui.tui.services.manifests import write_manifest

        write_manifest(self, shown)

    async def action_shell(self) -> None:
        from probetui.tui.services.shell import open_container_shell

        await open_container_shell(self)

    def action_mouse(self) -> None:
        toggle_mouse(self)

    def action_help(self) -> None:
        focused = self.focused
        name = focused.id if focused is not None and focused.id else "everywhere"
        name = _PANE_NAMES.get(name, name)
        labels = active_labels(self.screen.active_bindings)
        marks = self.ui_state.view_model.view.marks
        screen = open_help(
            name,
            labels,
            marks,
            is_ascii=self._options.ascii,
            is_isolated=self._options.isolated,
        )
        self.push_screen(screen, self._try_key)

    def action_give(self, name: str, *words: str) -> None:
        """Submit the command of an action; ask first if the action requires it."""
        action, now = ACTIONS_BY_ID[name], self.ui_state.context
        if action.build_command is None:
            return
        try:
            command = action.build_command(now, words)
        except UsageError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        if action.confirmation is None:
            self.session.send(command)
        else:
            self.ask(
                [line(action.confirmation(now))], partial(self.session.send, command)
            )

    def action_command_line(self, begun: str = "") -> None:
        """Open the command line for an action, with `begun` typed already."""
        screen = self.screen

        def entered(typed: TypedCommand | None) -> None:
            if typed is not None:
                self.call_later(self._perform, screen, typed)

        command_line = open_command_line(self.ui_state, self._history, begun)
        self.push_screen(command_line, entered)

    def action_go(self, name: str, kind: str = "") -> None:
        """Select a container by its name, and one of its probes if given."""
        probe = ProbeType(kind.capitalize()) if kind else None
        self.choose(objects(self.ui_state.context)[name], probe)

    def action_set_theme(self, name: str) -> None:
        self.theme = name

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text in the first way that works, and notify the user."""
        self._clipboard = text  # for pasting into fields of this program
        self._write_clipboard(text)

    @work(exclusive=True, group="copy")
    async def _write_clipboard(self, text: str) -> None:
        from probetui.tui.services.clipboard import copy

        driver = self._driver
        write = None if driver is None or self.is_headless else driver.write
        # The clipboard of this machine is not the browser's.
        environment = _EMULATOR if self._options.in_browser else os.environ
        result = await copy(text, environment, write)
        severity: SeverityLevel = "error" if result.is_refused else "information"
        self.notify(result.words, severity=severity)

    def action_copy_or_quit(self) -> None:
        """Copy the selected text; without any, quit."""
        if text := self.screen.get_selected_text():
            self.copy_to_clipboard(text)
        else:
            self.exit()

    def action_leave(self) -> None:
        """Quit; ask first if pods would remain, or have run for long."""
        host, snapshot = self.ui_state.host, self.ui_state.view_model.snapshot
        remaining_pods, keep_pods = host.remaining_pods, host.keep_pods
        names = remaining_pods() if remaining_pods is not None else ()
        if not names:
            long_run = long_running(snapshot) if keep_pods is not None else ()
            if long_run and keep_pods is not None:
                is_ascii = self._options.ascii
                asked = open_leave_question(long_run, keep_pods, is_ascii=is_ascii)
                self.push_screen(asked, self._leave_if)
            else:
                self.exit()
            return
        listed = ", ".join(names)
        question = line(
            "Quit? These pods keep running: ",
            strong(listed),
            f". {removal_command(listed)} removes them.",
        )
        self.ask([question], self.exit)

    def _leave_if(self, is_wanted: bool | None) -> None:  # noqa: FBT001  # the framework's
        if is_wanted:
            self.exit()

    def choose(self, key: ContainerKey, probe: ProbeType | None = None) -> None:
        self._main.choose(key, probe)

    def action_show_screen(self, name: str) -> None:
        """Open another screen on top of this one."""
        self.push_screen(SCREEN_OPENERS[name](self.ui_state))

    def action_show_events(self, what: str = "") -> None:
        """Open the event log, or the part of it that `what` names."""
        self.push_screen(open_events(self.ui_state, what))

    def action_time_format(self) -> None:
        self._observer.time_format = self._observer.time_format.following
        self._announce()

    @on(SnapshotPublished)
    def _show(self) -> None:
        self._backpressure.check()
        view_model = self.ui_state.view_model = self._observer.build_view_model()
        self._notify_acts(view_model)
        self._tell_terminal(view_model)
        self._follow_lesson()
        for screen in self.screen_stack:
            if isinstance(screen, StatefulScreen):
                screen.show(view_model)

    def _tell_terminal(self, view_model: ViewModel) -> None:
        """Put into the terminal's title what is in trouble; tell it of kills."""
        if not isinstance(self._driver, TerminalDriver) or self._backpressure.is_paused:
            return
        if self._title_of_terminal is None:
            # Imported late: the first screen is there before its title.
            from probetui.presentation.terminal_title import TerminalTitle

            self._title_of_terminal = TerminalTitle(view_model.view.marks)
        title = self._title_of_terminal.of(view_model.snapshot, view_model.view)
        self._driver.show_title(title)
        if view_model.kills:
            self._driver.notify(view_model.kills[-1])

    def _follow_lesson(self) -> None:
        """Ask the questions of a lesson, if there is one."""
        lesson = self.ui_state.host.lesson
        if lesson is None or lesson.quiz is None or not self.screen_stack:
            return
        if self._quiz_master is None:
            from probetui.tui.services.quiz import QuizMaster

            self._quiz_master = QuizMaster(self, lesson.quiz)
        self._quiz_master.follow()

    def _notify_acts(self, view_model: ViewModel) -> None:
        """Notify the user of acts; a replay has those of its recording."""
        playback = view_model.snapshot.playback
        if playback is not None and playback.kind is PlaybackKind.REPLAY:
            return
        if not self.screen_stack:
            # The app ends, or has not begun: nobody sees a notification.
            return
        contexts: Container[KeyContext] = getattr(self.screen, "KEY_CONTEXTS", ())
        for text in view_model.acts:
            # Step mode has a pane with the last step.
            if KeyContext.STEPS not in contexts or not text.startswith("step "):
                self.notify(view_model.view.safe(text))

    @on(CommandPalette.Opened)
    def _frame_palette(self) -> None:
        """Give the palette the title of a pane, and a frame of ASCII if need be."""
        box = self.screen.query_one("#--container")
        box.border_title, box.border_subtitle = "Commands", "enter runs  esc closes"
        box.set_class(self.ui_state.options.ascii, "-ascii")
        box.query_one(Input).placeholder = "Search actions"

    @on(BackgroundDetected)
    def _fit_theme(self, message: BackgroundDetected) -> None:
        # The user may have changed the theme meanwhile.
        if self.theme == self._theme_of_terminal:
            self.theme = theme_for_background(is_light=message.background.is_light)
            self._theme_of_terminal = self.theme

    @on(ManifestCopyRequested)
    def _write_manifest(self, message: ManifestCopyRequested) -> None:
        self.action_write_manifest(message.timings)

    @on(CommandRequested)
    def _send(self, message: CommandRequested) -> None:
        self.session.send(message.command)

    @on(CopyRequested)
    def _copy(self, message: CopyRequested) -> None:
        self.copy_to_clipboard(message.text)

    @on(TickRequested)
    def _go_to_tick(self, message: TickRequested) -> None:
        tick = message.tick
        self.choose(message.key, None if tick is None else tick.key.probe_type)
        if tick is not None and self.ui_state.look_at(tick):
            self._main.show_subject()

    @on(WhyRequested)
    def _answer(self, message: WhyRequested) -> None:
        self._go_to_tick(message)
        self.action_show_screen("why")

    @on(KeyClicked)
    def _press(self, message: KeyClicked) -> None:
        self.simulate_key(message.key)

    def _try_key(self, key: str | None) -> None:
        # `call_later` puts it before the keys that were typed after it.
        if key is not None:
            self.call_later(super().on_event, Key(key, None))

    async def _perform(self, screen: Screen[Any], typed: TypedCommand) -> None:
        if typed.target is None and self._is_aimed_elsewhere(typed.action):
            self.notify(_SELECTED_SINCE, severity="warning")
            return
        if typed.target is not None:
            self.choose(typed.target.container, typed.target.probe)
        if is_available(screen, typed.action):
            await perform(screen, typed.action, typed.words)
        else:
            refusal = self.ui_state.refusal(typed.action)
            problem = refusal or f"{typed.action.name}: not possible now"
            self.notify(problem, severity="error", markup=False)

    def _announce(self) -> None:
        self.post_message(SnapshotPublished())

    def _count_down(self) -> None:
        """Show other times, unless a change has just had them shown."""
        shown = self.ui_state.view_model
        if not is_counting(shown.snapshot):
            return
        if self._observer.view(self.session.snapshot).now != shown.view.now:
            self._announce()


def _nothing() -> None:
    """Stand in for `unsubscribe` before the subscription."""
