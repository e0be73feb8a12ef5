"""The log file of probetui itself, and reports of crashes."""

from __future__ import annotations

import logging
import os
import platform
import re
import stat
import tempfile
import textwrap
import traceback
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from probetui import __version__
from probetui.cli.folders import log_file, make_private_directory, state_folder
from probetui.cli.printing import print_notice, print_text
from probetui.errors import UsageError
from probetui.output_files import OutputKind, check_output
from probetui.record.credentials import mask_credentials
from probetui.safe_text import safe_line, safe_lines
from probetui.untrusted_files import claim_file, open_output

LOGGERS = ("probetui", "asyncio")
"""Ours, and asyncio's: it reports bugs in callbacks, and not to the screen."""

_ExcInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None]
    | tuple[None, None, None]
)
CRASH_STATUS = 70

_OWNER_ONLY = 0o600
_MEGABYTE = 1024 * 1024
_OLDER_LOGS = 2
_ENTRY = re.compile(
    rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ (?:probetui|asyncio)\b"
)


def _is_log(beginning: bytes) -> bool:
    return _ENTRY.match(beginning) is not None


_LOG_KIND = OutputKind("a log of probetui", _is_log)


def start_log(path: Path | None, level: str) -> None:
    """Log to a file from now on.

    The usual file is written where it can be; nobody asked for it, so that it is no
    error where it cannot. Three of a megabyte are kept.

    Raises:
        UsageError: a file that was named cannot be written.
    """
    if path is not None and not path.name:
        raise UsageError(f"--log-file {path}: not the name of a file")
    target = path or log_file()
    try:
        make_private_directory(target.parent)
        if path is not None:
            for log_path in _log_paths(path):
                check_output(log_path, _LOG_KIND)
        handler: logging.Handler = _PrivateLog(
            target, maxBytes=_MEGABYTE, backupCount=_OLDER_LOGS, encoding="utf-8"
        )
    except OSError as error:
        if path is not None:
            reason = error.strerror or error
            raise UsageError(f"--log-file {path}: {reason}") from error
        handler = logging.NullHandler()
    handler.setFormatter(
        _SafeFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    for name in LOGGERS:
        log = logging.getLogger(name)
        for before in log.handlers:
            # A full disk takes nothing of what it still has.
            with suppress(OSError):
                before.close()
        log.handlers[:] = [handler]
        log.propagate = False
        log.setLevel(level.upper())


def _log_paths(path: Path) -> list[Path]:
    """Return a log and what it is renamed to once it is long."""
    numbers = range(1, _OLDER_LOGS + 1)
    return [path, *(path.with_name(f"{path.name}.{number}") for number in numbers)]


class _PrivateLog(RotatingFileHandler):
    """A log that only its owner may read, from the first byte on.

    Errors that are logged repeat what containers and servers said.
    """

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's
        """Go on without an entry: a full disk has no room for a note about it either.

        Logging would print the entry, with all that is in it, across the screen.
        """

    def _open(self) -> TextIOWrapper:
        flags = os.O_CREAT | os.O_APPEND
        descriptor = open_output(Path(self.baseFilename), flags, _OWNER_ONLY)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, _OWNER_ONLY)
            claim_file(descriptor, _LOG_KIND.name)
        return os.fdopen(descriptor, "a", encoding=self.encoding, errors=self.errors)


class _SafeFormatter(logging.Formatter):
    """Writes what the terminal that shows the log cannot obey, without credentials.

    A message is one line, so that none looks like another entry; a traceback has its
    own.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's
        """Return the line of an entry."""
        return safe_line(mask_credentials(super().formatMessage(record)))

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  # logging's
        """Return the lines of a traceback, indented."""
        text = mask_credentials(super().formatException(ei))
        return textwrap.indent(safe_lines(text), "    ")


def report_crash(error: BaseException, args: Sequence[str]) -> int:
    """Write the report of a bug, name its file on stderr, return the exit status."""
    where = save_crash_report(error, args)
    print_notice(
        "error",
        f"this is a bug in probetui ({type(error).__name__}); please send {where}",
    )
    return CRASH_STATUS


def save_crash_report(error: BaseException, args: Sequence[str]) -> str:
    """Write the report of a bug and return where it is: `the report in FILE`.

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
    report = safe_lines(mask_credentials(whole))
    path = _write_report(report)
    if path is None:
        # Better a traceback on the screen than a bug that nobody can report.
        print_text(report, err=True)
        return "the report above"
    return f"the report in {path}"


def _write_report(report: str) -> Path | None:
    for folder in (state_folder(), Path(tempfile.gettempdir())):
        try:
            make_private_directory(folder)
            descriptor, name = tempfile.mkstemp(".txt", "crash-", folder)
            with os.fdopen(descriptor, "w", errors="backslashreplace") as file:
                file.write(report)
        except OSError:
            continue
        return Path(name)
    return None
