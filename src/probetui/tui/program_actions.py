"""What can be done with the program itself: look, copy, picture, reload, leave."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from textual import on, work
from textual.drivers.linux_driver import LinuxDriver
from textual.strip import Strip

from probetui.errors import ManifestError, ProbetuiError
from probetui.presentation.changes import change_lines
from probetui.presentation.spans import EMPTY, Line, line, strong
from probetui.tui.asking_driver import AskingDriver
from probetui.tui.edits import edited_timings
from probetui.tui.messages import BackgroundTold
from probetui.tui.outside import Reread, Timings
from probetui.tui.shell import open_shell, shell_command
from probetui.tui.stage import StagedApp
from probetui.tui.themes import theme_on

# What is not to be seen at the start is imported when it is wanted.

SECONDS_TO_QUIT = 2.0
_FIRST_LINE = 70
_MOST_TEXTS = 10_000


class ProgramActions(StagedApp, inherit_bindings=False):
    """The part of the app that has nothing to do with pods."""

    has_mouse = True
    _is_quit_asked = False
    _theme_of_terminal = ""

    def follow_terminal(self) -> None:
        """Have the terminal asked for its background, and put on what goes with it."""
        # Another one was chosen by a variable of Textual's.
        if self.driver_class is LinuxDriver:
            self.driver_class = AskingDriver
            self._theme_of_terminal = self.theme

    @on(BackgroundTold)
    def _put_on_what_fits(self, message: BackgroundTold) -> None:
        # Somebody may have chosen another theme meanwhile.
        if self.theme == self._theme_of_terminal:
            self.theme = theme_on(is_light=message.background.is_light)
            self._theme_of_terminal = self.theme

    def action_set_theme(self, name: str) -> None:
        """Put on other colours."""
        self.theme = name

    def action_save_picture(self, form: str = "svg") -> None:
        """Save the screen as a picture, or as text."""
        folder = self.stage.options.screenshot_folder
        try:
            if form == "svg":
                path = self.save_screenshot(path=str(folder))
            else:
                path = str(self._save_text(folder))
        except OSError as error:
            self.notify(f"no picture: {error}", severity="error", markup=False)
        else:
            self.notify(f"saved {path}", markup=False)

    def action_export(self, form: str = "json") -> None:
        """Write the state of all probes to a file."""
        from probetui.tui.exporting import export_state  # noqa: PLC0415  # as above

        try:
            path = export_state(self.stage)
        except OSError as error:
            self.notify(f"no {form}: {error}", severity="error", markup=False)
        else:
            self.notify(f"saved {path}", markup=False)

    def action_mouse(self) -> None:
        """Leave the mouse to the terminal, so that it marks text there, and back."""
        driver = self._driver
        change = getattr(
            driver, f"_{'disable' if self.has_mouse else 'enable'}_mouse_support", None
        )
        if change is None:
            self.notify("the mouse cannot be changed here", markup=False)
            return
        change()
        self.has_mouse = not self.has_mouse
        whose = "probetui's" if self.has_mouse else "the terminal's"
        self.notify(f"the mouse is {whose}", markup=False)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text, in the first way that works, and say what came of it."""
        self._clipboard = text  # what is pasted into fields of this program
        self._copy_out(text)

    @work(exclusive=True, group="copy")
    async def _copy_out(self, text: str) -> None:
        from probetui.tui.clipboard import copy  # noqa: PLC0415  # as above

        driver = self._driver
        write = None if driver is None or self.is_headless else driver.write
        copied = await copy(text, os.environ, write)
        severity = "error" if copied.is_refused else "information"
        self.notify(copied.words, severity=severity, markup=False)  # type: ignore[arg-type]  # one of its words

    async def action_shell(self) -> None:
        """Open a shell in the chosen container; the screen is back when it ends."""
        if not (command := shell_command(self.stage.now)):
            return
        if trouble := await open_shell(self, command):
            self.notify(trouble, severity="error", markup=False)

    def action_copy_menu(self) -> None:
        """Offer what there is to copy of the chosen container."""
        from probetui.tui.copies import copies  # noqa: PLC0415  # as above
        from probetui.tui.screens.choice import ChoiceScreen  # noqa: PLC0415

        subject = self.stage.subject
        if subject is None:
            return
        found = copies(subject, self.stage.sight)

        def chosen(index: int | None) -> None:
            if index is not None:
                self.copy_to_clipboard(found[index].text)

        choices = [
            (each.name, each.text[:_FIRST_LINE].split("\n")[0]) for each in found
        ]
        is_ascii = self.stage.options.ascii
        self.push_screen(ChoiceScreen("Copy", choices, is_ascii=is_ascii), chosen)

    def action_copy_or_quit(self) -> None:
        """Copy what is marked; without a mark, quit if asked twice in two seconds."""
        if text := self.screen.get_selected_text():
            self.copy_to_clipboard(text)
        elif self._is_quit_asked:
            self.exit()
        else:
            self._is_quit_asked = True
            self.set_timer(SECONDS_TO_QUIT, self._forget_quit)
            self.notify("^c again leaves", timeout=SECONDS_TO_QUIT, markup=False)

    def action_leave(self) -> None:
        """Leave; ask first if something would be left behind."""
        stay = self.stage.outside.leaves_behind
        left = stay() if stay is not None else ()
        if not left:
            self.exit()
            return
        question = line(
            "Leave? These pods stay: ",
            strong(", ".join(left)),
            ". `probetui down` removes them.",
        )
        self.ask([question], self.exit)

    def action_reload(self) -> None:
        """Read the manifests again, and go by them once what changes was seen."""
        if (reread := self.stage.outside.reread) is None:
            return
        try:
            read = reread()
        except ManifestError as error:
            for problem in error.problems:
                self.notify(problem, severity="error", markup=False)
        except ProbetuiError as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            self._show_changes(read)

    def action_write_manifest(self) -> None:
        """Write a copy of the chosen pod's manifest with the timings in force."""
        self.write_manifest({})

    def write_manifest(self, shown: Timings) -> None:
        """Write that copy, with timings that are shown but not in force, too."""
        write, subject = self.stage.outside.copy_edited, self.stage.subject
        if write is None or subject is None:
            return
        timings = {**edited_timings(self.stage.sight.snapshot.pods), **shown}
        try:
            copy = write(subject.pod.pod.uid, timings)
        except ManifestError as error:
            for problem in error.problems:
                self.notify(problem, severity="error", markup=False)
        except ProbetuiError as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            fields = (
                "1 field differs"
                if copy.fields == 1
                else f"{copy.fields} fields differ"
            )
            self.notify(f"saved {copy.path}: {fields} from the manifest", markup=False)

    def ask(self, question: Sequence[Line], do: Callable[[], None]) -> None:
        """Ask, and do it if the answer is yes."""
        from probetui.tui.screens.question import QuestionScreen  # noqa: PLC0415

        def answered(is_yes: bool | None) -> None:  # noqa: FBT001  # the framework's
            if is_yes:
                do()

        screen = QuestionScreen(question, is_ascii=self.stage.options.ascii)
        self.push_screen(screen, answered)

    def _show_changes(self, read: Reread) -> None:
        if not read.changes and not read.changes_objects:
            self.notify("nothing has changed in the manifests", markup=False)
            return
        changes = change_lines(read.changes, self.stage.sight.view)
        if read.changes_objects:
            changes.append(line("ConfigMaps or Secrets are not as they were."))
        self.ask(
            [line("Go by the manifests as they are now?"), EMPTY, *changes],
            partial(self._apply, read),
        )

    def _apply(self, read: Reread) -> None:
        read.apply()
        count = len(read.changes)
        pods = "1 pod" if count == 1 else f"{count} pods"
        self.notify(f"{pods} changed", markup=False)

    def _save_text(self, folder: Path) -> Path:
        """Write what stands on the screen, line by line."""
        # Textual has no other way to the text of a screen.
        strips: list[Strip] = self.screen._compositor.render_strips()  # noqa: SLF001
        lines = [each.text.rstrip() for each in strips]
        for number in range(1, _MOST_TEXTS):
            path = folder / f"probetui-{number}.txt"
            try:
                with path.open(
                    "x", encoding="utf-8", errors="backslashreplace"
                ) as file:
                    file.write("\n".join(lines) + "\n")
            except FileExistsError:
                continue
            return path
        raise FileExistsError(f"{folder} has {_MOST_TEXTS} of them already")

    def _forget_quit(self) -> None:
        self._is_quit_asked = False
