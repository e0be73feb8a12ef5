"""The program on the screen: one subscription, and the keys that work everywhere."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input

from probetui.drive.masking import Mask
from probetui.drive.session import Session
from probetui.tui.key_labels import active_labels
from probetui.tui.messages import CommandGiven, KeyClicked, SnapshotPublished
from probetui.tui.options import ScreenOptions
from probetui.tui.role_colours import role_variables
from probetui.tui.screens.help import HelpScreen
from probetui.tui.screens.pods import PodsScreen
from probetui.tui.sight import Onlooker, Sight, countdown_step, is_counting

_SECONDS_TO_QUIT = 2.0


class ProbetuiApp(App[None], inherit_bindings=False):
    """Shows a session and hands it what a person asks for; decides nothing.

    Args:
        session: what is looked at; the app neither starts nor ends it.
        options: how the screen looks and what its keys may do.
    """

    CSS_PATH = "styles/app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "question_mark,f1", "help", "help", id="app.help", tooltip="Keys and marks"
        ),
        Binding(
            "u",
            "time_format",
            "time",
            id="look.time",
            tooltip="Times: since start, ago",
        ),
        Binding(
            "f8",
            "save_picture",
            "picture",
            id="app.screenshot",
            tooltip="Save a picture (SVG)",
        ),
        Binding(
            "ctrl+p",
            "command_palette",
            "palette",
            id="app.palette",
            priority=True,
            tooltip="Actions by name",
        ),
        Binding("q", "quit", "quit", id="app.quit", tooltip="Leave probetui"),
        Binding(
            "ctrl+q",
            "quit",
            "quit",
            id="app.quit-now",
            priority=True,
            tooltip="Leave from anywhere",
        ),
        Binding(
            "ctrl+c",
            "copy_or_quit",
            "copy or quit",
            id="app.copy",
            tooltip="Copy; twice: leave",
        ),
    ]

    def __init__(
        self, session: Session, *, options: ScreenOptions, mask: Mask | None = None
    ) -> None:
        super().__init__()
        self.title = options.title
        if options.theme is not None:
            self.theme = options.theme
        if not options.motion:
            self.animation_level = "none"
        self._session = session
        self._options = options
        self._onlooker = Onlooker(session, options, mask)
        self._sight: Sight = self._onlooker.look()
        self._main = PodsScreen(self._sight, options)
        self._unsubscribe: Callable[[], None] = _nothing
        self._is_quit_asked = False

    async def on_mount(self) -> None:
        await self.push_screen(self._main)
        self._unsubscribe = self._session.subscribe(self._announce)
        step = countdown_step(self._options)
        self.set_interval(step.total_seconds(), self._count_down)

    def on_ready(self) -> None:
        """Keep the garbage collector away from what is here to stay.

        A full collection would go through all of Textual's style sheets every time:
        45 ms in which neither a key is answered nor a tick taken.
        """
        if not self.is_headless:
            gc.collect()
            gc.freeze()

    def on_unmount(self) -> None:
        self._unsubscribe()

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],  # noqa: ARG002  # the framework's
    ) -> bool | None:
        """Keep keys for typing while something is typed."""
        if isinstance(self.focused, Input):
            return action in {"quit", "command_palette"}
        return True

    def get_css_variables(self) -> dict[str, str]:
        """Add colours for our roles to those of the theme."""
        theme = super().get_css_variables()
        return {**theme, **role_variables(theme)}

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer in the palette whatever a key does now, and the themes."""
        for label in active_labels(screen.active_bindings):
            keys = " ".join(label.keys)
            yield SystemCommand(
                f"{label.text} ({keys})",
                label.tooltip,
                partial(self.simulate_key, label.key),
            )
        yield SystemCommand("theme", "Other colours", self.action_change_theme)

    def action_help(self) -> None:
        focused = self.focused
        name = focused.id if focused is not None and focused.id else "everywhere"
        labels = active_labels(self.screen.active_bindings)
        marks = self._sight.view.marks
        is_ascii = self._options.ascii
        self.push_screen(HelpScreen(name, labels, marks, is_ascii=is_ascii))

    def action_time_format(self) -> None:
        self._onlooker.time_format = self._onlooker.time_format.following
        self._announce()

    def action_save_picture(self) -> None:
        try:
            path = self.save_screenshot(path=str(self._options.screenshot_folder))
        except OSError as error:
            self.notify(f"no picture: {error}", severity="error", markup=False)
        else:
            self.notify(f"saved {path}", markup=False)

    def action_copy_or_quit(self) -> None:
        """Copy what is marked; without a mark, quit if asked twice in two seconds."""
        if text := self.screen.get_selected_text():
            self.copy_to_clipboard(text)
            self.notify("sent to the terminal's clipboard", markup=False)
        elif self._is_quit_asked:
            self.exit()
        else:
            self._is_quit_asked = True
            self.set_timer(_SECONDS_TO_QUIT, self._forget_quit)
            self.notify("^c again leaves", timeout=_SECONDS_TO_QUIT, markup=False)

    @on(SnapshotPublished)
    def _show(self) -> None:
        self._sight = self._onlooker.look()
        self._main.show(self._sight)

    @on(CommandGiven)
    def _send(self, message: CommandGiven) -> None:
        self._session.send(message.command)

    @on(KeyClicked)
    def _press(self, message: KeyClicked) -> None:
        self.simulate_key(message.key)

    def _announce(self) -> None:
        self.post_message(SnapshotPublished())

    def _count_down(self) -> None:
        if is_counting(self._sight.snapshot):
            self._announce()

    def _forget_quit(self) -> None:
        self._is_quit_asked = False


def _nothing() -> None:
    """Stand in for the end of a subscription that has not begun."""
