"""Reading what `-f` names: files, folders, standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from probetui.errors import ManifestError, NothingToDoError, UsageError
from probetui.manifest.yaml.parser import MAX_BYTES, SourceFile
from probetui.untrusted_files import read_regular

STDIN = STDOUT = "-"
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ENOUGH = MAX_BYTES + 1
"""One byte more than is accepted, so that whoever parses it can refuse it."""


def read_sources(filenames: Sequence[str], *, recursive: bool) -> list[SourceFile]:
    """Read the files, in the order in which they were named.

    Args:
        filenames: files, folders, or `-`.
        recursive: folders in folders count as well.

    Raises:
        UsageError: no file is named, or standard input is a terminal.
        ManifestError: files that cannot be read, all of them.
        NothingToDoError: the folders hold no manifests.
    """
    if not filenames:
        raise UsageError("no -f FILE; `probetui demo` needs none")
    sources: list[SourceFile] = []
    problems: list[str] = []
    for name in dict.fromkeys(filenames):
        try:
            sources += _read(name, recursive=recursive)
        except OSError as error:
            problems.append(f"{error.filename or name}: {error.strerror or error}")
    if problems:
        raise ManifestError(problems)
    if not sources:
        folders = ", ".join(filenames)
        raise NothingToDoError(f"{folders}: no .yaml, .yml or .json file is there")
    return sources


def _read(name: str, *, recursive: bool) -> Iterator[SourceFile]:
    if not name:
        # An empty path is the current folder, which is never meant by it.
        raise UsageError('an empty name ("") is not a file; . is the current folder')
    if name == STDIN:
        yield _read_stdin()
    elif _URL.match(name):
        raise UsageError(f"{name}: URLs are not fetched; download it and name the file")
    elif not (path := Path(name)).is_dir():
        yield read_file(path)
    else:
        for file in sorted(path.rglob("*") if recursive else path.iterdir()):
            if file.suffix in _SUFFIXES and file.is_file():
                yield read_file(file)


def read_file(path: Path) -> SourceFile:
    """Read one file, or so much of it that it is known to be too big.

    Raises:
        OSError: it is no regular file, or the system refuses.
    """
    return SourceFile(str(path), read_regular(path, _ENOUGH), str(path.absolute()))


def _read_stdin() -> SourceFile:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("-f -: nothing is piped into standard input")
    return SourceFile(STDIN, sys.stdin.buffer.read(_ENOUGH))
