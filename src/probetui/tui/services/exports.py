"""Files that the screen writes (state, pictures, records), and texts to copy."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from pathlib import Path

from msgspec import Struct
from textual.strip import Strip

from probetui.errors import ProbetuiError
from probetui.k8s.api.status import POD_STATUS
from probetui.presentation.container.detail import (
    Subject,
    container_title,
    subject_command,
)
from probetui.presentation.kubectl.describe import describe_pod
from probetui.presentation.kubectl.yaml_view import yaml_lines
from probetui.presentation.probe.detail import output_text
from probetui.presentation.state_json import state_text
from probetui.presentation.text.cells import all_lines
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import View
from probetui.tui.screens.registry import open_choice
from probetui.tui.state import StatefulApp, UiState
from probetui.tui.view_model import ViewModel

_MOST_TEXT_FILES = 10_000


def save_state(app: StatefulApp, form: str = "json") -> None:
    """Write the state of all probes to a file."""
    _save(app, lambda: str(export_state(app.ui_state)), f"no {form}")


def save_picture(app: StatefulApp, form: str = "svg") -> None:
    """Write the screen to a file, as a picture or as text."""
    folder = app.ui_state.options.screenshot_folder
    if form == "svg":
        _save(app, lambda: app.save_screenshot(path=str(folder)), "no picture")
    else:
        _save(app, lambda: str(_save_text(app, folder)), "no picture")


def save_record(app: StatefulApp) -> None:
    """Save the session's record to a new file."""
    if (save := app.ui_state.host.save) is not None:
        _save(app, save, "")


def choose_copy(app: StatefulApp) -> None:
    """Open a menu of what can be copied of the selected container."""
    subject = app.ui_state.subject
    if subject is None:
        return
    items = copy_items(subject, app.ui_state.view_model)

    def copy(index: int | None) -> None:
        if index is not None:
            app.copy_to_clipboard(items[index].text)

    choices = [(item.name, item.preview) for item in items]
    is_ascii = app.ui_state.options.ascii
    app.push_screen(open_choice("Copy", choices, is_ascii=is_ascii), copy)


def _save(app: StatefulApp, save: Callable[[], str], failure: str) -> None:
    """Save a file; notify the user of its name, or of the error."""
    try:
        app.notify(f"saved {save()}")
    except OSError as error:
        app.notify(f"{failure}: {error}", severity="error")
    except ProbetuiError as error:
        app.notify(str(error), severity="error")


def _save_text(app: StatefulApp, folder: Path) -> Path:
    """Write the lines of the screen to a new file."""
    # Textual has no public way to read the text of a screen.
    strips: list[Strip] = app.screen._compositor.render_strips()  # noqa: SLF001
    lines = [strip.text.rstrip() for strip in strips]
    for number in range(1, _MOST_TEXT_FILES):
        path = folder / f"probetui-{number}.txt"
        try:
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write("\n".join(lines) + "\n")
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{folder} has {_MOST_TEXT_FILES} of them already")


def export_state(ui_state: UiState) -> Path:
    """Write the state of the session as JSON; return the path.

    Only the owner may read the file, because it has the output of probes. Existing
    files are never replaced.

    Raises:
        OSError: the file cannot be written.
    """
    view_model = ui_state.view_model
    at = view_model.snapshot.taken_at.astimezone(UTC)
    name = f"probetui-state-{at:%Y%m%dT%H%M%S}"
    text = state_text(
        view_model.snapshot,
        view_model.runtime_name,
        view_model.view.mask,
        view_model.past,
    )
    path = _unused(ui_state.options.screenshot_folder, name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _unused(folder: Path, name: str) -> Path:
    """Return an unused path, numbered if the name is taken."""
    path, number = folder / f"{name}.json", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.json"
    return path


class CopyItem(Struct, frozen=True):
    """A text that can be copied, safe and with secrets masked."""

    name: str
    text: str

    @property
    def preview(self) -> str:
        """The text if it is one line, else the number of its lines."""
        lines = self.text.count("\n") + (not self.text.endswith("\n"))
        return self.text if lines == 1 else f"{lines} lines"


def copy_items(subject: Subject, view_model: ViewModel) -> Sequence[CopyItem]:
    """Return what can be copied of a container and its selected probe."""
    return [item for item in _all(subject, view_model) if item.text]


def _all(subject: Subject, view_model: ViewModel) -> Iterator[CopyItem]:
    view = view_model.view
    yield CopyItem("name", container_title(subject, view))
    yield CopyItem("last output of the probe", _last_output(subject, view))
    yield CopyItem("command that repeats the probe", subject_command(subject, view))
    yield CopyItem("kubectl describe of the pod", _described(subject, view_model))
    yield CopyItem("YAML of the pod, with defaults and status", _yaml(subject, view))
    yield CopyItem("status of the pod as JSON", _status(subject, view))


def _last_output(subject: Subject, view: View) -> str:
    tick = subject.probe.last_run if subject.probe else None
    if tick is None or not tick.attempts:
        return ""
    return "\n".join(all_lines(view.mask.text(output_text(tick.attempts[-1]))))


def _described(subject: Subject, view_model: ViewModel) -> str:
    events = view_model.cluster.events(subject.pod.pod.uid)
    findings = view_model.past.findings(subject.pod.pod.uid)
    lines = describe_pod(subject.pod, events, view_model.view, findings)
    return "\n".join(text_of(line).rstrip() for line in lines) + "\n"


def _yaml(subject: Subject, view: View) -> str:
    return "\n".join(text_of(line) for line in yaml_lines(subject.pod, view)) + "\n"


def _status(subject: Subject, view: View) -> str:
    text = json.dumps(POD_STATUS.write(subject.pod.status), indent=2)
    return view.mask.text(text) + "\n"
