"""Text to YAML documents with positions; what is broken or too big is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from probetui.manifest.compose import Composer, RefusedError, position_of, refused
from probetui.manifest.nodes import (
    Document,
    Entry,
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    is_null,
)
from probetui.manifest.problem import Position, Problem, escape

MAX_BYTES = 10 * 1024 * 1024
MAX_DOCUMENTS = 1000

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NOT_YAML = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_UTF16 = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_EXCERPT = 120
_BREAKS = "\n\r\x85\u2028\u2029"


@dataclass(frozen=True, slots=True)
class Source:
    """One file as it was read, by whoever may read files.

    `name` is shown in front of every message, `-` for standard input. `location` is
    what makes the file itself (an absolute path or URL) and goes into the uid of pods
    that have none; the name is used where it is empty.
    """

    name: str
    data: bytes | str
    location: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file held; documents before a syntax error are kept.

    Documents that say nothing (only comments, null) are not in the list.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()


def parse(source: Source) -> Parsed:
    """Read the documents of one file."""
    documents: list[Document] = []
    try:
        for document in _documents(source.name, text_of(source)):
            documents.append(document)  # noqa: PERF402  # kept when a later one fails
    except RefusedError as error:
        return Parsed(tuple(documents), (error.problem,))
    return Parsed(tuple(documents))


def parse_value(name: str, text: str) -> Node:
    """Read one value, as after a `--set`; its position has no line.

    Raises ValueError with a sentence when the text is no YAML value.
    """
    parsed = parse(Source(name, text))
    if parsed.problems:
        raise ValueError(parsed.problems[0].message)
    if not parsed.documents:
        return ScalarNode(None, text, Position(name))
    return _placed(parsed.documents[0].root, Position(name))


def _placed(node: Node, position: Position) -> Node:
    match node:
        case ScalarNode():
            return ScalarNode(node.value, node.text, position)
        case ListNode():
            return ListNode(
                tuple(_placed(each, position) for each in node.items), position
            )
        case MapNode():
            entries = (
                Entry(each.key, position, _placed(each.value, position))
                for each in node.entries
            )
            return MapNode(tuple(entries), position)


def _documents(file: str, text: str) -> Iterator[Document]:
    """Yield the documents of a text that say something."""
    lines = text.splitlines()
    composer = Composer(file)
    begin = count = 0
    try:
        for event in yaml.parse(text, Loader=LOADER):
            if isinstance(event, yaml.DocumentStartEvent):
                composer = Composer(file, composer.nodes)
                count += 1
                if count > MAX_DOCUMENTS:
                    message = f"the file has more than {MAX_DOCUMENTS} documents"
                    position = position_of(file, event.start_mark)
                    raise refused(position, message)
            elif isinstance(event, yaml.DocumentEndEvent):
                end = position_of(file, event.end_mark).line - 1
                if composer.root is not None and not is_null(composer.root):
                    duplicates = tuple(composer.duplicates)
                    text = _body(lines[begin:end])
                    yield Document(composer.root, text, duplicates)
                begin = end
            else:
                composer.feed(event)
    except yaml.YAMLError as error:
        raise RefusedError(_syntax_problem(file, lines, error)) from None


def _body(lines: list[str]) -> str:
    """Return a document's lines without the `---` it began with."""
    kept = list(lines)
    for index, line in enumerate(kept):
        if line.startswith("---"):
            kept[index : index + 1] = filter(None, [line[3:].strip()])
            break
        if line.strip() and not line.lstrip().startswith(("#", "%", "...")):
            break
    return "\n".join(kept).strip("\n") + "\n"


def text_of(source: Source) -> str:
    """Return the text of a file without the mark that it may begin with.

    Raises `RefusedError` for what is too big, not text, or not allowed in YAML.
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
        message = f"character {escape(stray[0])} is not allowed in YAML"
        raise refused(position, message)
    return text


def _check_size(name: str, size: int) -> None:
    if size > MAX_BYTES:
        message = f"the file is bigger than {MAX_BYTES // 1024**2} MiB"
        raise refused(Position(name), message)


def _decoded_bytes(name: str, data: bytes) -> str:
    encoding = next((each for bom, each in _UTF16 if data.startswith(bom)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace").removeprefix("\ufeff")
        position = _position_at(name, before, len(before))
        message = f"is not {encoding} text (byte 0x{data[error.start]:02x})"
        raise refused(position, message) from None


def _position_at(file: str, text: str, index: int) -> Position:
    before = text[:index].splitlines(keepends=True)
    if not before or before[-1][-1] in _BREAKS:
        return Position(file, len(before) + 1, 1)
    return Position(file, len(before), len(before[-1]) + 1)


def _syntax_problem(file: str, lines: list[str], error: yaml.YAMLError) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Problem(Position(file), "", escape(str(error)), rule="yaml")
    position = position_of(file, error.problem_mark)
    message = str(error.problem)
    start = error.context_mark
    if error.context and start and start.line != error.problem_mark.line:
        message += f" {error.context} that begins in line {start.line + 1}"
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    if line[position.column - 1 : position.column] == "\t":
        message += "; a tab cannot indent YAML, use spaces"
    return Problem(
        position, "", message, rule="yaml", excerpt=_excerpt(line, position.column)
    )


def _excerpt(line: str, column: int) -> tuple[str, ...]:
    """Return a line and a caret below, cut around the column if it is long."""
    begin = max(0, column - _EXCERPT)
    before = escape(line[begin : column - 1].replace("\t", " "))
    after = escape(line[column - 1 : begin + _EXCERPT].replace("\t", " "))
    return (f"    {before}{after}", f"    {' ' * len(before)}^")
