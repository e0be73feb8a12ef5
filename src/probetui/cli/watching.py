"""Manifests that are read again when they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import awatch

from probetui.cli.notes import Notes
from probetui.cli.roster import Wanted
from probetui.errors import ManifestError, NothingToDoError, UsageError

POLL_MILLISECONDS = 20_000
"""The kubelet looks at its static pods this often, whether or not it was told.

Source: apis/config/v1beta1/defaults.go, v1.32.10, FileCheckFrequency.
"""

GATHER_MILLISECONDS = 200
"""Changes that come together are one: editors write a file in several steps."""


async def watch_manifests(
    filenames: Sequence[str],
    reload: Callable[[], Wanted],
    change: Callable[[Wanted], None],
    notes: Notes,
) -> None:
    """Read manifests again whenever they change, and hand over what they ask for.

    Files that cannot be used are told of, and change nothing until they can.

    Args:
        filenames: the files and folders that were named.
        reload: reads them all.
        change: takes what they ask for.
        notes: where it is said what is wrong with the files.
    """
    told: tuple[str, ...] = ()
    folders = {_watched(Path(each)) for each in filenames}
    async for _ in awatch(
        *folders,
        step=GATHER_MILLISECONDS,
        rust_timeout=POLL_MILLISECONDS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    ):
        try:
            change(reload())
        except NothingToDoError:
            change(Wanted())
            problems: tuple[str, ...] = ()
        except (ManifestError, UsageError) as error:
            problems = getattr(error, "problems", (str(error),))
        else:
            problems = ()
        if problems != told:
            for each in problems:
                notes.error(each)
        told = problems


def _watched(path: Path) -> Path:
    """Return the folder to watch: a file may be replaced by another one."""
    return path if path.is_dir() else path.parent
