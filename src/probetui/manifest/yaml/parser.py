"""Parse YAML text into documents with positions; refuse invalid or large text."""

from __future__ import annotations

from collections.abc import Iterator

import yaml
from msgspec import Struct
from yaml.reader import Reader

from probetui.k8s.pod_source import API_SOURCE
from probetui.manifest.problem import Position, Problem, escape_unprintable
from probetui.manifest.yaml.composer import (
    TOO_DEEP,
    Composer,
    ParseError,
    mark_position,
    parse_error,
)
from probetui.manifest.yaml.nodes import (
    ListNode,
    MapEntry,
    MapNode,
    ScalarNode,
    YamlDocument,
    YamlNode,
    is_null,
)

MAX_BYTES = 10 * 1024 * 1024
MAX_DOCUMENTS = 1000

_SCANNER_TOO_DEEP = "exceeded maximum nesting depth"
"""The errors of PyYAML 6.0.4's scanner about lists, raised ahead of their events."""

YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NOT_YAML = Reader.NON_PRINTABLE
_UTF16 = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_EXCERPT = 120
_BREAKS = "\n\r\x85\u2028\u2029"


class SourceFile(Struct, frozen=True):
    """A file's name and content.

    `name` precedes every message, `-` for standard input. `location` identifies the
    file (an absolute path or URL) in the uid of pods that have none; if it is empty,
    the name does. `kubelet_source` is the source of pods that it belongs to: static
    pods are in files (`file`) and behind URLs (`http`), all others are in `api`.
    """

    name: str
    data: bytes | str
    location: str = ""
    kubelet_source: str = API_SOURCE

    @property
    def is_static(self) -> bool:
        """Whether its pods are static."""
        return self.kubelet_source != API_SOURCE


class ParsedFile(Struct, frozen=True):
    """The documents of a file, up to a syntax error.

    Empty documents (only comments, null) are left out; `starts_empty` says that the
    first one is.
    """

    documents: tuple[YamlDocument, ...]
    problems: tuple[Problem, ...] = ()
    starts_empty: bool = False


def parse_yaml(source: SourceFile) -> ParsedFile:
    """Parse the documents of one file."""
    documents: list[YamlDocument | None] = []
    problems: tuple[Problem, ...] = ()
    try:
        for document in _documents(source.name, decode_source(source)):
            documents.append(document)  # noqa: PERF402  # kept when a later one fails
    except ParseError as error:
        problems = (error.problem,)
    kept = tuple(document for document in documents if document is not None)
    return ParsedFile(kept, problems, documents[:1] == [None])


def parse_yaml_value(name: str, text: str) -> YamlNode:
    """Parse one value, as after a `--set`; its position has no line.

    Raises:
        ValueError: the text is not a YAML value.
    """
    parsed = parse_yaml(SourceFile(name, text))
    if parsed.problems:
        raise ValueError(parsed.problems[0].message)
    if not parsed.documents:
        return ScalarNode(None, text, Position(name))
    return _set_position(parsed.documents[0].root, Position(name))


def _set_position(node: YamlNode, position: Position) -> YamlNode:
    match node:
        case ScalarNode():
            return ScalarNode(node.value, node.text, position)
        case ListNode():
            return ListNode(
                tuple(_set_position(item, position) for item in node.items), position
            )
        case MapNode():
            entries = (
                MapEntry(entry.key, position, _set_position(entry.value, position))
                for entry in node.entries
            )
            return MapNode(tuple(entries), position)


def _documents(file: str, text: str) -> Iterator[YamlDocument | None]:
    """Yield the documents of a text, None for an empty one."""
    composer = Composer(file)
    count = 0
    try:
        for event in yaml.parse(text, Loader=YAML_LOADER):
            if isinstance(event, yaml.DocumentStartEvent):
                composer = Composer(file, composer.nodes)
                count += 1
                if count > MAX_DOCUMENTS:
                    message = f"the file has more than {MAX_DOCUMENTS} documents"
                    position = mark_position(file, event.start_mark)
                    raise parse_error(position, message)
            elif isinstance(event, yaml.DocumentEndEvent):
                if composer.root is None or is_null(composer.root):
                    yield None
                else:
                    yield YamlDocument(composer.root, tuple(composer.duplicates))
            else:
                composer.feed(event)
    except yaml.YAMLError as error:
        raise ParseError(_syntax_problem(file, text, error)) from None


def decode_source(source: SourceFile) -> str:
    """Return the text of a file without its byte order mark.

    Raises:
        ParseError: it is too large, not text, or has characters that YAML forbids.
    """
    data = source.data
    if isinstance(data, bytes):
        _check_size(source.name, len(data))
        text = _decoded_bytes(source.name, data)
    else:
        text = data
        _check_size(source.name, len(text))
    text = text.removeprefix("\ufeff")
    stray = _NOT_YAML.search(text)
    if stray is not None:
        position = _position_at(source.name, text, stray.start())
        message = f"character {escape_unprintable(stray[0])} is not allowed in YAML"
        raise parse_error(position, message)
    return text


def _check_size(name: str, size: int) -> None:
    if size > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES // 1024**2} MiB"
        raise parse_error(Position(name), message)


def _decoded_bytes(name: str, data: bytes) -> str:
    encoding = next(
        (encoding for bom, encoding in _UTF16 if data.startswith(bom)), "utf-8"
    )
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace").removeprefix("\ufeff")
        position = _position_at(name, before, len(before))
        message = f"is not {encoding} text (byte 0x{data[error.start]:02x})"
        raise parse_error(position, message) from None


def _position_at(file: str, text: str, index: int) -> Position:
    before = text[:index].splitlines(keepends=True)
    if not before or before[-1][-1] in _BREAKS:
        return Position(file, len(before) + 1, 1)
    return Position(file, len(before), len(before[-1]) + 1)


def _syntax_problem(file: str, text: str, error: yaml.YAMLError) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Problem(Position(file), "", escape_unprintable(str(error)), rule="yaml")
    position = mark_position(file, error.problem_mark)
    if error.problem == _SCANNER_TOO_DEEP:
        return Problem(position, "", TOO_DEEP, rule="yaml")
    message = str(error.problem)
    start = error.context_mark
    if error.context and start and start.line != error.problem_mark.line:
        message += f" {error.context} that begins in line {start.line + 1}"
    lines = text.splitlines()
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    if line[position.column - 1 : position.column] == "\t":
        message += "; a tab cannot indent YAML, use spaces"
    return Problem(
        position, "", message, rule="yaml", excerpt=_excerpt(line, position.column)
    )


def _excerpt(line: str, column: int) -> tuple[str, ...]:
    """Return a line with a caret below, truncated around the column.

    An empty line, such as the one after the last, has no excerpt.
    """
    if not line.strip():
        return ()
    begin = max(0, column - _EXCERPT)
    before = escape_unprintable(line[begin : column - 1].replace("\t", " "))
    after = escape_unprintable(line[column - 1 : begin + _EXCERPT].replace("\t", " "))
    return (f"    {before}{after}", f"    {' ' * len(before)}^")
