"""The log of the program itself, in a file; screens and pipes stay clean."""

from __future__ import annotations

import logging
import os
import stat
import textwrap
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from probetui.cli.folders import log_file, make_private
from probetui.drive.credentials import without_credentials
from probetui.errors import UsageError
from probetui.safe_text import safe_line, safe_lines
from probetui.untrusted_files import open_output

LOGGERS = ("probetui", "asyncio")
"""Ours, and the one that tells of bugs in callbacks; it would write to the screen."""

_ExcInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None]
    | tuple[None, None, None]
)
_OWNER_ONLY = 0o600
_MEGABYTE = 1024 * 1024


def start_log(path: Path | None, level: str) -> None:
    """Log to a file from now on.

    The usual file is written where it can be; nobody asked for it, so that it is no
    error where it cannot. Three of a megabyte are kept.

    Raises:
        UsageError: a file that was named cannot be written.
    """
    target = path or log_file()
    try:
        make_private(target.parent)
        handler: logging.Handler = _PrivateLog(
            target, maxBytes=_MEGABYTE, backupCount=2, encoding="utf-8"
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
        return os.fdopen(descriptor, "a", encoding=self.encoding, errors=self.errors)


class _SafeFormatter(logging.Formatter):
    """Writes what the terminal that shows the log cannot obey, without credentials.

    A message is one line, so that none looks like another entry; a traceback has its
    own.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's
        """Return the line of an entry."""
        return safe_line(without_credentials(super().formatMessage(record)))

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  # logging's
        """Return the lines of a traceback, indented."""
        told = without_credentials(super().formatException(ei))
        return textwrap.indent(safe_lines(told), "    ")
