"""The log of the program itself, in a file; screens and pipes stay clean."""

from __future__ import annotations

import logging
import textwrap
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from probetui.cli.folders import log_file
from probetui.errors import UsageError
from probetui.safe_text import safe_line, safe_lines

LOGGERS = ("probetui", "asyncio")
"""Ours, and the one that tells of bugs in callbacks; it would write to the screen."""

_ExcInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None]
    | tuple[None, None, None]
)
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
        target.parent.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = RotatingFileHandler(
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
            before.close()
        log.handlers[:] = [handler]
        log.propagate = False
        log.setLevel(level.upper())


class _SafeFormatter(logging.Formatter):
    """Writes what the terminal that shows the log cannot obey.

    A message is one line, so that none looks like another entry; a traceback has its
    own.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's
        """Return the line of an entry."""
        return safe_line(super().formatMessage(record))

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  # logging's
        """Return the lines of a traceback, indented."""
        return textwrap.indent(safe_lines(super().formatException(ei)), "    ")
