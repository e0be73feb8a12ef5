"""What is on the screen, as files for programs."""

from __future__ import annotations

import os
from datetime import UTC
from pathlib import Path

from probetui.presentation.state_json import state_text
from probetui.tui.stage import Stage


def export_state(stage: Stage) -> Path:
    """Write the state of the session as JSON and return where.

    Only its owner may read it, as it holds what probes printed. A file that is there
    is never replaced. Raises `OSError`.
    """
    sight = stage.sight
    at = sight.snapshot.taken_at.astimezone(UTC)
    name = f"probetui-state-{at:%Y%m%dT%H%M%S}"
    text = state_text(sight.snapshot, sight.runtime_name, sight.view.mask, sight.past)
    path = _unused(stage.options.screenshot_folder, name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _unused(folder: Path, name: str) -> Path:
    """Return a path that nothing has yet: with a number where there is one."""
    path, number = folder / f"{name}.json", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.json"
    return path
