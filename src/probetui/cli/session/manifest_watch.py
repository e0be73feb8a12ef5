"""`--watch`: manifests are reloaded when they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import awatch

from probetui.cli.printing import Notes
from probetui.cli.session.pod_registry import DesiredState
from probetui.errors import ManifestError, NothingToDoError, UsageError

POLL_MILLISECONDS = 20_000
"""The kubelet reads its static pods this often, notified or not.

Source: apis/config/v1beta1/defaults.go, v1.32.10, FileCheckFrequency.
"""

GATHER_MILLISECONDS = 200
"""Changes within this time are one: editors write a file in several steps."""


async def watch_manifests(
    filenames: Sequence[str],
    reload: Callable[[], DesiredState],
    apply: Callable[[DesiredState], None],
    notes: Notes,
) -> None:
    """Reload manifests whenever they change, and apply them.

    Invalid files are reported, and change nothing until they are valid.

    Args:
        filenames: the files and folders that were named.
        reload: reads them all.
        apply: applies what they ask for.
        notes: where problems are reported.
    """
    reported: tuple[str, ...] = ()
    folders = {_watched(Path(filename)) for filename in filenames}
    async for _ in awatch(
        *folders,
        step=GATHER_MILLISECONDS,
        rust_timeout=POLL_MILLISECONDS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    ):
        try:
            apply(reload())
        except NothingToDoError:
            apply(DesiredState())
            problems: tuple[str, ...] = ()
        except (ManifestError, UsageError) as error:
            problems = getattr(error, "problems", (str(error),))
        else:
            problems = ()
        if problems != reported:
            for problem in problems:
                notes.error(problem)
            if problems:
                notes.warning("the pods run on as they were before this change")
        reported = problems


def _watched(path: Path) -> Path:
    """Return the folder to watch: a file may be replaced by another one."""
    return path if path.is_dir() else path.parent
