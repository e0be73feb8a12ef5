"""YAML events to a tree of nodes, one document at a time.

The tree is built in a loop, not by recursion, so that no text can exhaust the stack;
aliases share the node that they name, and what they stand for is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import yaml

from probetui.manifest import scalars
from probetui.manifest.nodes import (
    DuplicateKey,
    Entry,
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    join,
)
from probetui.manifest.problem import Position, Problem, clipped

MAX_DEPTH = 100
MAX_NODES = 200_000
"""How many keys and values a file may have, with what aliases stand for."""

MAX_ALIAS_NODES = 100_000
"""How many nodes aliases may add to one document, counted as if they were copied."""

_MERGE = "<<"


class RefusedError(Exception):
    """Why a text is read no further."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def refused(position: Position, message: str) -> RefusedError:
    """Return the error for a text that is read no further than there."""
    return RefusedError(Problem(position, "", message, rule="yaml"))


class Mark(Protocol):
    """A place in a text as PyYAML gives it, counted from 0."""

    line: int
    column: int


def position_of(file: str, mark: Mark | None) -> Position:
    """Return a mark as a position; an event without one came from no text."""
    return Position(file, mark.line + 1, mark.column + 1) if mark else Position(file)


@dataclass(slots=True)
class _Frame:
    """A mapping or a list that is being read."""

    position: Position
    anchor: str | None
    entries: list[tuple[str, Position, Node]] | None
    items: list[Node] = field(default_factory=list)
    key: tuple[str, Position] | None = None
    weight: int = 1
    height: int = 0

    @property
    def expects_key(self) -> bool:
        """Whether the next node is a key."""
        return self.entries is not None and self.key is None

    @property
    def step(self) -> str | int:
        """Where in this frame the next value goes."""
        return self.key[0] if self.key else len(self.items)


@dataclass(frozen=True, slots=True)
class _Part:
    """A finished node: how many nodes it would be without sharing, how deep it is."""

    node: Node
    weight: int = 1
    height: int = 0


class Composer:
    """Makes one document of events; knows where it is by a stack of its own.

    Args:
        file: its name, for messages.
        nodes: how many the documents before in the file had.
    """

    def __init__(self, file: str, nodes: int = 0) -> None:
        self.file = file
        self.nodes = nodes
        self.stack: list[_Frame] = []
        self.anchors: dict[str, _Part | None] = {}
        self.duplicates: list[DuplicateKey] = []
        self.alias_nodes = 0
        self.root: Node | None = None

    def feed(self, event: yaml.Event) -> None:
        """Take the next event of the document."""
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
        position = position_of(self.file, event.start_mark)
        self._count(position, 1)
        is_plain = event.implicit[0]
        tag = None if event.tag == "!" else event.tag
        try:
            value = scalars.resolve(event.value, tag, is_plain=is_plain)
        except ValueError as error:
            message = f"{clipped(event.value)} {error}"
            raise refused(position, message) from None
        self._attach(_Part(ScalarNode(value, event.value, position)), event.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        position = position_of(self.file, event.start_mark)
        anchor = event.anchor or ""
        if anchor not in self.anchors:
            raise refused(position, f"there is no anchor {clipped(anchor)}")
        part = self.anchors[anchor]
        if part is None:
            raise refused(position, f"{clipped(anchor)} contains itself")
        self.alias_nodes += part.weight
        if self.alias_nodes > MAX_ALIAS_NODES:
            message = f"aliases stand for more than {MAX_ALIAS_NODES} values"
            raise refused(position, message)
        self._count(position, part.weight)
        self._check_depth(position, part.height)
        self._attach(part, None)

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        position = position_of(self.file, event.start_mark)
        self._count(position, 1)
        self._check_depth(position, 0)
        if self.stack and self.stack[-1].expects_key:
            raise refused(position, "a key must be a single value")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(_Frame(position, event.anchor, [] if is_mapping else None))

    def _close(self) -> None:
        frame = self.stack.pop()
        node: Node
        if frame.entries is None:
            node = ListNode(tuple(frame.items), frame.position)
        else:
            node = self._mapping(frame.entries, frame.position)
        self._attach(_Part(node, frame.weight, frame.height + 1), frame.anchor)

    def _count(self, position: Position, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            message = f"the file has more than {MAX_NODES} keys and values"
            raise refused(position, message)

    def _check_depth(self, position: Position, height: int) -> None:
        if len(self.stack) + height >= MAX_DEPTH:
            message = f"is nested more than {MAX_DEPTH} levels deep"
            raise refused(position, message)

    def _attach(self, part: _Part, anchor: str | None) -> None:
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
            frame.entries.append((*frame.key, part.node))
            frame.key = None

    def _key(self, node: Node) -> str:
        if not isinstance(node, ScalarNode):
            raise refused(node.position, "a key must be a single value")
        try:
            return scalars.key_text(node.value)
        except ValueError as error:
            raise refused(node.position, str(error)) from None

    def _mapping(
        self, pairs: Iterable[tuple[str, Position, Node]], position: Position
    ) -> MapNode:
        """Build a mapping; of keys that are there twice the last one counts.

        Quirk, kept: what `<<` brings replaces keys written before it, because Go
        sets keys in the order they come. Only keys written out count as duplicates.
        """
        entries: dict[str, Entry] = {}
        written: dict[str, Position] = {}
        for key, at, value in pairs:
            if key == _MERGE:
                merged = self._merged(value)
                entries |= {each.key: each for each in merged}
                continue
            if key in written:
                path = self._path()
                self.duplicates.append(
                    DuplicateKey(path, key, at, written[key], value.position)
                )
            written[key] = at
            entries[key] = Entry(key, at, value)
        return MapNode(tuple(entries.values()), position)

    def _merged(self, node: Node) -> Iterator[Entry]:
        sources = node.items[::-1] if isinstance(node, ListNode) else (node,)
        for each in sources:
            if not isinstance(each, MapNode):
                raise refused(node.position, "<< takes a mapping or a list of them")
            yield from each.entries

    def _path(self) -> str:
        path = ""
        for frame in self.stack:
            path = join(path, frame.step)
        return path
