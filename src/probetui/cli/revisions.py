"""Manifests as they were in a revision of a Git repository.

Git itself is asked, by commands that read objects and run no hook, filter or pager.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from probetui.cli.usage_hints import MANIFEST_SUFFIXES
from probetui.errors import NothingToDoError
from probetui.manifest.yaml.parser import MAX_BYTES, SourceFile

_ENOUGH = MAX_BYTES + 1
"""One byte more than is accepted, so that whoever parses it can refuse it."""
_LINK = "120000"


class _TreeEntry(NamedTuple):
    """A file of a folder; `name` is relative to the folder."""

    mode: str
    blob: str
    name: str


def find_revision(name: str) -> str | None:
    """Return the commit that Git takes a name for here; None if for none, or no Git."""
    if not name or name.startswith("-") or shutil.which("git") is None:
        return None
    answer = _ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return None if answer is None else answer.decode().strip()


def files_at(
    revision: str, name: str, path: str, *, recursive: bool
) -> list[SourceFile] | None:
    """Return the manifests that a path had in a revision, in order of their names.

    Args:
        revision: a commit.
        name: how the user calls it.
        path: a file or a folder; of a folder the files that `-f` would read.
        recursive: folders in folders count as well.

    Returns:
        The files; None if the path was not there.

    Raises:
        NothingToDoError: a file is a link, which a revision does not follow.
    """
    relative = os.path.relpath(path)
    # Git knows the current folder by no name.
    place = f"{revision}:./{'' if relative == os.curdir else relative}"
    kind = _ask("cat-file", "-t", place)
    if kind is None:
        return None
    if kind.strip() == b"blob":
        return [SourceFile(f"{name}:{path}", _read(place))]
    sources = []
    for entry in sorted(_entries(place, recursive=recursive), key=_by_name):
        at = f"{name}:{path.rstrip('/')}/{entry.name}"
        if entry.mode == _LINK:
            raise NothingToDoError(f"{at}: is a symbolic link; name what it leads to")
        sources.append(SourceFile(at, _read(entry.blob)))
    return sources


def _by_name(entry: _TreeEntry) -> PurePosixPath:
    return PurePosixPath(entry.name)


def _entries(place: str, *, recursive: bool) -> Iterator[_TreeEntry]:
    listing = (
        _ask("ls-tree", "-z", "--full-tree", *(["-r"] if recursive else []), place)
        or b""
    )
    for line in os.fsdecode(listing).split("\0"):
        fields, _, name = line.partition("\t")
        if PurePosixPath(name).suffix in MANIFEST_SUFFIXES:
            mode, kind, blob = fields.split()
            if kind == "blob":
                yield _TreeEntry(mode, blob, name)


def _read(place: str) -> bytes:
    """Return a file, or so much of it that it is known to be too big."""
    with subprocess.Popen(  # noqa: S603  # our own words, and what Git has said
        _command("cat-file", "blob", place),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    ) as git:
        assert git.stdout is not None  # noqa: S101  # for the type
        return git.stdout.read(_ENOUGH)


def _ask(*words: str) -> bytes | None:
    """Return what Git prints, None if it refuses."""
    answer = subprocess.run(  # noqa: S603  # a name begins with no hyphen
        _command(*words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env=_environment(),
    )
    return None if answer.returncode else answer.stdout


def _command(*words: str) -> list[str]:
    return ["git", "--no-optional-locks", *words]


def _environment() -> dict[str, str]:
    # Objects that a partial clone lacks are not fetched: nothing here uses a network.
    return {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
