"""Reading what `-f` and `--static` name: files, folders, standard input, URLs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from probetui.cli.usage_hints import MANIFEST_SUFFIXES
from probetui.errors import ManifestError, NothingToDoError, ProbetuiError, UsageError
from probetui.k8s.pod_source import API_SOURCE, FILE_SOURCE, HTTP_SOURCE
from probetui.manifest.yaml.parser import MAX_BYTES, SourceFile
from probetui.record.credentials import mask_credentials
from probetui.untrusted_files import AN_INPUT, claim_file, read_regular

STDIN = STDOUT = "-"
_ANY_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HTTP_URL = re.compile(r"https?://", re.IGNORECASE)
_ENOUGH = MAX_BYTES + 1
"""One byte more than is accepted, so that whoever parses it can refuse it."""


class UrlError(ProbetuiError):
    """Why a URL gave no manifest; names the URL, without its credentials."""


class UrlPoll(NamedTuple):
    """The result of fetching the URLs again; `problems` are by the URLs."""

    has_changed: bool
    problems: Mapping[str, str]


class _Named(Struct, frozen=True):
    """A word of the command line; a static one is read as a kubelet reads it."""

    name: str
    is_static: bool

    @property
    def kubelet_source(self) -> str:
        if not self.is_static:
            return API_SOURCE
        return HTTP_SOURCE if is_url(self.name) else FILE_SOURCE


class SourceReader:
    """Reads what a command line names, once or again and again.

    Standard input is read once. What a URL gave is kept until `poll` asks it again.

    Difference: there may be several URLs of static pods; a kubelet has one.

    Args:
        filenames: files, folders, URLs, or `-`.
        static: files, folders and URLs of static pods.
        recursive: folders in folders count as well; never those of static pods.
        verifies_tls: certificates of servers are verified.
        awaits_urls: a URL of static pods may be read later than the rest.

    Attributes:
        unread: why URLs of static pods could not be read yet, by the URLs.
    """

    def __init__(
        self,
        filenames: Sequence[str],
        static: Sequence[str] = (),
        *,
        recursive: bool = False,
        verifies_tls: bool = True,
        awaits_urls: bool = False,
    ) -> None:
        names = [_Named(name, is_static=False) for name in filenames]
        names += [_Named(name, is_static=True) for name in static]
        self._names = tuple(dict.fromkeys(names))
        self._recursive = recursive
        self._verifies_tls = verifies_tls
        self._awaits_urls = awaits_urls
        self._kept: dict[_Named, list[SourceFile]] = {}
        self.unread: dict[str, str] = {}

    @property
    def kubelet_sources(self) -> tuple[str, ...]:
        """The kubelet's sources of pods that are read here."""
        return tuple(sorted({named.kubelet_source for named in self._names}))

    @property
    def unread_sources(self) -> frozenset[str]:
        """Those of them of which something has not been read yet."""
        return frozenset({HTTP_SOURCE} if self.unread else ())

    @property
    def has_urls(self) -> bool:
        """Whether there is something to poll."""
        return any(is_url(named.name) for named in self._names)

    @property
    def can_reread(self) -> bool:
        """Whether there is anything but standard input."""
        return any(named.name != STDIN for named in self._names)

    def paths(self, *, only_static: bool) -> tuple[Path, ...]:
        """Return the files and folders that are named, or those of static pods."""
        return tuple(
            Path(named.name)
            for named in self._names
            if not is_url(named.name)
            and named.name != STDIN
            and (named.is_static or not only_static)
        )

    def read(self, *, only_static: bool = False) -> list[SourceFile]:
        """Read the files, and return all there is in the order of the command line.

        Args:
            only_static: of what has been read before, read again only static pods.

        Raises:
            UsageError: nothing is named, or standard input is a terminal.
            ManifestError: what cannot be read, all of it.
            NothingToDoError: the folders hold no manifests.
        """
        if not self._names:
            raise UsageError("no -f FILE; `probetui demo` needs none")
        problems: list[str] = []
        for named in self._names:
            if self._is_kept(named, only_static=only_static):
                continue
            try:
                self._kept[named] = list(self._read(named))
            except OSError as error:
                name = error.filename or named.name
                problems.append(f"{name}: {error.strerror or error}")
            except UrlError as error:
                if not (named.is_static and self._awaits_urls):
                    problems.append(str(error))
                self.unread[named.name] = str(error)
        sources = [
            source for named in self._names for source in self._kept.get(named, ())
        ]
        if not problems and not sources:
            problems += self.unread.values()
        if problems:
            raise ManifestError(problems)
        if not sources:
            folders = format_filenames([named.name for named in self._names])
            raise NothingToDoError(f"{folders}: no .yaml, .yml or .json file is there")
        return sources

    async def poll(self) -> UrlPoll:
        """Ask each URL again, and keep what they give now."""
        from probetui.cli.urls import fetch

        has_changed = False
        problems: dict[str, str] = {}
        for named in self._names:
            if not is_url(named.name):
                continue
            try:
                data = await fetch(named.name, verifies_tls=self._verifies_tls)
            except UrlError as error:
                problems[named.name] = str(error)
                continue
            self.unread.pop(named.name, None)
            sources = [_of_url(named, data)]
            if sources != self._kept.get(named):
                self._kept[named] = sources
                has_changed = True
        return UrlPoll(has_changed, problems)

    def _is_kept(self, named: _Named, *, only_static: bool) -> bool:
        """Return whether what was read before is used again."""
        if named.name in self.unread:
            return True
        is_lasting = named.name == STDIN or is_url(named.name)
        return named in self._kept and (
            is_lasting or (only_static and not named.is_static)
        )

    def _read(self, named: _Named) -> Iterator[SourceFile]:
        name, source = named.name, named.kubelet_source
        if not name:
            # An empty path is the current folder, which is never meant by it.
            raise UsageError(
                'an empty name ("") is not a file; . is the current folder'
            )
        if name == STDIN:
            if named.is_static:
                raise UsageError("--static -: a kubelet reads no standard input")
            yield _read_stdin()
        elif _ANY_URL.match(name):
            if not is_url(name):
                raise UsageError(f"{mask_credentials(name)}: is not http or https")
            from probetui.cli.urls import fetch_now

            yield _of_url(named, fetch_now(name, verifies_tls=self._verifies_tls))
        elif not (path := Path(name)).is_dir():
            yield read_file(path, source)
        else:
            for file in _files_in(path, self._recursive, named):
                yield read_file(file, source)


def read_sources(filenames: Sequence[str], *, recursive: bool) -> list[SourceFile]:
    """Read files once; see `SourceReader`."""
    return SourceReader(filenames, recursive=recursive).read()


def is_url(name: str) -> bool:
    """Return whether a name is a URL that can be read."""
    return _HTTP_URL.match(name) is not None


def format_filenames(filenames: Sequence[str]) -> str:
    """Return names of files for a message, without credentials."""
    return ", ".join(
        "standard input" if name == STDIN else mask_credentials(name)
        for name in filenames
    )


def _files_in(folder: Path, recursive: bool, named: _Named) -> list[Path]:  # noqa: FBT001  # as the option is
    """Return the manifests of a folder, in order.

    Of static pods a kubelet takes every file that is not hidden, whatever its ending.

    Source: kubelet/config/file.go, v1.32.10, extractFromDir.
    """
    if named.is_static:
        files = (file for file in folder.iterdir() if not file.name.startswith("."))
    else:
        every = folder.rglob("*") if recursive else folder.iterdir()
        files = (file for file in every if file.suffix in MANIFEST_SUFFIXES)
    return sorted(file for file in files if file.is_file())


def read_file(path: Path, kubelet_source: str = API_SOURCE) -> SourceFile:
    """Read one file, or so much of it that it is known to be too big.

    Raises:
        OSError: it is no regular file, or the system refuses.
    """
    data = read_regular(path, _ENOUGH)
    return SourceFile(str(path), data, str(path.absolute()), kubelet_source)


def _of_url(named: _Named, data: bytes) -> SourceFile:
    name = mask_credentials(named.name)
    return SourceFile(name, data, named.name, named.kubelet_source)


def _read_stdin() -> SourceFile:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("-f -: nothing is piped into standard input")
    with suppress(OSError):  # a stream without a descriptor, in a test
        claim_file(sys.stdin.fileno(), AN_INPUT)
    return SourceFile(STDIN, sys.stdin.buffer.read(_ENOUGH))
