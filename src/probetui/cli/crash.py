"""What a bug leaves behind: a report in a file, and one line that names it."""

from __future__ import annotations

import os
import platform
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from probetui import __version__
from probetui.cli.folders import make_private, state_folder
from probetui.cli.printing import print_notice, print_text
from probetui.drive.credentials import without_credentials
from probetui.safe_text import safe_lines

STATUS = 70


def report_crash(error: BaseException, args: Sequence[str]) -> int:
    """Write the report of a bug, name its file on stderr, return the exit status.

    It is meant to be sent: what its place shows to be a password is not in it.
    """
    whole = "".join(
        [
            f"probetui {__version__}, Python {platform.python_version()}\n",
            f"{platform.platform()}\n",
            f"arguments: {' '.join(args)}\n\n",
            *traceback.format_exception(error),
        ]
    )
    report = safe_lines(without_credentials(whole))
    path = _write(report)
    if path is None:
        # Better a traceback on the screen than a bug that nobody can report.
        print_text(report, err=True)
        where = "the report above"
    else:
        where = f"the report in {path}"
    print_notice(
        "error",
        f"this is a bug in probetui ({type(error).__name__}); please send {where}",
    )
    return STATUS


def _write(report: str) -> Path | None:
    for folder in (state_folder(), Path(tempfile.gettempdir())):
        try:
            make_private(folder)
            descriptor, name = tempfile.mkstemp(".txt", "crash-", folder)
            with os.fdopen(descriptor, "w", errors="backslashreplace") as file:
                file.write(report)
        except OSError:
            continue
        return Path(name)
    return None
