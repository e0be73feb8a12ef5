"""Reload manifests, or write copies with the edited timing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from probetui.debugger.timing import Timing
from probetui.engine.snapshot import PodSnapshot
from probetui.errors import ManifestError, ProbetuiError
from probetui.k8s.probe import ProbeKey
from probetui.presentation.pod import change_lines
from probetui.presentation.text.spans import EMPTY, Role, Span, line
from probetui.tui.host_services import ManifestReload, Timings
from probetui.tui.state import StatefulApp

_Result = TypeVar("_Result")


def reload_manifests(app: StatefulApp) -> None:
    """Read the manifests again; apply changes after a confirmation."""
    if (reread := app.ui_state.host.reread) is not None:
        read = _result_of(app, reread)
        if read is not None:
            _confirm_changes(app, read)


def write_manifest(app: StatefulApp, shown: Timings | None = None) -> None:
    """Write a copy of the selected pod's manifest with the edited timing.

    `shown` adds timing that is on the screen but not applied yet.
    """
    write, subject = app.ui_state.host.copy_edited, app.ui_state.subject
    if write is None or subject is None:
        return
    timings = {**edited_timings(app.ui_state.view_model.snapshot.pods), **(shown or {})}
    copy = _result_of(app, partial(write, subject.pod.pod.uid, timings))
    if copy is not None:
        differ = (
            "1 field differs" if copy.fields == 1 else f"{copy.fields} fields differ"
        )
        app.notify(f"saved {copy.path}: {differ} from the manifest")


def edited_timings(pods: Iterable[PodSnapshot]) -> dict[ProbeKey, Timing]:
    """Return the timing of each probe that differs from its manifest."""
    return {
        probe.key: Timing.of(probe.probe)
        for pod in pods
        for container in pod.containers
        for probe in container.probes
        if probe.manifest_probe is not None
    }


def _result_of(app: StatefulApp, read: Callable[[], _Result]) -> _Result | None:
    """Return the result of a call; on an error notify the user and return None."""
    try:
        return read()
    except ManifestError as error:
        for problem in error.problems:
            app.notify(problem, severity="error")
    except ProbetuiError as error:
        app.notify(str(error), severity="error")
    return None


def _confirm_changes(app: StatefulApp, read: ManifestReload) -> None:
    if not read.changes and not read.changes_objects:
        app.notify("The manifests have not changed.")
        return
    view = app.ui_state.view_model.view
    changes = [line(Span(view.safe(text), Role.WARNING)) for text in read.warnings]
    changes += change_lines(read.changes, view)
    if read.changes_objects:
        changes.append(line("ConfigMaps or Secrets have changed."))
    question = [line("Apply the changed manifests?"), EMPTY, *changes]
    app.ask(question, partial(_apply, app, read))


def _apply(app: StatefulApp, read: ManifestReload) -> None:
    read.apply()
    count = len(read.changes)
    app.notify("1 pod changed" if count == 1 else f"{count} pods changed")
