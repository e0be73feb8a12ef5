"""The program on the screen: one subscription, and the keys that work everywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePath
from typing import Any, ClassVar

from textual import on
from textual.binding import BindingType
from textual.screen import Screen

from probetui.drive.masking import Mask
from probetui.drive.session import Session
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeType
from probetui.presentation.spans import line
from probetui.tui.acting import is_offered, perform
from probetui.tui.action import Where
from probetui.tui.actions import BY_ID, bindings
from probetui.tui.brake import Brake
from probetui.tui.command_words import Typed
from probetui.tui.container_keys import ContainerKey
from probetui.tui.inks import INK_CLASSES
from probetui.tui.key_labels import active_labels
from probetui.tui.messages import (
    CommandGiven,
    CopyWanted,
    KeyClicked,
    SnapshotPublished,
    TickWanted,
    WhyWanted,
)
from probetui.tui.objects import objects
from probetui.tui.options import ScreenOptions
from probetui.tui.outside import Outside
from probetui.tui.palette import Actions
from probetui.tui.played_app import PlayedApp
from probetui.tui.role_colours import role_variables
from probetui.tui.screens.catalogue import SCREENS
from probetui.tui.screens.pods import PodsScreen
from probetui.tui.sight import Onlooker, countdown_step, is_counting
from probetui.tui.stage import Stage, StagedScreen, is_allowed
from probetui.tui.themes import OWN_THEMES

_STYLES = Path(__file__).parent / "styles"


class ProbetuiApp(PlayedApp, inherit_bindings=False):
    """Shows a session and hands it what a person asks for; decides nothing.

    Args:
        session: what is looked at; the app neither starts nor ends it.
        options: how the screen looks and what its keys may do.
        mask: what is secret apart from the pods' own values.
        outside: what the program around the screen can do for it.
    """

    # That of the first screen too: later it would be read for itself, with all the rest
    # again.
    CSS_PATH: ClassVar[list[str | PurePath]] = [
        _STYLES / "app.tcss",
        _STYLES / "pods.tcss",
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = set(INK_CLASSES)
    PLACES: ClassVar[tuple[Where, ...]] = (Where.PROGRAM,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)
    COMMANDS = {Actions}  # noqa: RUF012  # annotated by the framework

    def __init__(
        self,
        session: Session,
        *,
        options: ScreenOptions,
        mask: Mask | None = None,
        outside: Outside | None = None,
    ) -> None:
        super().__init__(session)
        self.title = options.title
        for theme in (*OWN_THEMES, *options.themes):
            self.register_theme(theme)
        self.set_keymap(options.keymap)
        if options.theme is not None:
            self.theme = options.theme
        if options.follows_terminal:
            self.follow_terminal()
        if not options.motion:
            self.animation_level = "none"
        self._options = options
        self._onlooker = Onlooker(session, options, mask)
        self.stage = Stage(self._onlooker.look(), options, outside or Outside())
        self._main = PodsScreen(self.stage)
        self._unsubscribe: Callable[[], None] = _nothing
        self.has_mouse = options.mouse
        self._history: list[str] = []
        self._brake = Brake(self)

    async def on_mount(self) -> None:
        await self.push_screen(self._main)
        self._unsubscribe = self.session.subscribe(self._announce)
        # Something may have happened since it was looked at last, and nothing after.
        self._announce()
        step = countdown_step(self._options)
        self.set_interval(step.total_seconds(), self._count_down)

    def on_unmount(self) -> None:
        self._unsubscribe()

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],
    ) -> bool | None:
        """Tell which keys work now; the others are neither shown nor listed."""
        return is_allowed(self, action, parameters)

    def get_css_variables(self) -> dict[str, str]:
        """Add colours for our roles to those of the theme."""
        theme = super().get_css_variables()
        return {**theme, **role_variables(theme)}

    def action_help(self) -> None:
        focused = self.focused
        name = focused.id if focused is not None and focused.id else "everywhere"
        labels = active_labels(self.screen.active_bindings)
        marks = self.stage.sight.view.marks
        is_ascii = self._options.ascii
        # Late, as all that is not to be seen at the start.
        from probetui.tui.screens.help import HelpScreen  # noqa: PLC0415

        screen = HelpScreen(name, labels, marks, is_ascii=is_ascii)
        self.push_screen(screen, self._try_key)

    def action_give(self, name: str, *words: str) -> None:
        """Give the engine the command of an action; ask first if that is to be."""
        action, now = BY_ID[name], self.stage.now
        if action.gives is None:
            return
        try:
            command = action.gives(now, words)
        except UsageError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        if action.asks is None:
            self.session.send(command)
        else:
            self.ask([line(action.asks(now))], partial(self.session.send, command))

    def action_command_line(self, begun: str = "") -> None:
        """Let an action be typed; `begun` stands there already."""
        screen = self.screen

        def do(typed: Typed | None) -> None:
            if typed is not None:
                self.call_later(self._do, screen, typed)

        # Late, as all that is not to be seen at the start.
        from probetui.tui.screens.command_line import CommandLine  # noqa: PLC0415

        self.push_screen(CommandLine(self.stage, self._history, begun), do)

    def action_go(self, name: str, kind: str = "") -> None:
        """Choose a container by its name, and perhaps one of its probes."""
        probe = ProbeType(kind.capitalize()) if kind else None
        self.choose(objects(self.stage.now)[name], probe)

    def choose(self, key: ContainerKey, probe: ProbeType | None = None) -> None:
        self._main.choose(key, probe)

    def action_show_screen(self, name: str, *words: str) -> None:
        """Put another screen before this one; typed words say more about it."""
        self.push_screen(SCREENS[name](self.stage, *words))

    def action_time_format(self) -> None:
        self._onlooker.time_format = self._onlooker.time_format.following
        self._announce()

    @on(SnapshotPublished)
    def _show(self) -> None:
        self._brake.check()
        sight = self.stage.sight = self._onlooker.look()
        for screen in self.screen_stack:
            if isinstance(screen, StagedScreen):
                screen.show(sight)

    @on(CommandGiven)
    def _send(self, message: CommandGiven) -> None:
        self.session.send(message.command)

    @on(CopyWanted)
    def _copy(self, message: CopyWanted) -> None:
        self.copy_to_clipboard(message.text)

    @on(TickWanted)
    def _go_to_tick(self, message: TickWanted) -> None:
        tick = message.tick
        self.choose(message.key, None if tick is None else tick.key.probe_type)
        if tick is not None and self.stage.look_at(tick):
            self._main.show_subject()

    @on(WhyWanted)
    def _answer(self, message: WhyWanted) -> None:
        self._go_to_tick(message)
        self.action_show_screen("why")

    @on(KeyClicked)
    def _press(self, message: KeyClicked) -> None:
        self.simulate_key(message.key)

    def _try_key(self, key: str | None) -> None:
        if key is not None:
            self.call_later(self.simulate_key, key)

    async def _do(self, screen: Screen[Any], typed: Typed) -> None:
        if typed.target is not None:
            self.choose(typed.target.container, typed.target.probe)
        if is_offered(screen, typed.action):
            await perform(screen, typed.action, typed.words)
        else:
            name = typed.action.name
            self.notify(f"{name}: not possible now", severity="error", markup=False)

    def _announce(self) -> None:
        self.post_message(SnapshotPublished())

    def _count_down(self) -> None:
        if is_counting(self.stage.sight.snapshot):
            self._announce()


def _nothing() -> None:
    """Stand in for the end of a subscription that has not begun."""
