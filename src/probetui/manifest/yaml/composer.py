"""Compose YAML events into a tree of nodes, one document at a time.

The tree is built without recursion, so that no text can exhaust the stack. Aliases
share their node, and count as copies of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import yaml
from msgspec import Struct, field

from probetui.manifest.problem import Position, Problem, quote_short
from probetui.manifest.yaml import scalars
from probetui.manifest.yaml.nodes import (
    DuplicateKey,
    ListNode,
    MapEntry,
    MapNode,
    ScalarNode,
    YamlNode,
    join_path,
)

MAX_DEPTH = 100
TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"
MAX_NODES = 200_000
"""The limit of keys and values in a file, copies by aliases included."""

MAX_ALIAS_NODES = 100_000
"""The limit of nodes that aliases may add to a document, counted as copies."""

_MERGE = "<<"


class ParseError(Exception):
    """A YAML text cannot be parsed; the error has the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def parse_error(position: Position, message: str) -> ParseError:
    """Return the error for a problem at a position."""
    return ParseError(Problem(position, "", message, rule="yaml"))


class Mark(Protocol):
    """A position in a text as PyYAML gives it, counted from 0."""

    line: int
    column: int


def mark_position(file: str, mark: Mark | None) -> Position:
    """Return the position of a mark; an event may have none."""
    return Position(file, mark.line + 1, mark.column + 1) if mark else Position(file)


class _Frame(Struct):
    """A mapping or list in progress."""

    position: Position
    anchor: str | None
    entries: list[tuple[str, Position, YamlNode]] | None
    items: list[YamlNode] = field(default_factory=list)
    key: tuple[str, Position] | None = None
    written: dict[str, Position] = field(default_factory=dict)
    weight: int = 1
    height: int = 0

    @property
    def expects_key(self) -> bool:
        """Whether the next node is a key."""
        return self.entries is not None and self.key is None

    @property
    def step(self) -> str | int:
        """The key or index of the next value."""
        return self.key[0] if self.key else len(self.items)


class _Subtree(Struct, frozen=True):
    """A finished node with its number of nodes, copies included, and its depth."""

    node: YamlNode
    weight: int = 1
    height: int = 0


class Composer:
    """Composes one document from its events.

    Args:
        file: its name, for messages.
        nodes: the number of nodes in earlier documents of the file.
    """

    def __init__(self, file: str, nodes: int = 0) -> None:
        self.file = file
        self.nodes = nodes
        self.stack: list[_Frame] = []
        self.anchors: dict[str, _Subtree | None] = {}
        self.duplicates: list[DuplicateKey] = []
        self.alias_nodes = 0
        self.root: YamlNode | None = None

    def feed(self, event: yaml.Event) -> None:
        """Process the next event of the document."""
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._close()
            case _:
                pass

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        position = mark_position(self.file, event.start_mark)
        self._count(position, 1)
        is_plain = event.implicit[0]
        tag = None if event.tag == "!" else event.tag
        try:
            value = scalars.resolve_scalar(event.value, tag, is_plain=is_plain)
        except ValueError as error:
            message = f"{quote_short(event.value)} {error}"
            raise parse_error(position, message) from None
        self._attach(_Subtree(ScalarNode(value, event.value, position)), event.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        position = mark_position(self.file, event.start_mark)
        anchor = event.anchor or ""
        if anchor not in self.anchors:
            raise parse_error(position, f"there is no anchor {quote_short(anchor)}")
        part = self.anchors[anchor]
        if part is None:
            raise parse_error(position, f"{quote_short(anchor)} contains itself")
        self.alias_nodes += part.weight
        if self.alias_nodes > MAX_ALIAS_NODES:
            message = f"aliases expand to more than {MAX_ALIAS_NODES} values"
            raise parse_error(position, message)
        self._count(position, part.weight)
        self._check_depth(position, part.height)
        self._attach(part, None, position)

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        position = mark_position(self.file, event.start_mark)
        self._count(position, 1)
        self._check_depth(position, 0)
        if self.stack and self.stack[-1].expects_key:
            raise parse_error(position, "a key must be a single value")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(_Frame(position, event.anchor, [] if is_mapping else None))

    def _close(self) -> None:
        frame = self.stack.pop()
        node: YamlNode
        if frame.entries is None:
            node = ListNode(tuple(frame.items), frame.position)
        else:
            node = self._mapping(frame.entries, frame.position)
        self._attach(_Subtree(node, frame.weight, frame.height + 1), frame.anchor)

    def _count(self, position: Position, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            message = f"the file has more than {MAX_NODES} keys and values"
            raise parse_error(position, message)

    def _check_depth(self, position: Position, height: int) -> None:
        if len(self.stack) + height >= MAX_DEPTH:
            raise parse_error(position, TOO_DEEP)

    def _attach(
        self, part: _Subtree, anchor: str | None, position: Position | None = None
    ) -> None:
        """Attach a finished node to the open one; an alias has its own position."""
        if anchor is not None:
            self.anchors[anchor] = part
        if not self.stack:
            self.root = part.node
            return
        frame = self.stack[-1]
        frame.weight += part.weight
        frame.height = max(frame.height, part.height)
        if frame.entries is None:
            frame.items.append(part.node)
        elif frame.key is None:
            frame.key = (self._key(part.node), part.node.position)
        else:
            self._note_duplicate(frame, position or part.node.position)
            frame.entries.append((*frame.key, part.node))
            frame.key = None

    def _note_duplicate(self, frame: _Frame, position: Position) -> None:
        """Record a duplicate of the open key; keys merged by `<<` are not duplicates.

        kubectl merges before it sends JSON, in which each key stands once.
        """
        if frame.key is None:
            return
        key, at = frame.key
        first = frame.written.get(key)
        if first is not None:
            self.duplicates.append(DuplicateKey(self._path(), key, at, first, position))
        frame.written[key] = at

    def _key(self, node: YamlNode) -> str:
        if not isinstance(node, ScalarNode):
            raise parse_error(node.position, "a key must be a single value")
        try:
            return scalars.format_key(node.value)
        except ValueError as error:
            raise parse_error(node.position, str(error)) from None

    def _mapping(
        self, pairs: Iterable[tuple[str, Position, YamlNode]], position: Position
    ) -> MapNode:
        """Build a mapping; of duplicate keys the last one is used.

        Quirk, kept: keys merged by `<<` replace earlier ones, because Go sets keys in
        their order.
        """
        entries: dict[str, MapEntry] = {}
        for key, at, value in pairs:
            if key == _MERGE:
                merged = self._merged_entries(value)
                entries |= {entry.key: entry for entry in merged}
            else:
                entries[key] = MapEntry(key, at, value)
        return MapNode(tuple(entries.values()), position)

    def _merged_entries(self, node: YamlNode) -> Iterator[MapEntry]:
        sources = node.items[::-1] if isinstance(node, ListNode) else (node,)
        for source in sources:
            if not isinstance(source, MapNode):
                raise parse_error(node.position, "<< takes a mapping or a list of them")
            yield from source.entries

    def _path(self) -> str:
        """Return the path of the innermost mapping that is open."""
        path = ""
        for frame in self.stack[:-1]:
            path = join_path(path, frame.step)
        return path
